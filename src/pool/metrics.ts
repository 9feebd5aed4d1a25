// The figures of children under the names that monitoring knows them by.
import type { ChildFacts } from "./child.js";

export interface Metric {
  readonly name: "worker.cpu" | "worker.memory" | "worker.uptime" | "worker.jobs_processed";
  readonly type: "gauge" | "counter";
  readonly unit: "cores" | "bytes" | "seconds" | "jobs";
  readonly child: number;
  readonly value: number;
}

/** Of children that have a process. */
export function metricsOf(children: readonly ChildFacts[]): Metric[] {
  return children
    .filter(({ pid }) => pid !== null)
    .flatMap(({ number: child, cpu, memoryBytes, uptimeMs, jobsProcessed }): Metric[] => [
      { name: "worker.cpu", type: "gauge", unit: "cores", child, value: cpu },
      { name: "worker.memory", type: "gauge", unit: "bytes", child, value: memoryBytes },
      { name: "worker.uptime", type: "counter", unit: "seconds", child, value: uptimeMs / 1_000 },
      { name: "worker.jobs_processed", type: "counter", unit: "jobs", child, value: jobsProcessed },
    ]);
}
