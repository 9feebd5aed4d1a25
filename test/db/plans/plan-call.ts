// A call whose plans are looked at, and what it may read.

export interface Call {
  readonly statement: string;
  readonly values?: (facts: Facts) => unknown[];
  /** What must be set for it; taken back afterwards. */
  readonly before?: string;
  /** Indexes that it may walk along, for a reason that its header tells. */
  readonly walks?: readonly string[];
  /** The ways into `job` that it takes: all of them, and no other. */
  readonly ways: readonly string[];
  /** The ways into `job_history`: the primary keys of its partitions (or a row by its place), besides these two partial indexes, or none. */
  readonly historyWays?: "primary keys" | "indexes on dead and cancelled";
  /** The ways into the tables of batches; not asked where they are not said. */
  readonly batchWays?: readonly string[];
}

export interface Facts {
  /** Jobs that worker w3 runs, with their leases. */
  readonly ids: readonly string[];
  readonly leases: readonly number[];
  /** Jobs of limited kinds that worker w5 runs: each holds a place that others are blocked by. */
  readonly placed: readonly string[];
  readonly ready: string;
  readonly blocked: string;
  readonly dead: string;
  readonly newest: string;
}
