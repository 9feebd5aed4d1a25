// The race of the paper, again and again: a node's job adds jobs that a rate holds back, others end at the same moment, workers die; the
// next node must not start before all of them have ended, and every flow calls back once.

import { type Asker, type Claimed, enqueue, setRule } from "../support/sql/calls.js";
import { type CrewCounts, runCrew } from "../support/sql/crew.js";
import type { Session } from "../support/sql/sessions.js";
import { createFlow, type NodeSpec } from "./batch-calls.js";

export interface RaceOptions {
  readonly flows: number;
  readonly random: () => number;
  readonly workers?: number;
}

export interface RaceResult extends CrewCounts {
  /** Flows whose next node started before a member of the first had ended. */
  readonly early: number;
  /** Flows that are not over although no job is left, or that did not call back. */
  readonly missing: number;
  /** Flows that called back more than once. */
  readonly double: number;
  readonly jobs: number;
  readonly throttled: number;
}

const NODES = (n: number): NodeSpec[] => [
  { name: "gather", jobs: [{ kind: "gather", payload: { n } }] },
  { name: "next", after: [0], when: "settled", jobs: [{ kind: "next", payload: { n } }] },
  // Two that end at the same moment, and the flow with the last of them.
  { name: "beside", after: [0], when: "settled", jobs: [{ kind: "next", payload: { n } }] },
];

export async function runRace(db: Asker & { readonly url: string }, options: RaceOptions): Promise<RaceResult> {
  const { flows, random, workers = 4 } = options;
  await setRule(db, { rate: { limit: 5, per_ms: 1_000, how: "uniform" } });
  for (let n = 0; n < flows; n++)
    await createFlow(db, NODES(n), {
      callbacks: { complete: { kind: "complete", payload: { n } } },
      name: `flow ${n}`,
    });
  const counts = await runCrew(db, {
    random,
    workers,
    run: (session, job) => (job.kind === "gather" ? gather(session, job, random) : Promise.resolve()),
    verdictOf: ({ kind }) => {
      if (kind !== "limited" && kind !== "free") return "done";
      return random() < 0.8 ? "done" : random() < 0.5 ? "dead" : "retry";
    },
  });
  return { ...(await judge(db)), ...counts };
}

/** Adds to its own node, at once or a moment later, like a producer whom a limiter makes wait. */
async function gather(session: Session, job: Claimed, random: () => number): Promise<void> {
  const { n } = job.payload as { n: number };
  const [row] = await session.query<{ batch: string }>("select batch from fairmill.job where id = $1", [job.id]);
  if (!row) return;
  const children = Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({
    // Some are held back, others end together.
    kind: random() < 0.6 ? "limited" : "free",
    key: `f${n}`,
    batch: row.batch,
    max_attempts: 100,
    ...(random() < 0.2 ? { delay_ms: Math.floor(random() * 300) } : {}),
  }));
  await session.query("select pg_sleep($1)", [random() / 500]);
  await enqueue(session, children);
}

/** Nothing is left to do: what became of the flows? */
async function judge(db: Asker): Promise<Omit<RaceResult, keyof CrewCounts>> {
  const [row] = await db.query<{ early: number; missing: number; double: number; jobs: number; throttled: number }>(`
    with flow as (
      select f.id, f.state, (select count(*) from fairmill.job_history h where h.kind = 'complete' and 'flow ' || (h.payload ->> 'n') = f.name) as calls,
        exists (select from fairmill.batch g join fairmill.batch n on n.parent = f.id and n.name <> 'gather'
          join fairmill.job_history m on m.batch = g.id
          where g.parent = f.id and g.name = 'gather' and m.ended_at > n.started_at) as is_early
      from fairmill.batch f where f.role = 'flow')
    select count(*) filter (where is_early)::integer as early, count(*) filter (where state in ('waiting', 'pending') or calls = 0)::integer as missing,
      count(*) filter (where calls > 1)::integer as double,
      (select count(*)::integer from fairmill.job_history) as jobs, (select coalesce(sum(rate_limited_times), 0)::integer from fairmill.job_history) as throttled
    from flow`);
  return row!;
}
