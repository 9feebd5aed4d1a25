// What the parts of a client work with. There are two: over the client's own connections, and inside a transaction of the caller. Each part
// is written once, and asks `isAlone` where the two must differ.

import type { Clock } from "../../base/clock.js";
import type { Queryable } from "../../base/queryable.js";
import type { Session } from "../../db/session.js";
import type { Enqueued, JobList, NewJob } from "../job/enqueue-options.js";
import type { JobMakers } from "./make-job.js";

export interface ClientContext extends JobMakers, Session {
  readonly clock: Clock;
  /** True: each statement is a transaction of ours. False: all belong to the caller's transaction, and nothing goes over another connection. */
  readonly isAlone: boolean;
  /** Runs a call: counted, refused once the client is closed, and what the database threw is explained. */
  readonly call: <T>(work: () => Promise<T>) => Promise<T>;
  /** `call` in two parts, for calls in which code of the caller runs: what that throws is not explained. */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>;
  readonly explained: <T>(work: () => Promise<T>) => Promise<T>;
  /** `during` without a function, for the call that is made most: whoever begins ends. */
  begin(): void;
  end(): void;
  /** Throws where the schema does not fit this library. Undefined: nothing is left to wait for. */
  fits(): Promise<void> | undefined;
  /** Several statements, all or none: `tx` is the caller's transaction, or one for this. Texts for it are qualified, and answer in texts. */
  atomically<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** Stores one job; alone, together with whatever else this process enqueues at this time. */
  storeOne(job: NewJob): Promise<Enqueued>;
  /** Stores many jobs: all of them or none. */
  storeMany(jobs: JobList): Promise<Enqueued[]>;
}
