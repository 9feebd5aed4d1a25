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
      <p class="verdict">{verdict(backlog)}</p>
      <TimeChart
        label="Jobs that wait, by reason"
        times={backlog.times}
        series={series}
        marks={marksOf(backlog.marks)}
        height={height ?? 210}
        wholeNumbers
      />
    </>
  );
}

/** These wait because they were meant to. */
const AS_MEANT: readonly string[] = ["scheduled", "sleeping", "retrying", "waiting for a signal"];

/** What most of those wait for that are due, and what would help. */
export function verdict({ reasons, atLeast }: Pick<Backlog, "reasons" | "atLeast">): string {
  const last = reasons.map(({ reason, values }) => ({ reason, value: values.at(-1) ?? 0 }));
  const sum = (all: typeof last) => all.reduce((total, { value }) => total + value, 0);
  if (sum(last) === 0) return "Nothing waits now.";
  const due = last.filter(({ reason }) => !AS_MEANT.includes(reason));
  if (sum(due) === 0) return "Nothing that is due waits: the others have their time still before them.";
  const top = due.reduce((a, b) => (b.value > a.value ? b : a));
  const { label, advice } = reasonOf(top.reason);
  const part = `${percent(top.value / sum(due))} of what is due: ${label.toLowerCase()}`;
  return `${part}${advice ? `; ${advice}` : ""}.${atLeast.at(-1) ? " Counts are lower bounds." : ""}`;
}
