// A span of time cut into what it was spent on.
import { duration } from "../format/times";

const TIME_PARTS = {
  delayed: ["Delayed as asked", "w-scheduled"],
  turn: ["Waited for its turn", "w-ready"],
  limits: ["Waited for limits", "w-limit"],
  worker: ["Waited for a worker", "w-worker"],
  retried: ["Between attempts", "w-retry"],
  slept: ["Slept", "w-sleep"],
  ran: ["Ran", "w-ran"],
} as const;

export type TimePart = keyof typeof TIME_PARTS;
export type TimeSplit = Partial<Record<TimePart, number>>;

export function TimeBar({ parts, label, share = 1 }: { parts: TimeSplit; label: string; share?: number }) {
  const shown = (Object.keys(TIME_PARTS) as TimePart[]).flatMap((part) =>
    (parts[part] ?? 0) > 0 ? [[part, parts[part]!] as const] : [],
  );
  const spoken = shown.map(([part, ms]) => `${TIME_PARTS[part][0]} ${duration(ms)}`).join(", ");
  return (
    <span
      class="timebar"
      role="img"
      aria-label={`${label}: ${spoken || "no time"}`}
      style={{ width: `${Math.max(1, share * 100)}%` }}
    >
      {shown.map(([part, ms]) => (
        <i
          key={part}
          class={TIME_PARTS[part][1]}
          style={{ flexGrow: String(Math.max(1, ms)) }}
          title={`${TIME_PARTS[part][0]}: ${duration(ms)}`}
        />
      ))}
    </span>
  );
}

export const TimeLegend = ({ parts }: { parts?: TimeSplit }) => (
  <div class="legend">
    {(Object.keys(TIME_PARTS) as TimePart[])
      .filter((part) => (parts ? (parts[part] ?? 0) > 0 : part !== "delayed"))
      .map((part) => (
        <span key={part} class="row">
          <i class={`swatch ${TIME_PARTS[part][1]}`} />
          {TIME_PARTS[part][0]}
          {parts && <b class="num">{duration(parts[part])}</b>}
        </span>
      ))}
  </div>
);
