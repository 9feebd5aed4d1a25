// Deliveries as handlers: a channel's jobs are run by its deliverer.
import type { Handler } from "../core/run/handler.js";
import type { Channel } from "./channel.js";
import { Deliverer, type DelivererOptions } from "./deliverer.js";

// biome-ignore lint/suspicious/noExplicitAny: a worker holds channels of all messages; `defineChannel` checks that the parts fit.
export function deliveryHandler(channel: Channel<any, any>, options: DelivererOptions): Handler {
  const deliverer = new Deliverer(channel, options);
  const { definition } = channel;
  return { definition, run: () => {}, runner: (claim, ctx, isOver) => deliverer.deliver(claim, ctx, isOver) };
}
