// What a caller says of a message, and the value that is handed to the store: the message as it is to be written, and what concerns the job
// that delivers it.
import type { Duration } from "../base/duration.js";
import type { Moment } from "../base/time.js";

export interface PublishOptions {
  /** What makes two calls the same message, per tenant and channel. Derive it from what caused the message. */
  readonly idempotencyKey: string;
  /** Whose lane its delivery waits in; default "default". */
  readonly tenant?: string;
  /** Messages of a tenant and channel with the same one go out one after the other. Default: in no order. */
  readonly orderKey?: string;
  /** What the job that the channel names in `onEnd` is told with the message's end; at most 200 bytes. */
  readonly reference?: string;
  /** Default: the channel's; by name alone "outbox". */
  readonly queue?: string;
  readonly priority?: number;
  /** Not before this time. */
  readonly runAt?: Moment;
  /** Not before this long from now. Give `runAt` or `delay`, not both. */
  readonly delay?: Duration;
  /** Whose limit it counts for; default: what the channel's `key` makes of the message. */
  readonly key?: string;
  /** The `traceparent` that its delivery goes on with; in a handler default: that of its job. */
  readonly trace?: string;
}

export interface NewMessage {
  readonly channel: string;
  readonly tenant: string;
  readonly idempotencyKey: string;
  readonly orderKey?: string | undefined;
  readonly reference?: string | undefined;
  /** JSON, checked, and sealed where there is a codec. */
  readonly payload: string;
  readonly queue?: string | undefined;
  readonly priority?: number | undefined;
  readonly attemptsMax?: number | undefined;
  readonly expireMs?: number | undefined;
  readonly key?: string | undefined;
  readonly runAt?: string | undefined;
  readonly delayMs?: number | undefined;
  readonly trace?: string | undefined;
}

/** What publish answers. `created` is false when the key was known: `id` is then the first message's. */
export interface Published {
  readonly id: string;
  readonly created: boolean;
}
