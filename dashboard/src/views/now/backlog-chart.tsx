// Why for the whole backlog: one stacked area. It says at a glance whether workers are missing or a limit is too low.
import { TimeChart } from "../../charts/time-chart";
import type { Backlog } from "../../data/contract";
import { percent } from "../../format/numbers";
import { marksOf } from "../marks";
import { REASON_ORDER, reasonOf } from "../reasons";

export function BacklogChart({ backlog, height }: { backlog: Backlog; height?: number }) {
  const known = backlog.reasons.filter(({ values }) => values.some((value) => (value ?? 0) > 0));
  const series = [...known]
    .sort((a, b) => REASON_ORDER.indexOf(a.reason) - REASON_ORDER.indexOf(b.reason))
    .map(({ reason, values }) => ({
      key: reason,
      label: reasonOf(reason).label,
      tone: reasonOf(reason).tone,
      values,
      as: "stack" as const,
    }));
  if (series.length === 0) return <p class="quiet">Nothing waited in this time.</p>;
  return (
    <>
      <TimeChart
        label="Jobs that wait, by reason"
        times={backlog.times}
        series={series}
        marks={marksOf(backlog.marks)}
        height={height ?? 200}
        wholeNumbers
      />
      <p class="verdict small">{verdict(backlog)}</p>
    </>
  );
}

/** The largest reason of the last bucket, and what would help. */
function verdict({ reasons, atLeast }: Backlog): string {
  const last = reasons.map(({ reason, values }) => ({ reason, value: values.at(-1) ?? 0 }));
  const sum = last.reduce((total, { value }) => total + value, 0);
  if (sum === 0) return "Nothing waits now.";
  const top = last.reduce((a, b) => (b.value > a.value ? b : a));
  const { label, advice } = reasonOf(top.reason);
  return `${percent(top.value / sum)} of what waits: ${label.toLowerCase()}${advice ? ` — ${advice}` : ""}.${atLeast.at(-1) ? " Counts are lower bounds." : ""}`;
}
