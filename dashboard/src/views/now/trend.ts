// Which way the backlog goes, in a few words under a figure.
import type { Now } from "../../data/contract";
import { coarse } from "../../format/times";

/** What the figures are means of. */
const WINDOW_S = 300;

/** Whether two rates differ by no more than a twentieth, or than chance makes in so long: twice the square root of the number of jobs. */
export function isEven(entered: number, left: number, seconds: number): boolean {
  const chance = seconds > 0 ? (2 * Math.sqrt((entered + left) * seconds)) / seconds : 0;
  return Math.abs(entered - left) < Math.max(0.05, 0.05 * Math.max(entered, left), chance);
}

/** What comes in this time is on its way, and no backlog. */
export const ON_ITS_WAY_S = 5;

export function trend({
  inPerSecond,
  outPerSecond,
  ready,
}: Pick<Now, "inPerSecond" | "outPerSecond" | "ready">): string {
  if (inPerSecond === null && outPerSecond === null) return "no interval records";
  if (ready.count === 0) return "nothing waits";
  if (inPerSecond === null || outPerSecond === null) return "not known long enough";
  if (ready.count < ON_ITS_WAY_S * inPerSecond) return "nothing waits for long";
  if (isEven(inPerSecond, outPerSecond, WINDOW_S)) return "in balance";
  const gain = outPerSecond - inPerSecond;
  if (gain > 0) return `backlog gone in ${coarse((ready.count / gain) * 1000)}`;
  return "the backlog grows";
}
