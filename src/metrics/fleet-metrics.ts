// The metrics of a fleet: the latest figures as gauges, and running totals. Tenants are named only where that is asked for: a label has as many values
// as there are tenants, and their names must not leak.
import type { Database } from "../db/database.js";
import { Counters } from "./counters.js";
import { type Figures, readFigures, WINDOW_MS } from "./figures.js";
import { type Family, gauge, type Sample } from "./metric-family.js";
import { PoolMetrics } from "./pool-metrics.js";

export interface FleetMetricsOptions {
  /** Names tenants in labels; default false. */
  readonly tenants?: boolean;
}

export class FleetMetrics {
  readonly #db: Database;
  readonly #counters: Counters;
  readonly #pools: PoolMetrics;
  readonly #withTenants: boolean;
  /** Two scrapers at once share a look: totals are added up once. */
  #collecting: Promise<readonly Family[]> | undefined;

  constructor(db: Database, options: FleetMetricsOptions = {}) {
    this.#db = db;
    this.#withTenants = options.tenants ?? false;
    this.#pools = new PoolMetrics(db);
    this.#counters = new Counters(db, { withTenants: this.#withTenants });
  }

  collect(): Promise<readonly Family[]> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  async #collect(): Promise<readonly Family[]> {
    const figures = await readFigures(this.#db);
    return [
      ...familiesOf(figures, this.#withTenants),
      ...(await this.#pools.collect()),
      ...(await this.#counters.collect(figures.at)),
    ];
  }
}

const alone = (value: number): Sample[] => [{ labels: {}, value }];
const sec = (ms: number) => ms / 1000;

function familiesOf(figures: Figures, withTenants: boolean): Family[] {
  const { queues, kinds, workers, sums, outbox } = figures;
  const ran = kinds.filter(({ runs }) => runs > 0);
  const waited = kinds.filter(({ waits }) => waits > 0);
  const reported = figures.reported.filter(({ name }) => name !== "api_latency" && name !== "storage_size");
  return [
    gauge(
      "queue_depth",
      "Jobs that are ready, by queue; counted to 1000.",
      queues.map(({ queue, ready }) => ({ labels: { queue }, value: ready })),
    ),
    gauge(
      "queue_depth_at_least",
      "1 where queue_depth is a lower bound.",
      queues.map(({ queue, readyMore }) => ({ labels: { queue }, value: Number(readyMore) })),
    ),
    gauge(
      "queue_running",
      "Jobs that run, by queue.",
      queues.map(({ queue, running }) => ({ labels: { queue }, value: running })),
    ),
    gauge(
      "queue_scheduled",
      "Jobs that are not due yet, of the 10000 that are due first.",
      queues.map(({ queue, scheduled }) => ({ labels: { queue }, value: scheduled })),
    ),
    gauge(
      "queue_blocked",
      "Jobs that wait for a slot of their key, of 10000.",
      queues.map(({ queue, blocked }) => ({ labels: { queue }, value: blocked })),
    ),
    gauge(
      "queue_workers",
      "Living workers that serve the queue.",
      queues.map(({ queue, workers }) => ({ labels: { queue }, value: workers })),
    ),
    gauge(
      "queue_oldest_seconds",
      "How long the oldest ready job has waited, as the last worker that looked saw it.",
      queues.flatMap(({ queue, oldestMs }) => (oldestMs === null ? [] : [{ labels: { queue }, value: sec(oldestMs) }])),
    ),
    gauge(
      "avg_processing_time_seconds",
      "Mean time of a run in the last five minutes, by kind.",
      ran.map(({ kind, runs, runMs }) => ({ labels: { kind }, value: sec(runMs / runs) })),
    ),
    gauge(
      "avg_wait_seconds",
      "Mean time from due to start in the last five minutes, by kind.",
      waited.map(({ kind, waits, waitMs }) => ({ labels: { kind }, value: sec(waitMs / waits) })),
    ),
    gauge(
      "error_rate",
      "Part of the runs of the last five minutes that failed, by kind.",
      ran.map(({ kind, runs, failed }) => ({ labels: { kind }, value: failed / runs })),
    ),
    gauge(
      "longest_run_seconds",
      "How long the job that has run longest has run, by kind.",
      figures.longest.map(({ kind, ms }) => ({ labels: { kind }, value: sec(ms) })),
    ),
    gauge(
      "api_latency_seconds",
      "Mean latency of a provider in the last five minutes (api_latency_<provider>).",
      figures.reported
        .filter(({ name }) => name === "api_latency")
        .map(({ label, sum, count }) => ({ labels: { provider: label }, value: sum / count })),
    ),
    gauge(
      "storage_size_bytes",
      "What is stored, as the application reported it last.",
      figures.reported
        .filter(({ name }) => name === "storage_size")
        .map(({ label, last }) => ({ labels: { store: label }, value: last })),
    ),
    gauge(
      "reported",
      "Other figures that applications report: the mean of five minutes.",
      reported.map(({ name, label, sum, count }) => ({ labels: { name, label }, value: sum / count })),
    ),
    gauge("database_size_bytes", "Size of the whole database.", alone(figures.databaseBytes)),
    gauge("workers", "Living workers.", alone(workers.length)),
    gauge(
      "capacity",
      "Jobs that the living workers can run at once.",
      alone(workers.reduce((sum, { capacity }) => sum + capacity, 0)),
    ),
    gauge(
      "worker_cpu",
      "Part of one core that the worker's process used since its last heartbeat (worker.cpu).",
      workers.flatMap(({ worker, cpu }) => (cpu === null ? [] : [{ labels: { worker }, value: cpu }])),
    ),
    gauge(
      "worker_memory_bytes",
      "Resident memory of the worker's process (worker.memory).",
      workers.flatMap(({ worker, memoryBytes }) =>
        memoryBytes === null ? [] : [{ labels: { worker }, value: memoryBytes }],
      ),
    ),
    gauge(
      "worker_uptime_seconds",
      "How long the worker has lived (worker.uptime).",
      workers.map(({ worker, uptimeMs }) => ({ labels: { worker }, value: sec(uptimeMs) })),
    ),
    gauge(
      "worker_running",
      "Jobs that the worker runs.",
      workers.map(({ worker, running }) => ({ labels: { worker }, value: running })),
    ),
    gauge(
      "jobs_per_second",
      "Runs that ended, a second, over the last five minutes.",
      alone(sums.processed / sec(WINDOW_MS)),
    ),
    gauge(
      "throttled",
      "Jobs that limits kept waiting, summed over the interval records of the last five minutes.",
      alone(sums.throttled),
    ),
    gauge("outbox_unknown", "Messages whose fate is not known, up to 1000.", alone(outbox.unknown)),
    gauge("outbox_lag_seconds", "Age of the oldest message that is not sent.", alone(sec(outbox.oldestMs))),
    gauge("schedules_overdue", "Schedules that should have ticked.", alone(figures.overdue.length)),
    gauge(
      "schedule_overdue_seconds",
      "How long ago a schedule should have ticked.",
      figures.overdue.map(({ schedule, ms }) => ({ labels: { schedule }, value: sec(ms) })),
    ),
    gauge(
      "oldest_transaction_seconds",
      "Age of the oldest transaction, which holds the vacuum horizon.",
      alone(sec(figures.oldestTransactionMs)),
    ),
    gauge(
      "notification_queue_usage",
      "How full PostgreSQL's queue of notifications is, 0 to 1.",
      alone(figures.notificationQueue),
    ),
    ...(withTenants
      ? [
          gauge(
            "tenant_jobs_claimed",
            "Jobs claimed in the last five minutes, of the tenants with most.",
            figures.tenants.map(({ tenant, claimed }) => ({ labels: { tenant }, value: claimed })),
          ),
          gauge(
            "tenant_avg_wait_seconds",
            "Mean time from due to start in the last five minutes.",
            figures.tenants
              .filter(({ waits }) => waits > 0)
              .map(({ tenant, waits, waitMs }) => ({ labels: { tenant }, value: sec(waitMs / waits) })),
          ),
        ]
      : []),
  ];
}
