// The statements about the ticks of schedules: which are due, their jobs, and what is put off.
import type { FairmillError } from "../base/errors.js";
import { ANSWER_MS_MAX, type Database } from "../db/database.js";
import { type Refusal, toError } from "../db/refusals.js";
import type { Session } from "../db/session.js";
import type { Tick } from "./schedule.js";
import { NOW } from "./schedule-statements.js";

const DUE = `select name, revision, cron, timezone, missed_max, jitter_ms, extract(epoch from next_at) * 1000 as next_ms, ${NOW} as now_ms, false as is_ahead
  from fairmill.schedule where paused_at is null and greatest(next_at, not_before) <= now() order by greatest(next_at, not_before) limit $1`;
/**
 * What was computed while the clock was ahead; a correction of less than two seconds stops no tick for longer than that. One that could not be
 * computed again rests for ten seconds, like any that cannot be ticked.
 */
const AHEAD = `select name, revision, cron, timezone, missed_max, jitter_ms, extract(epoch from next_at) * 1000 as next_ms, ${NOW} as now_ms, true as is_ahead
  from fairmill.schedule where paused_at is null and moved_at > now() + interval '2 seconds'
    and coalesce(not_before, '-infinity') not between now() and now() + interval '10 seconds' order by moved_at desc limit $1`;

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
