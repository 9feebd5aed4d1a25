import type { BatchRow } from "../../data/contract";
import { count } from "../../format/numbers";

/** Done, dead and live as one bar and in words. */
export function ProgressBar({ row }: { row: BatchRow }) {
  const all = Math.max(1, row.done + row.dead + row.cancelled + row.live.count);
  const parts = [
    ["f-done", row.done],
    ["f-dead", row.dead],
    ["f-cancelled", row.cancelled],
    ["w-paused", row.live.count],
  ] as const;
  return (
    <span class="row">
      <span class="timebar slim" aria-hidden="true">
        {parts.map(
          ([tone, jobs]) => jobs > 0 && <i key={tone} class={tone} style={{ flexGrow: String(jobs / all) }} />,
        )}
      </span>
      <span class="num small">
        {count(row.done)} of {count(row.done + row.dead + row.cancelled + row.live.count)}
        {row.live.more && "+"}
        {row.dead > 0 && <span class="c-dead">, {count(row.dead)} dead</span>}
      </span>
    </span>
  );
}
