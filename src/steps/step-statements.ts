// The statements about steps: reading them, keeping one, sending a signal. Writes of a run name its fence.
import type { Claim } from "../core/job/claim.js";
import { type Database, prepared, type Statement } from "../db/database.js";
import { type RowTime, type Session, timeOf, timeOrNull } from "../db/session.js";
import type { DoneStep, KnownStep, Pause, PauseAnswer, StepAnswer, StepKind } from "./step.js";

/** A step of a job, as it stands. */
export interface JobStep {
  readonly name: string;
  readonly kind: StepKind;
  /** The how-manieth call of its run it was, from 0; null: a signal that the job has not asked for yet. */
  readonly position: number | null;
  /** What it came to, or the value of the signal. */
  readonly result: unknown;
  readonly startedAt: Date;
  /** null: the job sleeps or waits here, or has not come to it. */
  readonly finishedAt: Date | null;
  /** Of a sleep: when it is over; of a wait: when waiting ends, null: never. */
  readonly wakeAt: Date | null;
  readonly signalledAt: Date | null;
  readonly attempt: number;
  readonly leaseNo: number;
}

export type SignalAnswer = "sent" | "known" | "late" | "ended" | "not_found";

/** A job may have more steps than one worker's settings allow: those of another. */
const STEPS_READ_MAX = 10_000;

const READ = `select name, kind, position, result::text as result, signalled_at is not null as signalled, finished_at is not null as finished
  from fairmill.step where job_id = $1 and position is not null order by finished_at, position limit ${STEPS_READ_MAX}`;
const STORE = prepared(
  "select answer, kind, kept::text as result from fairmill.store_step_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
);
const PAUSE =
  'select answer, in_ms as "inMs", signalled, kept::text as result, stored_kind as kind from fairmill.pause_step_v1($1, $2, $3, $4, $5, $6, $7, $8)';
const LIST = `select name, kind, position, result, started_at as "startedAt", finished_at as "finishedAt", wake_at as "wakeAt",
    signalled_at as "signalledAt", attempt, lease_no::float8 as "leaseNo"
  from fairmill.step where job_id = $1 order by position nulls last, started_at, name limit ${STEPS_READ_MAX}`;
const OWNER = `select kind, tenant from fairmill.job where id = $1
  union all select kind, tenant from fairmill.job_history where id = $1 limit 1`;
const SIGNAL = "select fairmill.signal_v1($1, $2, $3, $4) as answer";

/** Results are read as text: SQL's null is nothing, JSON's null is a value, and the driver would make the same of both. */
const parse = (json: string | null): unknown => (json === null ? undefined : JSON.parse(json));

type AsText<T> = Omit<T, "result"> & { readonly result: string | null };

/** What earlier runs left, in the order in which it was finished. */
export async function readKnownSteps(db: Database, jobId: string): Promise<KnownStep[]> {
  const rows = await db.query<AsText<KnownStep>>(READ, [jobId]);
  return rows.map((row) => ({ ...row, result: parse(row.result) }));
}
export const storeStatement = (claim: Claim, step: DoneStep, stepsMax: number, bytesMax: number): Statement => [
  STORE,
  [claim.worker, claim.id, claim.leaseNo, step.name, step.position, step.json ?? null, step.tookMs, stepsMax, bytesMax],
];

export function storeAnswer(rows: readonly unknown[]): StepAnswer {
  const row = rows[0] as AsText<StepAnswer>;
  return { ...row, result: parse(row.result) };
}

export async function pauseStep(db: Database, claim: Claim, pause: Pause, stepsMax: number): Promise<PauseAnswer> {
  const [row] = await db.query<AsText<Omit<PauseAnswer, "inMs">> & { inMs: number | null }>(PAUSE, [
    claim.worker,
    claim.id,
    claim.leaseNo,
    pause.name,
    pause.position,
    pause.kind,
    pause.waitMs ?? null,
    stepsMax,
  ]);
  return { ...row!, inMs: row!.inMs ?? undefined, result: parse(row!.result) };
}

/** All steps of a job and the signals it was sent, in the order in which it came to them. */
export async function readSteps(db: Session, jobId: string): Promise<JobStep[]> {
  type Times = "startedAt" | "finishedAt" | "wakeAt" | "signalledAt";
  type Row = Omit<JobStep, Times> & { [Name in Times]: RowTime | null };
  const rows = await db.query<Row>(LIST, [jobId]);
  return rows.map((row) => ({
    ...row,
    startedAt: timeOf(row.startedAt!),
    finishedAt: timeOrNull(row.finishedAt),
    wakeAt: timeOrNull(row.wakeAt),
    signalledAt: timeOrNull(row.signalledAt),
  }));
}

/** Whose the job is: what a sealed signal is bound to. undefined: there is no such job. */
export async function ownerOf(db: Session, jobId: string): Promise<{ kind: string; tenant: string } | undefined> {
  const [row] = await db.query<{ kind: string; tenant: string }>(OWNER, [jobId]);
  return row;
}

/** `isAlone`: the transaction ends with this, and a job that waits is ready at once. */
export async function sendSignal(
  db: Session,
  jobId: string,
  name: string,
  json: string | undefined,
  isAlone: boolean,
): Promise<SignalAnswer> {
  const [row] = await db.query<{ answer: SignalAnswer }>(SIGNAL, [jobId, name, json ?? null, isAlone]);
  return row!.answer;
}
