// Scales and axes: nice numbers for values, nice times for time.
import { clock, day, minute, tenth } from "../format/times";

export type Scale = (value: number) => number;

export const linear =
  (fromLow: number, fromHigh: number, toLow: number, toHigh: number): Scale =>
  (value) =>
    fromHigh === fromLow ? toLow : toLow + ((value - fromLow) / (fromHigh - fromLow)) * (toHigh - toLow);

/** The smallest of 1, 2, 5 times a power of ten that makes at most so many steps. */
function niceStep(span: number, steps: number, whole: boolean): number {
  const rough = span / Math.max(1, steps);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? rough;
  return whole ? Math.max(1, Math.round(step)) : step;
}

/** Ticks from zero to at least `max`; the last one is the top of the axis. */
export function valueTicks(max: number, steps = 4, whole = false): number[] {
  if (!(max > 0) || !Number.isFinite(max)) return [0, 1];
  const step = niceStep(max, steps, whole);
  const last = Math.ceil(max / step - 1e-9);
  return Array.from({ length: last + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

const S = 1000;
const M = 60 * S;
const H = 60 * M;
const STEPS = [
  S / 10,
  S / 5,
  S / 2,
  S,
  2 * S,
  5 * S,
  10 * S,
  15 * S,
  30 * S,
  M,
  2 * M,
  5 * M,
  10 * M,
  15 * M,
  30 * M,
  H,
  2 * H,
  3 * H,
  6 * H,
  12 * H,
  24 * H,
  48 * H,
  168 * H,
];

export interface TimeTick {
  readonly at: number;
  readonly label: string;
}

export function timeTicks(from: number, to: number, wanted: number): TimeTick[] {
  if (!(to > from)) return [];
  const step = STEPS.find((candidate) => (to - from) / candidate <= wanted) ?? STEPS.at(-1)!;
  const zone = new Date(from).getTimezoneOffset() * M;
  const first = Math.ceil((from - zone) / step) * step + zone;
  const label = step >= 24 * H ? day : step >= M ? minute : step >= S ? clock : tenth;
  const ticks: TimeTick[] = [];
  for (let at = first; at <= to; at += step) ticks.push({ at, label: label(at) });
  return ticks;
}
