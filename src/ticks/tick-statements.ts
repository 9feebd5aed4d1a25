// The statements of ticks alone: what earlier rows say of run times, and when something falls due next.
import type { Database } from "../db/database.js";
import type { KnownRuns } from "./usual-runs.js";

/** The newest rows, of whichever worker. */
const ROWS_MAX = 200;

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

/** When a tick next finds something to do, in milliseconds from now; undefined: never, as things are. */
export async function nextDueInMs(db: Database, queues: readonly string[]): Promise<number | undefined> {
  const [row] = await db.query<{ ms: number | null }>(
    "select (extract(epoch from fairmill.next_due_v1($1) - clock_timestamp()) * 1000)::float8 as ms",
    [queues],
  );
  return row?.ms ?? undefined;
}
