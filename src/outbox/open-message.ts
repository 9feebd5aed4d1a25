// A message as its reader may see it: opened where that is possible, shown as it is stored where it is not.
import { type Codec, openJson, type SealContext } from "../core/job/codec.js";
import { DELIVERY_KIND } from "./delivery.js";
import type { MessageDetail } from "./outbox-statements.js";

/** A message is sealed as the payload of its delivery job would be, and the receiver's answer as its result. */
export function openMessage(codec: Codec | undefined, message: MessageDetail): MessageDetail {
  if (codec === undefined) return message;
  const owner = { kind: DELIVERY_KIND + message.channel, tenant: message.tenant };
  const opened = (stored: unknown, what: SealContext["what"]) => {
    if (stored === null) return null;
    try {
      return openJson(codec, stored, owner, what);
    } catch {
      return stored;
    }
  };
  return { ...message, payload: opened(message.payload, "payload"), answer: opened(message.answer, "result") };
}
