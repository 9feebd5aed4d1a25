// Jobs of which a settle says that they are ready now, in the database's form and in ours.

/** An id that is ready because of a settled job: it gave up its slot, or asked for this one. */
export interface Returned {
  readonly queue: string;
  readonly priority: number;
  readonly tenant: string;
  readonly id: string;
}

/** As settle_v1 answers it. */
export type Admitted = readonly [queue: string, priority: number, tenant: string, id: number];

export const toReturned = (admitted: readonly Admitted[]): Returned[] =>
  admitted.map(([queue, priority, tenant, id]) => ({ queue, priority, tenant, id: String(id) }));
