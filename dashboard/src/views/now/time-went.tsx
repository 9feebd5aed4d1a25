// Where the time went: one bar per kind, from enqueue to end, in the colours of the reasons.
import type { TimeRow } from "../../data/contract";
import { many } from "../../format/numbers";
import { duration } from "../../format/times";
import { Empty } from "../../parts/states";
import { TimeBar, TimeLegend } from "../time-bar";

export function TimeWent({ rows }: { rows: readonly TimeRow[] }) {
  if (rows.length === 0) return <Empty icon="schedules" title="No job ended in this time" />;
  const parts = rows.map((row) => ({ row, each: Math.max(1, row.jobs), sum: sumOf(row) / Math.max(1, row.jobs) }));
  const longest = Math.max(...parts.map(({ sum }) => sum), 1);
  return (
    <div class="stack tight">
      <TimeLegend />
      <ul class="time-rows">
        {parts
          .sort((a, b) => b.sum - a.sum)
          .map(({ row, each, sum }) => (
            <li key={row.key}>
              <span class="clip" title={row.key}>
                {row.key}
              </span>
              <TimeBar share={sum / longest} label={row.key} parts={splitOf(row, each)} />
              <span class="num">{duration(sum)}</span>
              <span class="num quiet small">{many(row.jobs, "job")}</span>
            </li>
          ))}
      </ul>
    </div>
  );
}

const sumOf = (row: TimeRow): number =>
  row.waitedTurnMs + row.waitedLimitsMs + row.waitedWorkerMs + row.ranMs + row.sleptMs + row.retriedMs;

const splitOf = (row: TimeRow, each: number) => ({
  turn: row.waitedTurnMs / each,
  limits: row.waitedLimitsMs / each,
  worker: row.waitedWorkerMs / each,
  ran: row.ranMs / each,
  slept: row.sleptMs / each,
  retried: row.retriedMs / each,
});
