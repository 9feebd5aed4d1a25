// Bars on a time axis: attempts of a job, nodes of a flow. Rows have words on the left, so that no colour needs to be known.
import { duration } from "../format/times";
import { linear, timeTicks } from "./scale";
import { useWidth } from "./width";

export interface GanttBar {
  readonly from: number;
  readonly to: number;
  readonly tone: string;
  readonly label: string;
  readonly hatched?: boolean;
}

export interface GanttRow {
  readonly key: string;
  readonly name: string;
  readonly bars: readonly GanttBar[];
  readonly strong?: boolean;
}

const ROW = 26;

export function Gantt({
  rows,
  from,
  to,
  label,
}: {
  rows: readonly GanttRow[];
  from: number;
  to: number;
  label: string;
}) {
  const [frame, width] = useWidth();
  const left = Math.min(170, Math.max(84, width * 0.22));
  const end = to > from ? to : from + 1;
  const x = linear(from, end, left, width - 78);
  const height = rows.length * ROW + 24;
  const fits = Math.floor((left - 12) / 6.4);
  return (
    <div class="plot" ref={frame}>
      <svg class="hatch-ready" width={width} height={height} role="img" aria-label={label}>
        <Hatch />
        {timeTicks(from, end, Math.max(2, Math.floor((width - left) / 90))).map((tick) => (
          <g key={tick.at}>
            <line class="grid-line" x1={x(tick.at)} x2={x(tick.at)} y1={0} y2={height - 20} />
            <text class="tick" x={x(tick.at)} y={height - 5} text-anchor="middle">
              {tick.label}
            </text>
          </g>
        ))}
        {rows.map((row, index) => (
          <g key={row.key} transform={`translate(0 ${index * ROW})`}>
            <text class={row.strong ? "gantt-name strong" : "gantt-name"} x={0} y={17}>
              {row.name.length > fits ? `${row.name.slice(0, Math.max(1, fits - 1))}…` : row.name}
              <title>{row.name}</title>
            </text>
            {row.bars.map((bar) => (
              <g key={`${bar.from}${bar.label}`}>
                <rect
                  class={`bar ${bar.tone}${bar.hatched ? " hatched" : ""}`}
                  x={x(bar.from)}
                  y={6}
                  rx={3}
                  width={Math.max(2, x(bar.to) - x(bar.from))}
                  height={14}
                >
                  <title>{`${bar.label}: ${duration(bar.to - bar.from)}`}</title>
                </rect>
              </g>
            ))}
            {row.bars.length > 0 && (
              <text class="tick" x={x(row.bars.at(-1)!.to) + 6} y={17}>
                {duration(Math.max(0, row.bars.at(-1)!.to - row.bars[0]!.from))}
              </text>
            )}
          </g>
        ))}
      </svg>
    </div>
  );
}

/** Stripes for what was not served; the colour is the one of the text. */
export const Hatch = () => (
  <defs>
    <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect class="hatch-back" width="5" height="5" />
      <rect class="hatch-stripe" width="2" height="5" />
    </pattern>
  </defs>
);
