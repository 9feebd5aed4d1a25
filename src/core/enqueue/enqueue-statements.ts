// Writing new jobs: the calls of enqueue_payloads_v1 and enqueue_many_v1, with what all jobs have in common sent once.
import { DatabaseError, type FairmillError } from "../../base/errors.js";
import { type Database, prepared, type Queryable, type Statement } from "../../db/database.js";
import { type Refusal, toError } from "../../db/refusals.js";
import { qualify } from "../../db/schema-name.js";
import type { EffectKind } from "../job/effects.js";
import type { AlikeJobs, Enqueued, JobList, NewJob, UniqueClaim } from "../job/enqueue-options.js";

/**
 * The ids as one text: a thousand rows of one number each would cost more than the numbers. A job that was refused has none. All is text:
 * what drivers and ORMs make of json and bigint differs, and some rename the members of json.
 */
const ENQUEUE = prepared(`select string_agg(coalesce(id::text, ''), ',') as ids,
  string_agg(case when created then '1' when conflict = 'replaced' then 'r' else '0' end, '') as marks,
  (json_agg(refused) filter (where refused is not null))::text as refusals
  from fairmill.enqueue_many_v1($1, $2, wake => $3, partial => $5,
    alone => $4 and ($6::text is null or set_config('lock_timeout', $6, true) is not null))`);
/** For jobs that differ in their payload and tenant at most, which are most. All that has an id was created. */
const ENQUEUE_ALIKE = prepared(`select array_to_string(ids, ',', '') as ids, null as marks, refusals::text as refusals
  from fairmill.enqueue_payloads_v1($1, $2, wake => $3, partial => $5, tenants => $7,
    alone => $4 and ($6::text is null or set_config('lock_timeout', $6, true) is not null))`);
/** In a transaction of ours, before the function begins: a lock that another session has for longer ends the statement, and nothing is stored. */
const LOCK_TIMEOUT = "100ms";
const WAKE = prepared("select fairmill.wake_v1($1, $2)");
const WAKE_LANE = prepared("select fairmill.wake_lane_v1($1, $2, $3)");
/** Workers look for what falls due this often by themselves. */
const DUE_SOON_MS = 10_000;

/** Jobs of one statement, and characters of their payloads. More are sent as several: a statement must not grow without bound. */
export const STATEMENT_ROWS_MAX = 5_000;
export const STATEMENT_CHARS_MAX = 16 * 1024 * 1024;

const SHARED = [
  ["kind", "kind"],
  ["queue", "queue"],
  ["tenant", "tenant"],
  ["priority", "priority"],
  ["attemptsMax", "max_attempts"],
  ["expireMs", "expire_ms"],
  ["batch", "batch"],
] as const satisfies readonly (readonly [keyof NewJob, string])[];

type SharedFields = { readonly [Field in (typeof SHARED)[number][0]]?: NewJob[Field] | undefined };

const OWN = [
  ["key", "key"],
  ["runAt", "run_at"],
  ["delayMs", "delay_ms"],
  ["idempotencyKey", "idempotency_key"],
  ["account", "account"],
  ["amount", "amount"],
  ["timeoutMs", "timeout_ms"],
  ["tags", "tags"],
  ["trace", "trace"],
  ["uses", "uses"],
  ["content", "content"],
] as const satisfies readonly (readonly [keyof NewJob, string])[];

const UNIQUE = [
  ["key", "unique_key"],
  ["until", "unique_until"],
  ["forMs", "unique_for_ms"],
  ["onConflict", "on_conflict"],
  ["debounceMs", "debounce_ms"],
  ["debounceMaxMs", "debounce_max_ms"],
] as const satisfies readonly (readonly [keyof UniqueClaim, string])[];

type Column = (typeof SHARED)[number] | (typeof OWN)[number];
const ALL: readonly Column[] = [...SHARED, ...OWN];

/** Whose transaction it is: our own that ends with the statement, for one caller or for several, or the caller's. */
const OWN_TRANSACTION = { wake: false, alone: true, partial: false, failsOnLock: false };
const OWN_OF_SEVERAL = { wake: false, alone: true, partial: true, failsOnLock: false };
const CALLERS_TRANSACTION = { wake: true, alone: false, partial: false, failsOnLock: false };

function enqueueStatement(jobs: JobList, how: typeof OWN_TRANSACTION): Statement {
  if ("payloads" in jobs) return alikeStatement(jobs, how);
  const first = jobs[0]!;
  if (jobs.length === 1 && isPlain(first))
    return [ENQUEUE_ALIKE, [`[${first.payload}]`, sharedText(first, SHARED), ...valuesOf(how), null]];
  if (jobs.every((job) => isPlain(job) && isAlike(job, first))) return alikeStatement(alikeOf(jobs), how);
  const varying = SHARED.filter(([field]) => jobs.some((job) => job[field] !== first[field]));
  const own = [...varying, ...OWN.filter(([field]) => jobs.some((job) => job[field] !== undefined))];
  const shared = SHARED.filter((pair) => !varying.includes(pair));
  let text = "[";
  for (let i = 0; i < jobs.length; i++) text += (i === 0 ? "" : ",") + textOf(jobs[i]!, own);
  return [ENQUEUE, [`${text}]`, sharedText(first, shared), ...valuesOf(how)]];
}

function alikeStatement({ payloads, tenants, ...jobs }: AlikeJobs, how: typeof OWN_TRANSACTION): Statement {
  const [tenant, each] = typeof tenants === "string" ? [tenants, null] : [undefined, tenants];
  const shared = sharedText({ ...jobs, tenant }, SHARED);
  return [ENQUEUE_ALIKE, [payloads, shared, ...valuesOf(how), each]];
}

const valuesOf = ({ wake, alone, partial, failsOnLock }: typeof OWN_TRANSACTION) => [
  ...[wake, alone, partial],
  failsOnLock ? LOCK_TIMEOUT : null,
];

function alikeOf(jobs: readonly NewJob[]): AlikeJobs {
  const { tenant, ...first } = jobs[0]!;
  const isOfOne = jobs.every((job) => job.tenant === tenant);
  return {
    ...first,
    count: jobs.length,
    tenants: isOfOne ? tenant : jobs.map((job) => job.tenant),
    payloads: `[${jobs.map((job) => job.payload).join(",")}]`,
  };
}

/** Has nothing of its own but a payload, and nothing that the short way passes to the long one. Written out: this is asked of every job, and a loop
 * over names costs more than all the rest. */
export const isPlain = (job: NewJob) =>
  job.key === undefined &&
  job.runAt === undefined &&
  job.delayMs === undefined &&
  job.idempotencyKey === undefined &&
  job.account === undefined &&
  job.batch === undefined &&
  job.timeoutMs === undefined &&
  job.tags === undefined &&
  job.trace === undefined &&
  job.uses === undefined &&
  job.content === undefined &&
  job.unique === undefined;

/** Two jobs whose SHARED fields are the same, but for the tenant. */
const isAlike = (job: NewJob, other: NewJob) =>
  job.kind === other.kind &&
  job.queue === other.queue &&
  job.priority === other.priority &&
  job.attemptsMax === other.attemptsMax &&
  job.expireMs === other.expireMs;

/** Written out, as textOf: an object to be made a text of costs more than the text. */
function sharedText(job: SharedFields, columns: readonly (typeof SHARED)[number][]): string {
  let text = "";
  for (const [field, column] of columns) {
    const value = job[field];
    if (value !== undefined) text += `${text === "" ? "" : ","}"${column}":${JSON.stringify(value)}`;
  }
  return `{${text}}`;
}

/** The job as an object of enqueue_many_v1, with these of its columns. */
function textOf(job: NewJob, columns: readonly Column[]): string {
  let text = `{"payload":${job.payload}`;
  for (const [field, column] of columns) {
    const value = job[field];
    if (value !== undefined) text += `,"${column}":${JSON.stringify(value)}`;
  }
  if (job.unique !== undefined)
    for (const [field, column] of UNIQUE) {
      const value = job.unique[field];
      if (value !== undefined) text += `,"${column}":${JSON.stringify(value)}`;
    }
  return `${text}}`;
}

/** One job as enqueue_many_v1 takes it, complete. */
export const jobText = (job: NewJob): string => textOf(job, ALL);

/** Jobs that share nothing, as enqueue_many_v1 takes them. */
export const jobsText = (jobs: readonly NewJob[]): string => `[${jobs.map(jobText).join(",")}]`;

/** Jobs as an effect of a handler. */
export const JOBS: EffectKind<NewJob> = { member: "enqueue", text: jobsText };

/** What became of a job of several callers: each has its own answer. */
export type Stored = Enqueued | { readonly error: FairmillError };

/** Stores jobs in a transaction of their own, durably, and wakes sleeping workers beside it, in the same round trip. */
export async function storeJobs(db: Database, jobs: JobList, nowMs: number): Promise<Enqueued[]> {
  if (isTooMuch(jobs)) return db.transaction((tx) => storeJobsIn(tx, db.schema, jobs));
  // One list after the other stays on its connection, which knows where its last rows went: that is worth more than the wait.
  const [stored] = await db.pipeline(statements(jobs, nowMs, OWN_TRANSACTION));
  if (stored!.status === "rejected") throw stored!.reason;
  return allOrNone(stored!.value, countOf(jobs));
}

/**
 * The same for jobs of several callers: a limit that refuses one of them does not concern the others. The wake-up is not awaited: beside a
 * few jobs it takes a good part of the time. `failsOnLock`: fails, and stores nothing, where it would have to wait for another transaction.
 */
export async function storeJobsOfSeveral(
  db: Database,
  jobs: readonly NewJob[],
  nowMs: number,
  failsOnLock: boolean,
): Promise<Stored[]> {
  if (isTooMuch(jobs)) return storeJobs(db, jobs, nowMs);
  return toStored(await db.pipelineFirst(statements(jobs, nowMs, { ...OWN_OF_SEVERAL, failsOnLock })), jobs.length);
}

/** The enqueue, and behind it the wake-up. One that failed costs latency only: workers poll. */
function statements(jobs: JobList, nowMs: number, how: typeof OWN_TRANSACTION): Statement[] {
  const wake = wakeStatement(jobs, nowMs);
  return wake ? [enqueueStatement(jobs, how), wake] : [enqueueStatement(jobs, how)];
}

interface Answer {
  readonly ids: string;
  /** A letter per job; null: all that have an id were created. */
  readonly marks: string | null;
  /** JSON of the refusals, in the order of their jobs. */
  readonly refusals: string | null;
}

const refusalsOf = (answer: Answer) => JSON.parse(answer.refusals ?? "[]") as readonly Refusal[];

function allOrNone(rows: readonly unknown[], count: number): Enqueued[] {
  const [refusal] = refusalsOf(rows[0] as Answer);
  if (refusal) throw toError(refusal);
  return toStored(rows, count) as Enqueued[];
}

function toStored(rows: readonly unknown[], count: number): Stored[] {
  const { ids, marks } = rows[0] as Answer;
  const refusals = refusalsOf(rows[0] as Answer);
  let refused = 0;
  const stored = ids.split(",").map((id, i): Stored => {
    if (id === "") return { error: toError(refusals[refused++]!) };
    if (marks === null) return { id, created: true };
    return marks[i] === "r" ? { id, created: false, replaced: true } : { id, created: marks[i] === "1" };
  });
  if (stored.length !== count)
    throw new DatabaseError(
      "FAIRMILL_DATABASE",
      `enqueue_many_v1 answered for ${stored.length} jobs, not for ${count}. Run "fairmill migrate --check".`,
    );
  return stored;
}

const isOfLane = (job: NewJob, other: NewJob) =>
  job.tenant === other.tenant && job.queue === other.queue && job.priority === other.priority;

export const wakeLaneStatement = ({ queue, priority, tenant }: NewJob): Statement => [
  WAKE_LANE,
  [queue, priority, tenant],
];

/** What to wake: the queues of jobs that are ready now, and the upkeep for those that are due soon. */
function wakeStatement(jobs: JobList, nowMs: number): Statement | undefined {
  if ("payloads" in jobs) return [WAKE, [[jobs.queue], null]];
  const [first] = jobs as readonly [NewJob, ...NewJob[]];
  if (jobs.every((job) => isPlain(job) && isOfLane(job, first))) return wakeLaneStatement(first);
  const queues = new Set<string>();
  let dueInMs = Number.POSITIVE_INFINITY;
  for (const job of jobs) {
    const waitMs =
      job.runAt !== undefined ? Date.parse(job.runAt) - nowMs : (job.delayMs ?? job.unique?.debounceMs ?? 0);
    if (waitMs <= 0) queues.add(job.queue);
    // A job that was replaced may have become due by it, with an old id that upkeep must make ready.
    if (waitMs > 0 || job.unique?.onConflict === "replace") dueInMs = Math.min(dueInMs, Math.max(0, waitMs));
  }
  if (queues.size === 0 && dueInMs > DUE_SOON_MS) return undefined;
  return [WAKE, [[...queues], Number.isFinite(dueInMs) ? dueInMs : null]];
}

/** Stores jobs inside the caller's transaction: they exist when it commits. */
export async function storeJobsIn(tx: Queryable, schema: string, jobs: JobList): Promise<Enqueued[]> {
  const stored: Enqueued[] = [];
  for (const portion of portionsOf(jobs)) {
    const [text, values] = enqueueStatement(portion, CALLERS_TRANSACTION);
    const { rows } = await tx.query(qualify(text, schema), values as unknown[]);
    for (const one of allOrNone(rows, countOf(portion))) stored.push(one);
  }
  return stored;
}

export const countOf = (jobs: JobList) => ("payloads" in jobs ? jobs.count : jobs.length);
const charsOf = (jobs: readonly NewJob[]) => jobs.reduce((sum, job) => sum + job.payload.length, 0);
/** Jobs that are alike were put together within these limits. */
const isTooMuch = (jobs: JobList) =>
  !("payloads" in jobs) && (jobs.length > STATEMENT_ROWS_MAX || charsOf(jobs) > STATEMENT_CHARS_MAX);

/** The jobs in portions that one statement carries. */
function portionsOf(jobs: JobList): JobList[] {
  if (countOf(jobs) === 0) return [];
  if ("payloads" in jobs || jobs.length === 1 || !isTooMuch(jobs)) return [jobs];
  const middle = jobs.length >> 1;
  return [...portionsOf(jobs.slice(0, middle)), ...portionsOf(jobs.slice(middle))];
}
