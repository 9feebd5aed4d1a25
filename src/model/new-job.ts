// The value that enqueue hands to the store: a job as it is to be written.

export interface NewJob {
  readonly kind: string;
  readonly queue: string;
  readonly tenant: string;
  readonly priority: number;
  readonly attemptsMax: number;
  readonly expireMs?: number | undefined;
  readonly key?: string | undefined;
  readonly runAt?: string | undefined;
  readonly delayMs?: number | undefined;
  readonly idempotencyKey?: string | undefined;
  /** JSON, checked. */
  readonly payload: string;
}

/** What enqueue answers. `created` is false when the idempotency key was known: `id` is then the first job's. */
export interface Enqueued {
  readonly id: string;
  readonly created: boolean;
}
