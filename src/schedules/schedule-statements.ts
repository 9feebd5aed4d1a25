// The statements about schedules: declaring, reading and steering them, and their ticks.
import type { FairmillError } from "../base/errors.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import { ANSWER_MS_MAX, type Database } from "../db/database.js";
import { type Refusal, toError } from "../db/refusals.js";
import { idOf, idOrNull, type RowId, type RowTime, type Session, timeOf, timeOrNull } from "../db/session.js";
import type { NamePage } from "../limits/overview-statements.js";
import { type Missed, missedOf, type Tick } from "./schedule.js";

/** A schedule as it stands. */
export interface Schedule {
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: Missed;
  readonly jitterMs: number;
  /** The kind of its jobs; of flows their name. */
  readonly kind: string;
  /** Whether its ticks start flows. */
  readonly startsFlows: boolean;
  readonly queue: string;
  readonly tenant: string;
  /** The next tick; null while it is paused. */
  readonly nextRun: Date | null;
  readonly lastTick: Date | null;
  /** The job that was made last. */
  readonly lastJobId: string | null;
  /** Why the last tick made no job, or why it cannot be ticked. */
  readonly lastError: { readonly code: string; readonly message: string } | null;
  readonly pausedAt: Date | null;
  readonly createdAt: Date;
  /** When its definition changed last. */
  readonly updatedAt: Date;
}

interface Row {
  name: string;
  cron: string;
  timezone: string;
  missed_max: number;
  jitter_ms: RowId;
  kind: string;
  starts_flows: boolean;
  queue: string;
  tenant: string;
  next_at: RowTime;
  last_tick_at: RowTime | null;
  last_job_id: RowId | null;
  last_error: { code: string; message: string } | { refused: Refusal } | null;
  paused_at: RowTime | null;
  created_at: RowTime;
  updated_at: RowTime;
}

const FIELDS = `name, cron, timezone, missed_max, jitter_ms, job ->> 'kind' as kind, job ? 'flow' as starts_flows, coalesce(job ->> 'queue', 'default') as queue,
  coalesce(job ->> 'tenant', 'default') as tenant, next_at, last_tick_at, last_job_id, last_error, paused_at, created_at, updated_at`;
const ONE = `select ${FIELDS} from fairmill.schedule where name = $1`;
const PAGE = `select ${FIELDS} from fairmill.schedule where name > $1 collate "C" order by name limit $2`;
/** The database's clock: every worker that computes ticks reads this one. */
const NOW = "extract(epoch from clock_timestamp()) * 1000";
const DUE = `select name, revision, cron, timezone, missed_max, jitter_ms, extract(epoch from next_at) * 1000 as next_ms, ${NOW} as now_ms, false as is_ahead
  from fairmill.schedule where paused_at is null and greatest(next_at, not_before) <= now() order by greatest(next_at, not_before) limit $1`;
/**
 * What was computed while the clock was ahead; a correction of less than two seconds stops no tick for longer than that. One that could not be
 * computed again rests for ten seconds, like any that cannot be ticked.
 */
const AHEAD = `select name, revision, cron, timezone, missed_max, jitter_ms, extract(epoch from next_at) * 1000 as next_ms, ${NOW} as now_ms, true as is_ahead
  from fairmill.schedule where paused_at is null and moved_at > now() + interval '2 seconds'
    and coalesce(not_before, '-infinity') not between now() and now() + interval '10 seconds' order by moved_at desc limit $1`;

const toSchedule = (row: Row): Schedule => ({
  name: row.name,
  cron: row.cron,
  timezone: row.timezone,
  missed: missedOf(row.missed_max),
  jitterMs: Number(row.jitter_ms),
  kind: row.kind,
  startsFlows: row.starts_flows,
  queue: row.queue,
  tenant: row.tenant,
  nextRun: row.paused_at === null ? timeOf(row.next_at) : null,
  lastTick: timeOrNull(row.last_tick_at),
  lastJobId: idOrNull(row.last_job_id),
  lastError: row.last_error && errorOf(row.last_error),
  pausedAt: timeOrNull(row.paused_at),
  createdAt: timeOf(row.created_at),
  updatedAt: timeOf(row.updated_at),
});

function errorOf(stored: NonNullable<Row["last_error"]>): { code: string; message: string } {
  const { code, message } = "refused" in stored ? toError(stored.refused) : stored;
  return { code, message };
}

/** What the database's clock shows. */
export async function readNow(db: Session): Promise<number> {
  const [row] = await db.query<{ now_ms: RowId }>(`select ${NOW} as now_ms`);
  return Number(row!.now_ms);
}

export async function readSchedule(db: Session, name: string): Promise<Schedule | undefined> {
  const [row] = await db.query<Row>(ONE, [name]);
  return row && toSchedule(row);
}

export async function readSchedules(db: Session, page: Required<NamePage>): Promise<Schedule[]> {
  return (await db.query<Row>(PAGE, [page.after, page.limit])).map(toSchedule);
}

/** A definition as it is stored. */
export interface ScheduleDefinition {
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  /** JSON, as enqueue_many_v1 takes it. */
  readonly job: string;
  readonly fingerprint: string;
  readonly missedMax: number;
  readonly jitterMs: number;
  /** undefined: as it is. */
  readonly paused: boolean | undefined;
}

/** The fingerprint under which a schedule is stored, and what the database's clock shows. */
export async function readFingerprint(
  db: Session,
  name: string,
): Promise<{ nowMs: number; fingerprint: string | undefined }> {
  const [row] = await db.query<{ now_ms: RowId; fingerprint: string | null }>(
    `select ${NOW} as now_ms, (select s.fingerprint from fairmill.schedule s where s.name = $1) as fingerprint`,
    [name],
  );
  return { nowMs: Number(row!.now_ms), fingerprint: row!.fingerprint ?? undefined };
}

export async function setSchedule(
  db: Session,
  schedule: ScheduleDefinition,
  nextMs: number,
): Promise<"created" | "changed" | "same"> {
  const [row] = await db.query<{ answer: "created" | "changed" | "same" }>(
    "select fairmill.set_schedule_v1($1, $2, $3, $4, $5, $6, $7, $8, $9) as answer",
    [
      schedule.name,
      schedule.cron,
      schedule.timezone,
      schedule.job,
      schedule.fingerprint,
      new Date(nextMs).toISOString(),
      schedule.missedMax,
      schedule.jitterMs,
      schedule.paused ?? null,
    ],
  );
  return row!.answer;
}

/** False: there is none. */
export async function removeSchedule(db: Session, name: string): Promise<boolean> {
  const [row] = await db.query<{ gone: boolean }>("select fairmill.remove_schedule_v1($1) as gone", [name]);
  return row!.gone;
}

/** False: there is none. */
export async function pauseSchedule(db: Session, name: string, resumeMs: number | undefined): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>("select fairmill.pause_schedule_v1($1, $2, $3) as found", [
    name,
    resumeMs === undefined,
    resumeMs === undefined ? null : new Date(resumeMs).toISOString(),
  ]);
  return row!.found;
}

/** As run_schedule_v1, which is always alone. */
const RUN = `select e.* from fairmill.schedule s
  cross join lateral fairmill.enqueue_many_v1(jsonb_build_array(s.job), '{}', wake => true, alone => $2, partial => true) e
  where s.name = $1 and not s.job ? 'flow'
  union all
  select f.id, f.id is not null, null, f.refused from fairmill.schedule s
  cross join lateral fairmill.start_flow_v1(s.job -> 'flow') f where s.name = $1 and s.job ? 'flow'`;

/** undefined: there is none. `isAlone`: the transaction ends with this. */
export async function runSchedule(db: Session, name: string, isAlone: boolean): Promise<Enqueued | undefined> {
  type Ran = { id: RowId; created: boolean; conflict: string | null; refused: Refusal | null };
  const [row] = await db.query<Ran>(RUN, [name, isAlone]);
  if (!row) return undefined;
  if (row.refused) throw toError(row.refused);
  const { created } = row;
  const id = idOf(row.id);
  return row.conflict === "replaced" ? { id, created: false, replaced: true } : { id, created };
}

/** A schedule that has something to do. */
export interface DueSchedule {
  readonly name: string;
  /** What is computed from this is dropped when the schedule changed meanwhile. */
  readonly revision: string;
  readonly cron: string;
  readonly timezone: string;
  readonly missedMax: number;
  readonly jitterMs: number;
  readonly nextMs: number;
  /** By the database's clock. */
  readonly nowMs: number;
  /** Its next tick was computed while the database's clock was ahead of what it shows now. */
  readonly isAhead: boolean;
}

export async function readDueSchedules(db: Database, schedulesMax: number): Promise<DueSchedule[]> {
  interface DueRow {
    name: string;
    revision: string;
    cron: string;
    timezone: string;
    missed_max: number;
    jitter_ms: string;
    next_ms: string;
    now_ms: string;
    is_ahead: boolean;
  }
  const answers = await db.pipeline([
    [DUE, [schedulesMax]],
    [AHEAD, [schedulesMax]],
  ]);
  const rows = answers.flatMap((answer) => {
    if (answer.status === "rejected") throw answer.reason;
    return answer.value as DueRow[];
  });
  return rows.map((row) => ({
    name: row.name,
    revision: row.revision,
    cron: row.cron,
    timezone: row.timezone,
    missedMax: row.missed_max,
    jitterMs: Number(row.jitter_ms),
    nextMs: Number(row.next_ms),
    nowMs: Number(row.now_ms),
    isAhead: row.is_ahead,
  }));
}

/** What ticking a schedule came to. */
export interface Ticked {
  /** False: another worker was faster, or the schedule changed. */
  readonly ticked: boolean;
  readonly jobIds: readonly string[];
  readonly refusals: readonly { readonly at: Date; readonly error: FairmillError }[];
}

/** Makes the jobs of these ticks and moves the schedule on, in one statement: no lock outlives a process that sleeps. */
export async function tickSchedule(
  db: Database,
  { name, revision }: Pick<DueSchedule, "name" | "revision">,
  ticks: readonly { readonly atMs: number; readonly delayMs: number }[],
  nextMs: number,
): Promise<Ticked> {
  const [row] = await db.query<{
    ticked: boolean;
    jobs: string[];
    refusals: { tick_at: string; refused: Refusal }[] | null;
  }>(
    "select * from fairmill.tick_schedule_v1($1, $2, $3, $4, $5)",
    [
      name,
      revision,
      ticks.map(({ atMs }) => new Date(atMs).toISOString()),
      ticks.map(({ delayMs }) => delayMs),
      new Date(nextMs).toISOString(),
    ],
    // The enqueue may have to wait for a transaction of a caller.
    ANSWER_MS_MAX,
  );
  const { ticked, jobs, refusals } = row!;
  return {
    ticked,
    jobIds: jobs,
    refusals: (refusals ?? []).map(({ tick_at, refused }) => ({ at: new Date(tick_at), error: toError(refused) })),
  };
}

/** Sets the next tick again. False: another worker was faster, or the schedule was changed. */
export async function resetSchedule(
  db: Session,
  { name, revision }: Pick<DueSchedule, "name" | "revision">,
  nextMs: number,
): Promise<boolean> {
  const [row] = await db.query<{ done: boolean }>("select fairmill.reset_schedule_v1($1, $2, $3) as done", [
    name,
    revision,
    new Date(nextMs).toISOString(),
  ]);
  return row!.done;
}

/** Ticking failed: no worker tries again for a while, and the list of schedules shows why. */
export async function postponeSchedule(
  db: Database,
  { name, revision }: Pick<DueSchedule, "name" | "revision">,
  error: { readonly code: string; readonly message: string },
): Promise<void> {
  await db.query("select fairmill.postpone_schedule_v1($1, $2, $3)", [name, revision, JSON.stringify(error)]);
}

/** Of which tick a job is; undefined when it was enqueued otherwise. */
export async function readTick(db: Database, jobId: string): Promise<Tick | undefined> {
  const [row] = await db.query<{ schedule: string; tick_at: Date }>(
    "select schedule, tick_at from fairmill.schedule_tick where job_id = $1 order by tick_at limit 1",
    [jobId],
  );
  return row && { schedule: row.schedule, at: row.tick_at };
}
