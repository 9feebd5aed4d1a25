// From the figures of the fleet to samples that rules look at: of each figure a value for every subject.
import type { Figures } from "../metrics/figures.js";

export interface AlertSample {
  /** A queue, a kind, a provider, a worker …; "" where there is only one. */
  readonly subject: string;
  readonly value: number;
  /** What to look at: "job 17". */
  readonly detail?: string;
}

export type AlertSamples = Readonly<Record<AlertMetric, readonly AlertSample[]>>;

export const UNITS = {
  longest_run: "s",
  queue_depth: "jobs",
  avg_processing_time: "s",
  avg_wait: "s",
  error_rate: "ratio",
  api_latency: "s",
  storage_size: "bytes",
  database_size: "bytes",
  schedule_overdue: "s",
  budget_soft: "ratio",
  outbox_unknown: "messages",
  outbox_lag: "s",
  unserved_jobs: "jobs",
  tick_duration: "s",
  lock_contention: "contentions",
  jobs_per_tick: "jobs",
  worker_queue_depth: "jobs",
  worker_memory: "bytes",
  worker_cpu: "ratio",
  workers: "workers",
  throttled: "jobs",
  leases_lost: "leases",
  recovered: "jobs",
  dead: "jobs",
  oldest_transaction: "s",
  notification_queue: "ratio",
  reported: "",
} as const;

export type AlertMetric = keyof typeof UNITS;
export const ALERT_METRICS = Object.keys(UNITS) as AlertMetric[];

/** Fewer runs say nothing about how many fail. */
const RUNS_MIN = 10;

export function samplesOf(figures: Figures): AlertSamples {
  const { queues, kinds, health, workers, sums } = figures;
  const seconds = (ms: number) => ms / 1000;
  const alone = (value: number): AlertSample[] => [{ subject: "", value }];
  const reported = (name: string) => figures.reported.filter((one) => one.name === name);
  const ticks = health.filter(({ mode }) => mode === "tick");
  return {
    longest_run: figures.longest.map(({ kind, job, ms }) => ({
      subject: kind,
      value: seconds(ms),
      detail: `job ${job}`,
    })),
    queue_depth: queues.map(({ queue, ready, readyMore }) => ({
      subject: queue,
      value: ready,
      ...(readyMore && { detail: "at least" }),
    })),
    avg_processing_time: kinds
      .filter(({ runs }) => runs > 0)
      .map(({ kind, runs, runMs }) => ({ subject: kind, value: seconds(runMs / runs) })),
    avg_wait: kinds
      .filter(({ waits }) => waits > 0)
      .map(({ kind, waits, waitMs }) => ({ subject: kind, value: seconds(waitMs / waits) })),
    error_rate: kinds
      .filter(({ runs }) => runs >= RUNS_MIN)
      .map(({ kind, runs, failed }) => ({ subject: kind, value: failed / runs, detail: `${failed} of ${runs} runs` })),
    api_latency: reported("api_latency").map(({ label, sum, count }) => ({ subject: label, value: sum / count })),
    storage_size: reported("storage_size").map(({ label, last }) => ({ subject: label, value: last })),
    database_size: alone(figures.databaseBytes),
    schedule_overdue: figures.overdue.map(({ schedule, ms }) => ({ subject: schedule, value: seconds(ms) })),
    budget_soft: figures.budgets.map(({ budget, ratio, spent }) => ({ subject: budget, value: ratio, detail: spent })),
    outbox_unknown: alone(figures.outbox.unknown),
    outbox_lag: alone(seconds(figures.outbox.oldestMs)),
    // A queue that was paused on purpose needs no worker.
    unserved_jobs: queues
      .filter(({ workers: serving, isPaused }) => serving === 0 && !isPaused)
      .map(({ queue, ready }) => ({ subject: queue, value: ready })),
    tick_duration: ticks.map(({ worker, avgTickMs }) => ({ subject: worker, value: seconds(avgTickMs) })),
    lock_contention: health.map(({ worker, contention, ticks: count }) => ({
      subject: worker,
      value: contention / Math.max(1, count),
    })),
    jobs_per_tick: ticks.map(({ worker, jobsPerTick }) => ({ subject: worker, value: jobsPerTick })),
    worker_queue_depth: health.flatMap(({ worker, queueDepth }) =>
      queueDepth === null ? [] : [{ subject: worker, value: queueDepth }],
    ),
    worker_memory: workers.flatMap(({ worker, memoryBytes }) =>
      memoryBytes === null ? [] : [{ subject: worker, value: memoryBytes }],
    ),
    worker_cpu: workers.flatMap(({ worker, cpu }) => (cpu === null ? [] : [{ subject: worker, value: cpu }])),
    workers: alone(workers.length),
    throttled: alone(sums.throttled),
    leases_lost: alone(sums.leasesLost),
    recovered: alone(sums.recovered),
    dead: alone(sums.dead),
    oldest_transaction: alone(seconds(figures.oldestTransactionMs)),
    notification_queue: alone(figures.notificationQueue),
    reported: figures.reported
      .filter(({ name }) => !name.startsWith("fleet.") && name !== "api_latency" && name !== "storage_size")
      .map(({ name, label, sum, count }) => ({
        subject: label === "" ? name : `${name} ${label}`,
        value: sum / count,
      })),
  };
}
