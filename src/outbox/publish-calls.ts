// The call of a client that publishes a message.

import type { ClientContext } from "../core/enqueue/client-context.js";
import type { ChannelTarget } from "./channel-target.js";
import { publishMessages } from "./outbox-statements.js";
import { newMessage, publishRepeatedly } from "./publish.js";
import type { Published, PublishOptions } from "./publish-options.js";

export interface PublishCalls {
  /**
   * Stores a message for a receiver outside of the database, durably, with the job that delivers it. The same key for the same tenant and
   * channel is one message, however often it is published.
   */
  publish<In>(channel: string | ChannelTarget<In>, message: In, options: PublishOptions): Promise<Published>;
}

export const publishCalls = (context: ClientContext): PublishCalls => ({
  publish: (channel, message, options) =>
    context.call(async () => {
      const checked = await newMessage(channel, message, options, context.codec);
      if (typeof channel !== "string") await context.rules.tell(channel.definition);
      if (context.isAlone) return publishRepeatedly(context, context.clock, checked);
      return (await publishMessages(context, [checked]))[0]!;
    }),
});
