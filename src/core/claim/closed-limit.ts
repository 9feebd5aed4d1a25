// What a limit held back from a claim, so that the worker does not ask again too early.

/** What caps, rates and pauses may be set for. */
export const LIMIT_SCOPES = ["tenant", "queue", "kind"] as const;
export type LimitScope = (typeof LIMIT_SCOPES)[number];

export interface ClosedLimit {
  readonly scope: LimitScope;
  /** Of the queue, the kind or the tenant. */
  readonly name: string;
  /** `provider`: one that the kind needs takes no calls; `budget`: one of the tenant is spent, and keeps those of its kinds that call providers. */
  readonly why: "paused" | "cap" | "rate" | "provider" | "budget";
  /** When it is worth asking again; null: unknown. */
  readonly openInMs: number | null;
}

/** Jobs that were rate-limited by their key, each until a time of its own: they lose no attempt. */
export interface RateLimited {
  readonly priority: number;
  readonly tenant: string;
  readonly count: number;
}

/** What limits kept a claim from taking from one queue. */
export interface Throttled {
  readonly queue: string;
  /** Limits of the queue, of kinds and of tenants that are closed: their jobs stay ready. */
  readonly closed: readonly ClosedLimit[];
  /** Jobs over the rate of their key: they wait until a time. */
  readonly rateLimited: readonly RateLimited[];
}
