// The value that publish hands to the store: a message as it is to be written, and what concerns the job that delivers it.

export interface NewMessage {
  readonly channel: string;
  readonly tenant: string;
  readonly idempotencyKey: string;
  readonly orderKey?: string | undefined;
  /** JSON, checked, and sealed where there is a codec. */
  readonly payload: string;
  readonly queue?: string | undefined;
  readonly priority?: number | undefined;
  readonly attemptsMax?: number | undefined;
  readonly expireMs?: number | undefined;
  readonly key?: string | undefined;
  readonly runAt?: string | undefined;
  readonly delayMs?: number | undefined;
}

/** What publish answers. `created` is false when the key was known: `id` is then the first message's. */
export interface Published {
  readonly id: string;
  readonly created: boolean;
}
