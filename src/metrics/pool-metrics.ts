// The metrics of pools: how many workers each should have, for an autoscaler that reads Prometheus, and the figures of every child. Read for a scrape
// alone: how many are desired may have to be counted.
import type { Database } from "../db/database.js";
import { type Family, gauge } from "./metric-family.js";

const ROWS_MAX = 1_000;
const POOLS = `select p.name as pool, fairmill.desired_workers_v1(p.name) as desired from fairmill.pool p order by p.name limit ${ROWS_MAX}`;
/** Of supervisors that live. */
const CHILDREN = `select s.pool, s.host, c.number::text as child, c.state, c.cpu, c.memory_bytes::float8 as bytes,
    extract(epoch from c.uptime)::float8 as uptime, c.jobs_processed::float8 as jobs
  from fairmill.child c join fairmill.supervisor s on s.id = c.supervisor
  where s.seen_at > clock_timestamp() - 3 * s.report_every and c.state <> 'terminated' order by s.pool, s.id, c.number limit ${ROWS_MAX}`;

interface ChildRow {
  readonly pool: string;
  readonly host: string | null;
  readonly child: string;
  readonly state: string;
  readonly cpu: number;
  readonly bytes: number;
  readonly uptime: number;
  readonly jobs: number;
}

export class PoolMetrics {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async collect(): Promise<readonly Family[]> {
    const pools = await this.#db.query<{ pool: string; desired: number | null }>(POOLS);
    const children = pools.length === 0 ? [] : await this.#db.query<ChildRow>(CHILDREN);
    const of = (value: (child: ChildRow) => number) =>
      children.map((one) => ({
        labels: { pool: one.pool, host: one.host ?? "", child: one.child },
        value: value(one),
      }));
    const states = new Map<string, { labels: { pool: string; state: string }; value: number }>();
    for (const { pool, state } of children) {
      const known = states.get(`${state} ${pool}`) ?? { labels: { pool, state }, value: 0 };
      known.value++;
      states.set(`${state} ${pool}`, known);
    }
    return [
      gauge(
        "pool_desired",
        "How many workers the pool should have, over all hosts.",
        pools.map(({ pool, desired }) => ({ labels: { pool }, value: desired ?? 0 })),
      ),
      gauge("pool_children", "Children of living supervisors, by state.", [...states.values()]),
      gauge(
        "child_cpu",
        "Part of one core that the child's process uses (worker.cpu).",
        of(({ cpu }) => cpu),
      ),
      gauge(
        "child_memory_bytes",
        "Resident memory of the child's process (worker.memory).",
        of(({ bytes }) => bytes),
      ),
      gauge(
        "child_uptime_seconds",
        "How long the child's process has run (worker.uptime).",
        of(({ uptime }) => uptime),
      ),
      {
        name: "child_jobs_processed_total",
        help: "Jobs that the child has run (worker.jobs_processed).",
        type: "counter",
        samples: of(({ jobs }) => jobs),
      },
    ];
  }
}
