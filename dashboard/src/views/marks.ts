import type { ChartMark } from "../charts/time-chart";
import type { Mark } from "../data/contract";

/** Deployments and changes, on every chart over time. */
export const marksOf = (marks: readonly Mark[]): ChartMark[] =>
  marks.map((mark) => ({ at: mark.at, label: `${mark.kind}: ${mark.label}`, tone: `mark-${mark.kind}` }));
