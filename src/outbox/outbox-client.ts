// `client.outbox`: messages that were published, and what became of them.

import { checkJobId } from "../base/job-id.js";
import { nameOf, oneOf, refuseUnknown } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { checkReason } from "../core/job/job-credits.js";
import { MessageNotFoundError } from "./delivery-errors.js";
import { checkMessageFilter } from "./message-filter.js";
import { openMessage } from "./open-message.js";
import {
  type Message,
  type MessageDetail,
  type MessageFilter,
  type ResolveAnswer,
  readMessage,
  readMessages,
  resolveMessage,
} from "./outbox-statements.js";

/** For the record. */
export interface ResolveOptions {
  /** Who says so; default: the user of the database. */
  readonly by?: string;
  readonly reason?: string;
}

export class Outbox {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** A page of messages, newest first. */
  async list(filter: MessageFilter = {}): Promise<Message[]> {
    const wanted = checkMessageFilter(filter);
    return this.#context.call(() => readMessages(this.#context, wanted));
  }

  /** A message with its attempts and what the receiver said; undefined when there is none. */
  get(id: string): Promise<MessageDetail | undefined> {
    return this.#context.call(async () => {
      const message = await readMessage(this.#context, checkJobId(id));
      return message && openMessage(this.#context.codec, message);
    });
  }

  /**
   * Says what became of a message whose fate is unknown, or that was given up: it arrived ("sent"), it did not ("failed"), or it did not
   * and is to be sent again ("resend").
   */
  async resolve(
    id: string,
    verdict: "sent" | "failed" | "resend",
    options: ResolveOptions = {},
  ): Promise<Exclude<ResolveAnswer, "not_found">> {
    refuseUnknown(options, ["by", "reason"], "outbox.resolve");
    oneOf(verdict, ["sent", "failed", "resend"], "verdict", "outbox.resolve");
    const by = options.by === undefined ? undefined : nameOf(options.by, "by");
    const reason = options.reason === undefined ? undefined : checkReason(options.reason);
    const answer = await this.#context.call(async () =>
      resolveMessage(this.#context, checkJobId(id), verdict, by, reason),
    );
    if (answer === "not_found") throw new MessageNotFoundError(id);
    return answer;
  }
}
