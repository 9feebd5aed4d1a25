// What a caller says of a new job, and the value that is handed to the store: the job as it is to be written.
import type { Duration } from "../../base/duration.js";
import type { Moment } from "../../base/time.js";
import type { ContentPlace } from "./content-reference.js";
import type { StoredUse } from "./named-limit.js";
import type { OnConflict } from "./unique.js";

export interface EnqueueOptions {
  /** Whose lane the job waits in; default "default". */
  readonly tenant?: string;
  /** Default: the definition's. */
  readonly priority?: number;
  /** Not before this moment. */
  readonly runAt?: Moment;
  /** Not before this long from now. Give `runAt` or `delay`, not both. */
  readonly delay?: Duration;
  /** Enqueuing again with the same key (per tenant and kind) returns the first job. */
  readonly idempotencyKey?: string;
  /** Default: what the definition's `key` makes of the input. */
  readonly key?: string;
  /** The batch of which the job becomes a member: its id. */
  readonly batch?: string;
  /** How often it may be tried; default: the definition's. */
  readonly attempts?: number;
  /** The time limit of a run; 0: none. Default: the definition's. */
  readonly timeout?: Duration;
  /** Its time to live in the queue, counted from the time at which it is due; default: the definition's. */
  readonly expire?: Duration;
  /** Words to find it by: at most 16, each of 1 to 64 characters. */
  readonly tags?: readonly string[];
  /** The W3C `traceparent` of the span that enqueues it: its runs continue that trace. `fairmill/tracing` sets it. */
  readonly trace?: string;
}

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
  readonly unique?: UniqueClaim | undefined;
  /** Credits to reserve: whose, and how many. */
  readonly account?: string | undefined;
  readonly amount?: number | undefined;
  /** The batch of which it is a member. */
  readonly batch?: string | undefined;
  /** Of this job alone; undefined: as the definition says. */
  readonly timeoutMs?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  /** The traceparent of the span that enqueues it. */
  readonly trace?: string | undefined;
  /** What it takes of named limits. */
  readonly uses?: readonly StoredUse[] | undefined;
  /** JSON, checked. */
  readonly payload: string;
  /** Where the payload lies, if that is a reference. */
  readonly content?: ContentPlace | undefined;
}

/** Jobs that differ in their payload and tenant at most, as those of most lists do. */
export interface AlikeJobs extends Pick<NewJob, "kind" | "queue" | "priority" | "attemptsMax" | "expireMs"> {
  readonly count: number;
  /** One for all, or one each. */
  readonly tenants: string | readonly string[];
  /** JSON, checked: a list of one each. */
  readonly payloads: string;
}

/** Many jobs, as they are to be written. */
export type JobList = readonly NewJob[] | AlikeJobs;

/** The unique key of a job, and what its definition says about it. */
export interface UniqueClaim {
  readonly key: string;
  readonly until: "started" | "settled" | undefined;
  readonly forMs: number | undefined;
  readonly onConflict: OnConflict;
  readonly debounceMs: number | undefined;
  readonly debounceMaxMs: number | undefined;
}

/** What enqueue answers. `created` is false when the idempotency key was known or the unique key taken: `id` is then the first job's. */
export interface Enqueued<Result = unknown> {
  readonly id: string;
  readonly created: boolean;
  /** The first job was waiting and has this one's input now. */
  readonly replaced?: true;
  /** Only a type: what `client.result` resolves with. */
  readonly "~result"?: Result;
}
