// What a limit held back from a claim: the claim tells, so that nobody asks again before it is worth it.

export interface Held {
  readonly scope: "queue" | "kind" | "tenant";
  /** Of the queue, the kind or the tenant. */
  readonly name: string;
  readonly why: "paused" | "cap" | "rate";
  /** When it is worth asking again; null where nobody can know. */
  readonly openInMs: number | null;
}
