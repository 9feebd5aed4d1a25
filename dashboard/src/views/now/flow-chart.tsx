import { TimeChart } from "../../charts/time-chart";
import { rate } from "../../format/numbers";
import { marksOf } from "../marks";
import type { SeriesAnswer } from "./now-view";
import { isEven, ON_ITS_WAY_S } from "./trend";

const LINES = [
  ["jobs.in", "In", "c-accent", "area"],
  ["jobs.out", "Out", "c-done", "line"],
  ["jobs.failed", "Failed", "c-dead", "line"],
] as const;

/** `waiting`: how many jobs wait now; undefined: not known. */
export function FlowChart({ answer, waiting }: { answer: SeriesAnswer; waiting?: number | undefined }) {
  const series = LINES.flatMap(([name, label, tone, as]) => {
    const found = answer.items.find((item) => item.name === name)?.lines[0];
    return found ? [{ key: name, label, tone, as, values: found.values, dashed: name === "jobs.failed" }] : [];
  });
  if (series.every(({ values }) => values.every((value) => value === null)))
    return <p class="quiet">Nothing was recorded in this time.</p>;
  return (
    <>
      <p class="verdict">{balance(answer, waiting)}</p>
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

/**
 * Whether more comes than goes, over the last points at which both are known: one alone says little. Nor does a difference that chance
 * makes, or one that nothing waits behind.
 */
export function balance({ items }: Pick<SeriesAnswer, "items">, waiting?: number): string {
  const lineOf = (name: string) => {
    const item = items.find((one) => one.name === name);
    return { values: item?.lines[0]?.values ?? [], stepMs: item?.stepMs ?? 0 };
  };
  const [come, go] = [lineOf("jobs.in"), lineOf("jobs.out")];
  const both = come.values
    .flatMap((value, index) => {
      const left = go.values[index];
      return value === null || left === null || left === undefined ? [] : [{ entered: value, left }];
    })
    .slice(-POINTS);
  if (both.length === 0) return "Too little is on record yet to compare them.";
  const mean = (of: (point: (typeof both)[number]) => number) =>
    both.reduce((sum, point) => sum + of(point), 0) / both.length;
  const [entered, left] = [mean((point) => point.entered), mean((point) => point.left)];
  if (entered === 0 && left === 0) return "No job came or went lately.";
  const gap = entered - left;
  const isShort = waiting !== undefined && waiting < ON_ITS_WAY_S * entered;
  if (isShort || isEven(entered, left, (both.length * come.stepMs) / 1000)) return "As many go as come.";
  return gap > 0
    ? `${rate(gap)} a second more come than go: the backlog grows.`
    : `${rate(-gap)} a second more go than come: the backlog shrinks.`;
}

const POINTS = 4;
