// Reading jobs: one by its id, or a page of them, newest first. Pages are cut by id, never counted.
import type { ErrorRecord } from "../base/error-record.js";
import { isEnded, type JobState } from "../core/job/states.js";
import { idOf, idOrNull, type RowId, type RowTime, type Session, timeOf, timeOrNull } from "../db/session.js";
import type { Tick } from "../schedules/schedule.js";
import type { CheckedErrorFilter, ErrorFilter } from "./redrive-filter.js";

/** A job as it stands, live or ended. */
export interface Job {
  readonly id: string;
  readonly state: JobState;
  readonly kind: string;
  readonly queue: string;
  readonly tenant: string;
  readonly priority: number;
  readonly key: string | null;
  readonly attempt: number;
  readonly crashes: number;
  readonly maxAttempts: number;
  readonly leaseNo: number;
  /** The worker that runs it, or ran it last. */
  readonly worker: string | null;
  readonly createdAt: Date;
  readonly runAt: Date | null;
  readonly expireAt: Date | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly payload: unknown;
  readonly progress: unknown;
  readonly result: unknown;
  readonly error: ErrorRecord | null;
  /** Attempts that did not succeed, oldest first: of many the first three and the last ones, at most 50 and 64 KiB. */
  readonly failures: readonly Failure[];
  /** The job that this one repeats with other input; retention may have removed it. */
  readonly rerunOf: string | null;
  /** The batch of which it is a member; null: none. */
  readonly batch: string | null;
  /** What it has reserved of an account, or had until its end; null: it costs nothing. */
  readonly credits: JobHold | null;
  /** The time limit of its runs, of this job alone; 0: none; null: as its definition says. */
  readonly timeoutMs: number | null;
  readonly tags: readonly string[];
  /** The traceparent of the span that enqueued it. */
  readonly trace: string | null;
}

export interface JobHold {
  readonly account: string;
  readonly amount: number;
  readonly state: "reserved" | "captured" | "released";
}

/** A job, and where its line goes on. */
export interface JobDetail extends Job {
  /** Jobs that repeat this one, oldest first, a hundred at most. */
  readonly reruns: readonly string[];
  /** The tick of a schedule that made it; null: it was enqueued otherwise. */
  readonly tick: Tick | null;
}

export interface Failure {
  readonly attempt: number;
  readonly leaseNo: number;
  readonly worker: string;
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly outcome: string;
  readonly error: ErrorRecord | null;
  /** This many attempts before this one are not kept; missing: none. */
  readonly dropped?: number;
}

/** With a word about error or end, only ended jobs are found. */
export interface JobFilter extends ErrorFilter {
  readonly state?: JobState;
  readonly queue?: string;
  readonly kind?: string;
  readonly tenant?: string;
  /** Only members of this batch. */
  readonly batch?: string;
  /** Only jobs with this tag. */
  readonly tag?: string;
  /** Only jobs with a lower id: the last id of the page before. */
  readonly before?: string;
  /** Page size, at most 200; default 50. */
  readonly limit?: number;
}

export const PAGE_ROWS_MAX = 200;

/** What both tables have. */
const BOTH = `id, state, kind, queue, tenant, priority, key, attempt, crashes, max_attempts, lease_no, worker, created_at, run_at, expire_at, started_at,
  payload, progress, failures, rerun_of, reservation, batch, timeout_ms, tags, trace`;
const LIVE = `${BOTH}, null::timestamptz as ended_at, cancel_requested_at, null::jsonb as result, null::jsonb as error`;
const ENDED = `${BOTH}, ended_at, null::timestamptz as cancel_requested_at, result, error`;

/** The reservation of a row: one probe of a primary key, and none where the job costs nothing. */
const HOLD =
  "(select json_build_object('account', e.account, 'amount', e.amount) from fairmill.credit_entry e where e.id = reservation) as credits";

const JOB = `select found.*, ${HOLD} from (
  select ${LIVE} from fairmill.job where id = $1 union all select ${ENDED} from fairmill.job_history where id = $1 limit 1) as found`;

const DETAIL = `select found.*, array(select id from fairmill.job where rerun_of = $1
  union all select id from fairmill.job_history where rerun_of = $1 order by id limit 100) as reruns,
  (select jsonb_build_object('schedule', t.schedule, 'at', t.tick_at) from fairmill.schedule_tick t where t.job_id = $1 order by t.tick_at limit 1) as tick from (${JOB}) as found`;
const ENDED_BY_ID = `select found.*, ${HOLD} from (select ${ENDED} from fairmill.job_history where id = any ($1)) as found order by id`;

const WANTED = `($1::text is null or state = $1) and ($2::text is null or queue = $2) and ($3::text is null or kind = $3)
  and ($4::text is null or tenant = $4) and ($5::bigint is null or id < $5) and ($11::text is null or tags @> array[$11])`;
/** `more` is asked of both tables. */
const page = (more = "") => `select found.*, ${HOLD} from (
  (select ${LIVE} from fairmill.job where ${WANTED} ${more} and coalesce($7::text, $8::text, $9::text, $10::text) is null order by id desc limit $6)
  union all
  (select ${ENDED} from fairmill.job_history where ${WANTED} ${more}
    and ($7::text is null or error ->> 'code' = $7) and ($8::text is null or strpos(error ->> 'message', $8) > 0)
    and ($9::text is null or ended_at >= $9::timestamptz) and ($10::text is null or ended_at <= $10::timestamptz) order by id desc limit $6)) as found order by id desc limit $6`;
const PAGE = page();
/** Its own statement, so that the index of members serves it. */
const PAGE_OF_BATCH = page("and batch = $12::bigint");

interface Row {
  id: RowId;
  state: JobState;
  kind: string;
  queue: string;
  tenant: string;
  priority: number;
  key: string | null;
  attempt: number;
  crashes: number;
  max_attempts: number;
  timeout_ms: string | null;
  tags: string[] | null;
  trace: string | null;
  lease_no: RowId;
  worker: string | null;
  created_at: RowTime;
  run_at: RowTime | null;
  expire_at: RowTime | null;
  started_at: RowTime | null;
  ended_at: RowTime | null;
  cancel_requested_at: RowTime | null;
  payload: unknown;
  progress: unknown;
  result: unknown;
  error: ErrorRecord | null;
  failures:
    | {
        attempt: number;
        lease_no: number;
        worker: string;
        started_at: string;
        ended_at: string;
        outcome: string;
        error: ErrorRecord | null;
        dropped?: number;
      }[]
    | null;
  rerun_of: RowId | null;
  batch: RowId | null;
  credits: Pick<JobHold, "account" | "amount"> | null;
}

export async function readJob(db: Session, id: string): Promise<Job | undefined> {
  const [row] = await db.query<Row>(JOB, [id]);
  return row && toJob(row);
}

export async function readJobDetail(db: Session, id: string): Promise<JobDetail | undefined> {
  const [row] = await db.query<Row & { reruns: RowId[]; tick: { schedule: string; at: string } | null }>(DETAIL, [id]);
  if (!row) return undefined;
  const { reruns, tick } = row;
  return { ...toJob(row), reruns: reruns.map(idOf), tick: tick && { schedule: tick.schedule, at: new Date(tick.at) } };
}

/** Those of these jobs that have ended, by id. */
export async function readJobsById(db: Session, ids: readonly string[]): Promise<Job[]> {
  return ids.length === 0 ? [] : (await db.query<Row>(ENDED_BY_ID, [ids])).map(toJob);
}

/** A job as a caller that waits for its end needs it. */
export interface JobEnd {
  readonly id: string;
  readonly state: JobState;
  readonly kind: string;
  readonly tenant: string;
  readonly result: unknown;
  readonly error: ErrorRecord | null;
}

/** Of a live job only this much is known. */
export type SeenJob = Pick<JobEnd, "id" | "state" | "kind"> & Partial<JobEnd>;

/** Of most that are waited for nothing is reported but that they live. */
const LIVE_STATES = "select id::text as id, state, kind from fairmill.job where id = any ($1)";
/** Both tables in one statement: a job moves from one to the other. */
const ENDS = `select id, state, kind, tenant, null::jsonb as result, null::jsonb as error from fairmill.job where id = any ($1)
  union all select id, state, kind, tenant, result, error from fairmill.job_history where id = any ($1)`;
/** Results may be large. */
const ENDS_MAX = 100;

/** What became of these jobs, live or ended; without those that do not exist. */
export async function readEnds(db: Session, ids: readonly string[]): Promise<Map<string, SeenJob>> {
  const live = await db.query<SeenJob>(LIVE_STATES, [ids]);
  const seen = new Map<string, SeenJob>(live.map((job) => [job.id, job]));
  const gone = ids.filter((id) => !seen.has(id));
  for (let from = 0; from < gone.length; from += ENDS_MAX)
    for (const job of await db.query<JobEnd>(ENDS, [gone.slice(from, from + ENDS_MAX)])) seen.set(job.id, job);
  return seen;
}

export async function readJobs(
  db: Session,
  filter: JobFilter & { limit: number },
  why: CheckedErrorFilter,
): Promise<Job[]> {
  const rows = await db.query<Row>(filter.batch === undefined ? PAGE : PAGE_OF_BATCH, [
    filter.state ?? null,
    filter.queue ?? null,
    filter.kind ?? null,
    filter.tenant ?? null,
    filter.before ?? null,
    filter.limit,
    why.error_code ?? null,
    why.error_text ?? null,
    why.ended_since ?? null,
    why.ended_until ?? null,
    filter.tag ?? null,
    ...(filter.batch === undefined ? [] : [filter.batch]),
  ]);
  return rows.map(toJob);
}

const toJob = (row: Row): Job => ({
  id: idOf(row.id),
  state: row.state,
  kind: row.kind,
  queue: row.queue,
  tenant: row.tenant,
  priority: row.priority,
  key: row.key,
  attempt: row.attempt,
  crashes: row.crashes,
  maxAttempts: row.max_attempts,
  leaseNo: Number(row.lease_no),
  worker: row.worker,
  createdAt: timeOf(row.created_at),
  runAt: timeOrNull(row.run_at),
  expireAt: timeOrNull(row.expire_at),
  startedAt: timeOrNull(row.started_at),
  endedAt: timeOrNull(row.ended_at),
  cancelRequestedAt: timeOrNull(row.cancel_requested_at),
  payload: row.payload,
  progress: row.progress,
  result: row.result,
  error: row.error,
  failures: (row.failures ?? []).map((failure) => ({
    attempt: failure.attempt,
    leaseNo: failure.lease_no,
    worker: failure.worker,
    startedAt: new Date(failure.started_at),
    endedAt: new Date(failure.ended_at),
    outcome: failure.outcome,
    error: failure.error,
    ...(failure.dropped !== undefined && { dropped: failure.dropped }),
  })),
  rerunOf: idOrNull(row.rerun_of),
  batch: idOrNull(row.batch),
  credits: row.credits && { ...row.credits, state: stateOfHold(row.state) },
  timeoutMs: row.timeout_ms === null ? null : Number(row.timeout_ms),
  tags: row.tags ?? [],
  trace: row.trace,
});

/** The transaction that ends a job ends its reservation, so the one shows the other. */
const stateOfHold = (state: JobState): JobHold["state"] =>
  state === "done" ? "captured" : isEnded(state) ? "released" : "reserved";
