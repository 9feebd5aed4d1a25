// What a limit held back from a claim: the claim tells, so that nobody asks again before it is worth it.

export interface Held {
  readonly scope: "queue" | "kind" | "tenant";
  /** Of the queue, the kind or the tenant. */
  readonly name: string;
  readonly why: "paused" | "cap" | "rate";
  /** When it is worth asking again; null where nobody can know. */
  readonly openInMs: number | null;
}

/** Jobs that the rate of a key put back, each to a time of its own: they lose no attempt. */
export interface PutBack {
  readonly priority: number;
  readonly tenant: string;
  readonly count: number;
}

/** What limits kept a claim from taking from one queue. */
export interface Throttled {
  readonly queue: string;
  /** Limits of the queue, of kinds and of tenants that are closed: their jobs stay ready. */
  readonly held: readonly Held[];
  readonly putBack: readonly PutBack[];
}
