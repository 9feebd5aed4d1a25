// The statements about schedules: declaring, reading and steering them.
import type { Enqueued } from "../core/job/enqueue-options.js";
import { type Refusal, toError } from "../db/refusals.js";
import { idOf, idOrNull, type RowId, type RowTime, type Session, timeOf, timeOrNull } from "../db/session.js";
import type { NamePage } from "../limits/overview-statements.js";
import { type Missed, missedOf } from "./schedule.js";

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
  /** When it was changed by hand, by `change`, since the code declared it; null: it is as declared. */
  readonly editedAt: Date | null;
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
  edited_at: RowTime | null;
}

const FIELDS = `name, cron, timezone, missed_max, jitter_ms, job ->> 'kind' as kind, job ? 'flow' as starts_flows, coalesce(job ->> 'queue', 'default') as queue,
  coalesce(job ->> 'tenant', 'default') as tenant, next_at, last_tick_at, last_job_id, last_error, paused_at, created_at, updated_at, edited_at`;
const ONE = `select ${FIELDS} from fairmill.schedule where name = $1`;
const PAGE = `select ${FIELDS} from fairmill.schedule where name > $1 collate "C" order by name limit $2`;
/** The database's clock: every worker that computes ticks reads this one. */
export const NOW = "extract(epoch from clock_timestamp()) * 1000";
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
  lastError: row.last_error && scheduleErrorOf(row.last_error),
  pausedAt: timeOrNull(row.paused_at),
  createdAt: timeOf(row.created_at),
  updatedAt: timeOf(row.updated_at),
  editedAt: timeOrNull(row.edited_at),
});

export function scheduleErrorOf(stored: NonNullable<Row["last_error"]>): { code: string; message: string } {
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

const RUN = "select * from fairmill.run_schedule_v1($1, $2)";

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
