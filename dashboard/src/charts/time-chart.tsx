// Lines and stacked areas over time, as SVG: its colours are tokens, its text is text. A crosshair tells the values of one time; the
// same values are in the legend for the last one. Points are few (the server cuts time into buckets), so no canvas is needed.
import { useState } from "preact/hooks";
import { compact } from "../format/numbers";
import { clock, day, minute } from "../format/times";
import { areaPath, knownRuns, latestOf, linePath, stepLine } from "./paths";
import { linear, timeTicks, valueTicks } from "./scale";
import { useWidth } from "./width";

export interface Series {
  readonly key: string;
  readonly label: string;
  /** A class that sets `color`. */
  readonly tone: string;
  readonly values: readonly (number | null)[];
  readonly as: "line" | "step" | "stack" | "area";
  readonly dashed?: boolean;
}

export interface ChartMark {
  readonly at: number;
  readonly label: string;
  readonly tone?: string;
}

export interface TimeChartProps {
  readonly label: string;
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly marks?: readonly ChartMark[];
  readonly height?: number;
  readonly write?: (value: number | null | undefined) => string;
  readonly wholeNumbers?: boolean;
  /** The end of the axis, where it has one. */
  readonly top?: number;
  readonly legend?: boolean;
}

const RIGHT = 12;
const TOP = 10;
const BOTTOM = 22;

export function TimeChart(props: TimeChartProps) {
  const { times, series, height = 200, write = compact, marks = [] } = props;
  const [frame, width] = useWidth();
  const [hover, setHover] = useState<number | null>(null);
  const sums = stackSums(times.length, series);
  const ticks = valueTicks(props.top ?? highest(series, sums), height < 130 ? 2 : 4, props.wholeNumbers);
  const left = 14 + Math.max(...ticks.map((tick) => write(tick).length)) * 6.6;
  const from = times[0] ?? 0;
  const to = times.at(-1) ?? 1;
  const x = linear(from, to, left, width - RIGHT);
  const y = linear(0, ticks.at(-1)!, height - BOTTOM, TOP);
  const xs = times.map(x);
  const shown = hover !== null && hover < times.length ? hover : null;
  const move = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const share = (event.clientX - box.left - left) / Math.max(1, width - RIGHT - left);
    setHover(Math.max(0, Math.min(times.length - 1, Math.round(share * (times.length - 1)))));
  };
  return (
    <figure class="chart">
      <div class="plot" ref={frame}>
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`${props.label}. ${spoken(props)}`}
          onPointerMove={move}
          onPointerLeave={() => setHover(null)}
        >
          {ticks.map((tick) => (
            <g key={tick}>
              <line class="grid-line" x1={left} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
              <text class="tick" x={left - 8} y={y(tick) + 4} text-anchor="end">
                {write(tick)}
              </text>
            </g>
          ))}
          {timeTicks(from, to, Math.max(2, Math.floor((width - left) / 84))).map((tick) => (
            <text
              key={tick.at}
              class="tick"
              x={x(tick.at)}
              y={height - 5}
              text-anchor={x(tick.at) > width - 30 ? "end" : "middle"}
            >
              {tick.label}
            </text>
          ))}
          {marks
            .filter((mark) => mark.at >= from && mark.at <= to)
            .map((mark) => (
              <g key={`${mark.at}${mark.label}`} class={`chart-mark ${mark.tone ?? ""}`}>
                <line x1={x(mark.at)} x2={x(mark.at)} y1={TOP} y2={height - BOTTOM} />
                <path d={`M${x(mark.at) - 4} ${TOP - 5}h8l-4 6z`} />
                <title>{`${mark.label}, ${clock(mark.at)}`}</title>
              </g>
            ))}
          {series.map((one) => (
            <SeriesPath key={one.key} one={one} xs={xs} y={y} sums={sums} />
          ))}
          {shown !== null && <line class="crosshair" x1={xs[shown]} x2={xs[shown]} y1={TOP} y2={height - BOTTOM} />}
        </svg>
        {shown !== null && <Tooltip {...props} write={write} index={shown} left={xs[shown]!} width={width} />}
      </div>
      {props.legend !== false && <Legend series={series} write={write} index={shown} />}
    </figure>
  );
}

interface PathProps {
  readonly one: Series;
  readonly xs: readonly number[];
  readonly y: (value: number) => number;
  readonly sums: ReadonlyMap<string, { low: number[]; high: number[] }>;
}

function SeriesPath({ one, xs, y, sums }: PathProps) {
  const stacked = sums.get(one.key);
  if (stacked) {
    const runs = knownRuns(xs.length, (index) => one.values[index] != null);
    const paths = runs.map(([from, to]) =>
      areaPath(xs.slice(from, to), stacked.low.slice(from, to).map(y), stacked.high.slice(from, to).map(y)),
    );
    return <path class={`area stacked ${one.tone}`} d={paths.join("")} />;
  }
  const ys = one.values.map((value) => (value === null ? null : y(value)));
  if (one.as === "step") return <path class={`line ${one.tone}`} d={stepLine(xs, xs.at(-1) ?? 0, ys)} />;
  const washes = knownRuns(xs.length, (index) => ys[index] != null).map(([from, to]) =>
    areaPath(
      xs.slice(from, to),
      xs.slice(from, to).map(() => y(0)),
      ys.slice(from, to) as number[],
    ),
  );
  return (
    <>
      {one.as === "area" && <path class={`area wash ${one.tone}`} d={washes.join("")} />}
      <path class={`line ${one.dashed ? "dashed " : ""}${one.tone}`} d={linePath(xs, ys)} />
    </>
  );
}

function stackSums(length: number, series: readonly Series[]) {
  const sums = new Map<string, { low: number[]; high: number[] }>();
  let low = new Array<number>(length).fill(0);
  for (const one of series) {
    if (one.as !== "stack") continue;
    const high = low.map((value, index) => value + Math.max(0, one.values[index] ?? 0));
    sums.set(one.key, { low, high });
    low = high;
  }
  return sums;
}

function highest(series: readonly Series[], sums: ReadonlyMap<string, { high: number[] }>): number {
  let max = 0;
  for (const one of series) for (const value of sums.get(one.key)?.high ?? one.values) max = Math.max(max, value ?? 0);
  return max;
}

const spoken = ({ series, write = compact }: TimeChartProps): string =>
  `Latest: ${series.map((one) => `${one.label} ${write(latestOf(one.values))}`).join(", ")}.`;

function Tooltip(
  props: TimeChartProps & {
    index: number;
    left: number;
    width: number;
    write: (value: number | null | undefined) => string;
  },
) {
  const time = props.times[props.index]!;
  const span = (props.times.at(-1) ?? 0) - (props.times[0] ?? 0);
  const onRight = props.left < props.width / 2;
  return (
    <div class={`tooltip ${onRight ? "" : "flip"}`} style={{ left: `${props.left + (onRight ? 10 : -10)}px` }}>
      <strong>{span > 86_400_000 ? `${day(time)} ${minute(time)}` : clock(time)}</strong>
      {props.series
        .filter((one) => (one.values[props.index] ?? 0) > 0 || props.series.length < 5)
        .map((one) => (
          <div key={one.key} class="row spread">
            <span class="row">
              <i class={`swatch ${one.tone}`} /> {one.label}
            </span>
            <span class="num">{props.write(one.values[props.index])}</span>
          </div>
        ))}
    </div>
  );
}

const Legend = ({
  series,
  write,
  index,
}: {
  series: readonly Series[];
  write: (v: number | null | undefined) => string;
  /** null: the last that is known of each. */
  index: number | null;
}) => (
  <figcaption class="legend">
    {series.map((one) => (
      <span key={one.key} class="row">
        <i class={`swatch ${one.as === "stack" ? "" : "thin"} ${one.tone}`} />
        {one.label}
        <b class="num">{write(index === null ? latestOf(one.values) : one.values[index])}</b>
      </span>
    ))}
  </figcaption>
);
