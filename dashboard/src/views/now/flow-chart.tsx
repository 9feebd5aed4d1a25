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
  return (
    <TimeChart
      label="Jobs per second, in and out"
      times={answer.items[0]?.times ?? []}
      series={series}
      marks={marksOf(answer.marks)}
      write={rate}
      height={244}
    />
  );
}
