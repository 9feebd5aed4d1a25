// The statements of ticks alone. A tick has two round trips beside its claims and settles: one that opens it, and one that ends it.
import { lanesStatement, type WaitingLane } from "../core/claim/claim-statements.js";
import {
  type UpkeepReport,
  type UpkeepSettings,
  upkeepReportOf,
  upkeepStatement,
} from "../core/upkeep/upkeep-statements.js";
import { REGISTER, registerValues, stopStatement, type WorkerFacts } from "../core/worker/worker-statements.js";
import { type Database, prepared, type Statement } from "../db/database.js";
import type { Facts } from "../intervals/figures.js";
import {
  type Interval,
  lookedAt,
  type Recorded,
  recordedOf,
  recordStatement,
} from "../intervals/interval-statements.js";
import { PAGE_LANES } from "./tick-claimer.js";
import type { KnownRuns } from "./usual-runs.js";

/** The newest rows, of whichever worker. */
const ROWS_MAX = 200;
/** Queues whose lanes are read with the opening; those of others are read when their turn comes. */
const QUEUES_AT_ONCE = 10;

/** How many jobs are ready; where there are some, the worker is registered, in the same transaction. */
const REGISTER_FOR_WORK = prepared(
  `select d.ready, case when d.ready > 0 then ${REGISTER}::text end
   from (select coalesce(sum(q.ready), 0)::integer as ready from fairmill.queue_depths_v1($9) q) d`,
);
const READY = prepared("select coalesce(sum(q.ready), 0)::integer as ready from fairmill.queue_depths_v1($1) q");
const TAKE_SLOT = prepared("select fairmill.take_tick_slot_v1($1, $2, $3, $4 * interval '1 millisecond') as slot");
const NEXT_DUE = prepared(
  "select (extract(epoch from fairmill.next_due_v1($1) - clock_timestamp()) * 1000)::float8 as ms",
);

export async function readKnownRuns(db: Database, kinds: readonly string[]): Promise<KnownRuns[]> {
  return db.query<KnownRuns>(
    `select k.kind, sum(coalesce((k.figures -> 'runs')::float8, 0)) as runs, sum(coalesce((k.figures -> 'run_ms')::float8, 0)) as "runMs",
       sum(coalesce((k.figures -> 'steps')::float8, 0)) as steps, sum(coalesce((k.figures -> 'step_ms')::float8, 0)) as "stepMs"
     from (select m.kinds from fairmill.worker_tick_metrics m order by m.id desc limit $2) m
     cross join lateral jsonb_each(m.kinds) as k (kind, figures)
     where k.kind = any ($1) group by k.kind`,
    [kinds, ROWS_MAX],
  );
}

/** What a tick finds. */
export interface Found {
  /** Jobs that are ready, counted up to a bound. Where there are some, the worker is registered. */
  readonly ready: number;
  /** The first page of lanes of its queues, of as many as are read at once. */
  readonly lanes: ReadonlyMap<string, readonly WaitingLane[]>;
}

/** A round of upkeep, and what there is to do after it. Rejects with what upkeep failed with, or else the rest. */
export async function openTick(
  db: Database,
  settings: UpkeepSettings,
  worker: WorkerFacts,
): Promise<Found & { readonly upkeep: UpkeepReport }> {
  const [upkeep, ...rest] = await db.pipeline([upkeepStatement(settings), ...findStatements(worker)]);
  return { upkeep: upkeepReportOf(rowsOf(upkeep)), ...foundIn(worker, rest) };
}

/** The same without upkeep, for a tick that had more of it to do. */
export async function findWork(db: Database, worker: WorkerFacts): Promise<Found> {
  return foundIn(worker, await db.pipeline(findStatements(worker)));
}

const findStatements = (worker: WorkerFacts): Statement[] => [
  [REGISTER_FOR_WORK, [...registerValues(worker), lookedAt(worker.queues)]],
  ...worker.queues.slice(0, QUEUES_AT_ONCE).map((queue) => lanesStatement(queue, undefined, PAGE_LANES)),
];

function foundIn({ queues }: WorkerFacts, [registered, ...lanes]: readonly Answer[]): Found {
  const [{ ready }] = rowsOf(registered) as [{ ready: number }];
  return { ready, lanes: new Map(lanes.map((answer, i) => [queues[i]!, rowsOf(answer) as WaitingLane[]])) };
}

/** What a tick that begins took, and gives back at its end. */
export interface Held {
  readonly isRegistered: boolean;
  /** The name of its handler, where it has one of its places. */
  readonly slotOf: string | undefined;
}

/** The last word of a tick: goodbye, if it was registered, its place, its row, and when the next one finds something to do. */
export async function endTick(
  db: Database,
  worker: string,
  facts: Facts & Interval,
  { isRegistered, slotOf, onTrouble }: Held & { readonly onTrouble: (error: unknown) => void },
): Promise<Recorded & { readonly nextInMs: number | undefined }> {
  const goodbyes = [
    // What is still listed as this one's goes back: jobs whose claim was not answered, or whose verdict could not be written.
    ...(isRegistered ? [stopStatement(worker)] : []),
    ...(slotOf === undefined ? [] : [leaveSlotStatement(slotOf, worker)]),
  ];
  const answers = await db.pipeline([
    ...goodbyes,
    recordStatement(worker, facts, 0),
    nextDueStatement(facts.looked_at),
  ]);
  for (const left of answers.splice(0, goodbyes.length)) if (left.status === "rejected") onTrouble(left.reason);
  const [recorded, next] = answers;
  return { ...recordedOf(rowsOf(recorded)), nextInMs: nextInMsOf(next) };
}

/** Takes a place; false: all are taken. */
export async function takeSlot(db: Database, handler: string, slots: number, worker: WorkerFacts): Promise<boolean> {
  const [row] = await db.query<{ slot: number | null }>(TAKE_SLOT, [handler, worker.id, slots, worker.leaseMs]);
  return row!.slot !== null;
}

const leaveSlotStatement = (handler: string, worker: string): Statement => [
  "select fairmill.leave_tick_slot_v1($1, $2)",
  [handler, worker],
];

/** After a failure: neither the registration nor the place is left to its lease, if the database can be reached. */
export async function leaveAll(db: Database, worker: string, handler: string | undefined): Promise<void> {
  await db
    .pipeline([stopStatement(worker), ...(handler === undefined ? [] : [leaveSlotStatement(handler, worker)])])
    .catch(() => {});
}

/** What a tick that does nothing answers with. */
export async function lookAhead(
  db: Database,
  queues: readonly string[],
): Promise<{ readonly ready: number; readonly nextInMs: number | undefined }> {
  const [depth, next] = await db.pipeline([[READY, [lookedAt(queues)]], nextDueStatement(queues)]);
  const [{ ready }] = rowsOf(depth) as [{ ready: number }];
  return { ready, nextInMs: nextInMsOf(next) };
}

const nextDueStatement = (queues: readonly string[]): Statement => [NEXT_DUE, [queues]];

function nextInMsOf(answer: Answer | undefined): number | undefined {
  const [{ ms }] = rowsOf(answer) as [{ ms: number | null }];
  return ms ?? undefined;
}

type Answer = PromiseSettledResult<unknown[]>;

function rowsOf(answer: Answer | undefined): readonly unknown[] {
  if (answer?.status !== "fulfilled") throw answer?.reason;
  return answer.value;
}
