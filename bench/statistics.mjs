// Time and numbers: the clock that processes share, medians, quantiles.
import { setTimeout } from "node:timers/promises";

/** Milliseconds of the monotonic clock, which is the same in every process of the machine. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;

export const sleep = (ms) => setTimeout(ms);

export const median = (values) => quantile(values, 0.5);

/** The value below which this part of the values lies; undefined when there are none. */
export function quantile(values, part) {
  const sorted = Float64Array.from(values).sort();
  if (part !== 0.5) return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** Divides round by round, because what disturbs a machine disturbs neighbours in time alike; then the median. */
export const ratioOf = (values, others) => median(values.map((value, round) => value / others[round]));
