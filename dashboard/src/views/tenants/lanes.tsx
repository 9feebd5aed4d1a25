// Fairness lanes: one strip per tenant over time. Filled is what was served, hatched is demand that was not met, the line is the fair share.
import { Hatch } from "../../charts/gantt";
import { stepArea, stepLine } from "../../charts/paths";
import { linear, timeTicks } from "../../charts/scale";
import { useWidth } from "../../charts/width";
import type { Fairness } from "../../data/contract";
import { percent } from "../../format/numbers";
import { duration } from "../../format/times";
import { link } from "../../shell/route";

const LANE = 46;
type Lane = Fairness["lanes"][number];

export function Lanes({ fairness }: { fairness: Fairness }) {
  const lanes = fairness.lanes;
  return (
    <div class="lanes">
      <ul>
        {lanes.map((lane) => (
          <li key={lane.tenant} class="lane">
            <div class="lane-name">
              <a class="clip" href={link(["tenants", lane.tenant])} title={lane.tenant}>
                {lane.tenant}
              </a>
              <span class="quiet small nowrap">weight {lane.weight}</span>
            </div>
            <LaneStrip lane={lane} fairness={fairness} />
            <div class="lane-figures">
              <span class="num">
                <b>{percent(lane.shareGiven)}</b> <span class="quiet">fair {percent(lane.shareEntitled)}</span>
              </span>
              <span class="quiet small nowrap" title="Of hundred jobs, ninety-five waited no longer">
                <span class="wide-only">waits </span>p95 {duration(lane.waitP95Ms)}
              </span>
            </div>
          </li>
        ))}
      </ul>
      <LaneAxis fairness={fairness} />
      <div class="legend">
        <span class="row">
          <i class="swatch c-accent" /> served
        </span>
        <span class="row">
          <i class="swatch hatched w-limit" /> unmet demand
        </span>
        <span class="row">
          <i class="swatch thin c-ink" /> fair share
        </span>
      </div>
    </div>
  );
}

const sums = (lane: Lane): number[] => lane.served.map((served, index) => (served ?? 0) + (lane.demand[index] ?? 0));

/** Each strip is measured by its own fair share, so that all lines stand alike; a flood is cut at the edge of its strip. */
const topOf = (lane: Lane): number =>
  Math.max(1e-9, ...lane.fair.map((value) => (value ?? 0) * 1.8), ...lane.served.map((value) => (value ?? 0) * 1.05));

function LaneStrip({ lane, fairness }: { lane: Lane; fairness: Fairness }) {
  const [frame, width] = useWidth(500);
  const { times, stepMs } = fairness;
  const end = (times.at(-1) ?? 0) + stepMs;
  const x = linear(times[0] ?? 0, end, 0, width);
  const top = topOf(lane);
  const y = (value: number) => linear(0, top, LANE - 3, 3)(Math.min(top, value));
  const xs = times.map(x);
  const floor = times.map(() => y(0));
  const served = lane.served.map((value) => y(value ?? 0));
  const demand = sums(lane).map(y);
  const starved = lane.demand.filter(
    (value, index) => (value ?? 0) > 0 && (lane.served[index] ?? 0) < 0.9 * (lane.fair[index] ?? 0),
  ).length;
  return (
    <div class="plot lane-plot" ref={frame}>
      <svg
        width={width}
        height={LANE}
        role="img"
        aria-label={`${lane.tenant}: given ${percent(lane.shareGiven)}, entitled to ${percent(lane.shareEntitled)}; below its fair share with unmet demand in ${starved} of ${times.length} intervals`}
      >
        <Hatch />
        <path class="lane-served" d={stepArea(xs, width, floor, served)} />
        <path class="lane-unmet" d={stepArea(xs, width, served, demand)} />
        <path
          class="lane-fair"
          d={stepLine(
            xs,
            width,
            lane.fair.map((value) => (value === null ? null : y(value))),
          )}
        />
      </svg>
    </div>
  );
}

function LaneAxis({ fairness }: { fairness: Fairness }) {
  const [frame, width] = useWidth(500);
  const from = fairness.times[0] ?? 0;
  const to = (fairness.times.at(-1) ?? 0) + fairness.stepMs;
  const x = linear(from, to, 0, width);
  return (
    <div class="lane">
      <span class="lane-name" />
      <div class="plot lane-plot" ref={frame}>
        <svg width={width} height={18} aria-hidden="true">
          {timeTicks(from, to, Math.max(2, Math.floor(width / 90))).map((tick) => (
            <text
              key={tick.at}
              class="tick"
              x={x(tick.at)}
              y={13}
              text-anchor={x(tick.at) < 20 ? "start" : x(tick.at) > width - 20 ? "end" : "middle"}
            >
              {tick.label}
            </text>
          ))}
        </svg>
      </div>
      <span class="lane-figures" />
    </div>
  );
}
