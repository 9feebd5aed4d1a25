// Messages in the context of handlers: an effect, written with the settle of the job.
import type { RuleTeller } from "../core/enqueue/make-job.js";
import type { Claim } from "../core/job/claim.js";
import type { Codec } from "../core/job/codec.js";
import type { EffectKind } from "../core/job/effects.js";
import type { ContextMembers, RunControl } from "../core/run/context.js";
import type { ChannelTarget } from "./channel-target.js";
import { messagesText } from "./outbox-statements.js";
import { newMessage } from "./publish.js";
import type { NewMessage, PublishOptions } from "./publish-options.js";

export interface PublishContext {
  /**
   * Asks for a message to a receiver outside: it is stored with the settle of this job, if the handler returns, and sent then. The
   * `idempotencyKey`, unless given, belongs to the job and the number of the call. `tenant`: this job's own, unless given; `reference`: its id.
   */
  publish<In>(channel: string | ChannelTarget<In>, message: In, options?: Partial<PublishOptions>): Promise<void>;
}

declare module "../core/run/context.js" {
  interface JobContext<Input> extends PublishContext {}
}

/** Messages as an effect of a handler. */
const MESSAGES: EffectKind<NewMessage> = { member: "publish", text: messagesText };

export interface PublishMembersOptions {
  readonly codec: Codec | undefined;
  /** Reports to the database what the definition of a channel's jobs says, before the first of them. */
  readonly tell: RuleTeller["tell"];
}

export function publishMembers(
  control: RunControl,
  { codec, tell }: PublishMembersOptions,
): ContextMembers<keyof PublishContext> {
  /** The key belongs to the job and the position of the call, not to the attempt: whichever run is settled, the message is the same. */
  const make = async <In>(
    { id, tenant, trace }: Claim,
    position: number,
    channel: string | ChannelTarget<In>,
    message: In,
    options: Partial<PublishOptions>,
  ): Promise<NewMessage> => {
    // What it causes outside belongs to its trace, if it has one.
    const traced = trace === null ? {} : { trace };
    const defaults = { tenant, idempotencyKey: `job-${id}-${position + 1}`, reference: id, ...traced };
    const made = await newMessage(channel, message, { ...defaults, ...options }, codec);
    if (typeof channel !== "string") await tell(channel.definition);
    return made;
  };
  return {
    publish:
      (run) =>
      (channel, message, options = {}) =>
        control
          .effectsOf(run)
          .add("ctx.publish", MESSAGES, (position) => make(run.claim, position, channel, message, options)),
  };
}
