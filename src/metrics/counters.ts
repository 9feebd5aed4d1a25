// Running totals from interval records: what each scrape has not seen yet is added. They begin at zero with the process that shows them, as Prometheus
// expects of counters. Rows may be committed later than others that began after them: each look goes back a little, and knows what it has counted.
import { BUCKETS_MS } from "../base/histogram-buckets.js";
import type { Database } from "../db/database.js";
import type { Family, Histogram } from "./metric-family.js";

const LATE_MS = 2 * 60_000;
const ROWS_MAX = 50_000;

interface Row {
  readonly id: string;
  readonly at: Date;
  readonly worker: string;
  readonly claimed: number;
  readonly processed: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly dead: number;
  readonly throttled: number;
  readonly released: number;
  readonly recovered: number;
  readonly leases_lost: number;
  readonly contention: number;
  readonly kinds: Record<string, KindEntry>;
  readonly tenant_jobs: Record<string, number>;
}

interface KindEntry {
  readonly done?: number;
  readonly failed?: number;
  readonly dead?: number;
  readonly run_ms?: number;
  readonly run_hist?: readonly number[];
  readonly wait_ms?: number;
  readonly wait_hist?: readonly number[];
}

const NEW = `select m.id::text as id, m.tick_started_at as at, m.worker_id as worker, m.jobs_claimed as claimed, m.jobs_processed as processed,
    m.jobs_succeeded as succeeded, m.jobs_failed as failed, m.jobs_dead as dead, m.jobs_throttled as throttled, m.jobs_released as released,
    m.jobs_recovered as recovered, m.leases_lost, m.lock_contention_count as contention, m.kinds, m.tenant_jobs
  from fairmill.worker_tick_metrics m where m.tick_started_at > $1 order by m.tick_started_at limit ${ROWS_MAX}`;

const TOTALS = {
  jobs_claimed_total: ["claimed", "Jobs claimed."],
  jobs_processed_total: ["processed", "Runs that came to an end, whatever it was."],
  jobs_succeeded_total: ["succeeded", "Jobs done."],
  jobs_failed_total: ["failed", "Attempts that failed, retried or not."],
  jobs_dead_total: ["dead", "Jobs that failed for good."],
  jobs_throttled_total: ["throttled", "Jobs that a limit kept waiting, summed over interval records."],
  jobs_released_total: ["released", "Jobs given back with the attempt unspent."],
  jobs_recovered_total: ["recovered", "Jobs of dead workers that were put back or ended."],
  leases_lost_total: ["leases_lost", "Verdicts that the fence refused, and workers declared lost."],
  lock_contention_total: [
    "contention",
    "Statements kept from their end by locks of others, and claims that came too late.",
  ],
} as const satisfies Record<string, readonly [keyof Row, string]>;

export class Counters {
  readonly #db: Database;
  readonly #withTenants: boolean;
  #since: Date | undefined;
  #seen = new Map<string, number>();
  readonly #totals = new Map<string, number>(Object.keys(TOTALS).map((name) => [name, 0]));
  readonly #byWorker = new Map<string, number>();
  readonly #byTenant = new Map<string, number>();
  readonly #runs = new Map<string, { counts: number[]; sum: number }>();
  readonly #waits = new Map<string, { counts: number[]; sum: number }>();

  constructor(db: Database, { withTenants }: { withTenants: boolean }) {
    this.#db = db;
    this.#withTenants = withTenants;
  }

  /** `now` by the database's clock. */
  async collect(now: Date): Promise<Family[]> {
    const from = new Date((this.#since ?? now).getTime() - LATE_MS);
    const rows = await this.#db.query<Row>(NEW, [from]);
    // What was there before the first look is the past of other processes.
    if (this.#since === undefined) for (const { id, at } of rows) this.#seen.set(id, at.getTime());
    for (const row of rows) this.#add(row);
    this.#since = rows.length === ROWS_MAX ? rows.at(-1)!.at : now;
    for (const [id, atMs] of this.#seen) if (atMs < this.#since.getTime() - 2 * LATE_MS) this.#seen.delete(id);
    return this.#families();
  }

  #add(row: Row): void {
    if (this.#seen.has(row.id)) return;
    this.#seen.set(row.id, row.at.getTime());
    for (const [name, [member]] of Object.entries(TOTALS)) bump(this.#totals, name, row[member as "claimed"]);
    bump(this.#byWorker, row.worker, row.processed);
    if (this.#withTenants)
      for (const [tenant, claimed] of Object.entries(row.tenant_jobs)) bump(this.#byTenant, tenant, claimed);
    for (const [kind, { run_ms = 0, run_hist = [], wait_ms = 0, wait_hist = [] }] of Object.entries(row.kinds)) {
      addUp(this.#runs, kind, run_hist, run_ms);
      addUp(this.#waits, kind, wait_hist, wait_ms);
    }
  }

  #families(): Family[] {
    const bounds = BUCKETS_MS.map((ms) => ms / 1000);
    return [
      ...Object.entries(TOTALS).map(([name, [, help]]): Family => {
        return { name, help, type: "counter", samples: [{ labels: {}, value: this.#totals.get(name)! }] };
      }),
      {
        name: "worker_jobs_processed_total",
        help: "Runs that came to an end, by worker.",
        type: "counter",
        samples: samples(this.#byWorker, "worker"),
      },
      ...(this.#withTenants
        ? [
            {
              name: "tenant_jobs_claimed_total",
              help: 'Jobs claimed, by tenant; the rest of them as tenant "".',
              type: "counter" as const,
              samples: samples(this.#byTenant, "tenant"),
            },
          ]
        : []),
      {
        name: "run_seconds",
        help: "How long runs took, by kind.",
        type: "histogram",
        bounds,
        histograms: histograms(this.#runs),
      },
      {
        name: "wait_seconds",
        help: "From due to start, by kind; sampled above 20 jobs a second and worker.",
        type: "histogram",
        bounds,
        histograms: histograms(this.#waits),
      },
    ];
  }
}

const bump = (totals: Map<string, number>, name: string, by: number) =>
  void totals.set(name, (totals.get(name) ?? 0) + by);

function addUp(
  all: Map<string, { counts: number[]; sum: number }>,
  kind: string,
  counts: readonly number[],
  ms: number,
): void {
  const known = all.get(kind) ?? { counts: new Array<number>(BUCKETS_MS.length + 1).fill(0), sum: 0 };
  for (const [index, count] of counts.entries()) if (index < known.counts.length) known.counts[index]! += count;
  known.sum += ms / 1000;
  all.set(kind, known);
}

const samples = (totals: ReadonlyMap<string, number>, label: string) =>
  [...totals].map(([name, value]) => ({ labels: { [label]: name }, value }));

const histograms = (all: ReadonlyMap<string, { counts: number[]; sum: number }>): Histogram[] =>
  [...all].map(([kind, { counts, sum }]) => ({ labels: { kind }, counts: [...counts], sum }));
