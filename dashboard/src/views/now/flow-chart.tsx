import { TimeChart } from "../../charts/time-chart";
import { rate } from "../../format/numbers";
import { marksOf } from "../marks";
import type { SeriesAnswer } from "./now-view";

const LINES = [
  ["jobs.in", "In", "c-accent", "area"],
  ["jobs.out", "Out", "c-done", "line"],
  ["jobs.failed", "Failed", "c-dead", "line"],
] as const;

export function FlowChart({ answer }: { answer: SeriesAnswer }) {
  const series = LINES.flatMap(([name, label, tone, as]) => {
    const found = answer.items.find((item) => item.name === name)?.lines[0];
    return found ? [{ key: name, label, tone, as, values: found.values, dashed: name === "jobs.failed" }] : [];
  });
  if (series.every(({ values }) => values.every((value) => value === null)))
    return <p class="quiet">Nothing was recorded in this time.</p>;
  return (
    <>
      <p class="verdict">{balance(answer)}</p>
      <TimeChart
        label="Jobs per second, in and out"
        times={answer.items[0]?.times ?? []}
        series={series}
        marks={marksOf(answer.marks)}
        write={rate}
        height={210}
      />
    </>
  );
}

/** Whether more comes than goes, over the last points: one alone says little. */
export function balance({ items }: Pick<SeriesAnswer, "items">): string {
  const mean = (name: string): number | null => {
    const known = (items.find((item) => item.name === name)?.lines[0]?.values ?? []).slice(-POINTS).filter(isKnown);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
  };
  const [entered, left] = [mean("jobs.in"), mean("jobs.out")];
  if (entered === null || left === null) return "Nothing was recorded in this time.";
  if (entered === 0 && left === 0) return "No job came or went lately.";
  const gap = entered - left;
  if (Math.abs(gap) < Math.max(0.05, 0.05 * Math.max(entered, left))) return "As many go as come.";
  return gap > 0
    ? `${rate(gap)} a second more come than go: the backlog grows.`
    : `${rate(-gap)} a second more go than come: the backlog shrinks.`;
}

const POINTS = 4;
const isKnown = (value: number | null): value is number => value !== null;
