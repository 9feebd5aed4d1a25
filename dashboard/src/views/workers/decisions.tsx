// The decision ribbon: how many workers were wanted and how many there were, over the backlog; one mark per decision, with its inputs.
import { useState } from "preact/hooks";
import { areaPath, stepLine } from "../../charts/paths";
import { linear, timeTicks, valueTicks } from "../../charts/scale";
import { useWidth } from "../../charts/width";
import type { ScalingDecision } from "../../data/contract";
import { bytes, compact, count, many, rate } from "../../format/numbers";
import { clock, duration, timeOf } from "../../format/times";
import { Badge } from "../../parts/badge";
import { Facts } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { marksOf } from "../marks";
import type { SeriesAnswer } from "../now/now-view";
import { reasonOf } from "../reasons";
import { isNews } from "./news";

/** What the decision was made from, in the order in which it is read: the work, then the workers. */
const INPUTS: Readonly<Record<string, string>> = {
  runnable: "Jobs that could start now",
  arrivalsPerS: "Came in each second",
  meanRunMs: "Mean run",
  busy: "Jobs running now",
  capacity: "Jobs at once, each process",
  waves: "Rounds to start them all",
  current: "Processes",
  ready: "Processes ready",
  hosts: "Hosts that share the work",
};
const ORDER = Object.keys(INPUTS);
const rankOf = (name: string): number => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);

/** meanRunMs → Mean run; arrivalsPerS → Arrivals per s. */
const wordsOf = (name: string): string => {
  const words = name
    .replace(/Ms$/, "")
    .replaceAll(/([A-Z])/g, " $1")
    .toLowerCase();
  return INPUTS[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
};
const amount = (name: string, value: number): string =>
  name.endsWith("Ms") ? duration(value) : /memory/i.test(name) ? bytes(value) : rate(value);

const HEIGHT = 190;
const BOTTOM = 22;

export function Decisions({
  decisions,
  ready,
  isSupervised,
}: {
  decisions: readonly ScalingDecision[];
  ready: SeriesAnswer | undefined;
  isSupervised: boolean;
}) {
  const ordered = [...decisions].sort((a, b) => timeOf(a.at) - timeOf(b.at));
  const [chosen, setChosen] = useState<string | null>(null);
  if (ordered.length === 0)
    return (
      <Empty icon="workers" title="No decision in this time">
        {isSupervised ? (
          "The supervisor saw no reason to change how many processes run."
        ) : (
          <>
            A supervisor decides how many workers run: <code>fairmill supervise</code>
          </>
        )}
      </Empty>
    );
  const one = ordered.find((decision) => decision.id === chosen) ?? ordered.at(-1)!;
  return (
    <div class="stack">
      <Ribbon decisions={ordered} ready={ready} chosen={one.id} choose={setChosen} />
      <DecisionDetail decision={one} />
    </div>
  );
}

function Ribbon(props: {
  decisions: readonly ScalingDecision[];
  ready: SeriesAnswer | undefined;
  chosen: string;
  choose: (id: string) => void;
}) {
  const [frame, width] = useWidth();
  const series = props.ready?.items[0];
  const times = props.decisions.map((decision) => timeOf(decision.at));
  const from = Math.min(times[0]!, series?.times[0] ?? times[0]!);
  const last = Math.max(times.at(-1)!, (series?.times.at(-1) ?? 0) + (series?.stepMs ?? 0));
  const to = last + Math.max(1, (last - from) / 40);
  const ticks = valueTicks(Math.max(1, ...props.decisions.flatMap(({ wanted, actual }) => [wanted, actual])), 4, true);
  const left = 34;
  // The last mark stands a little before the axis on the right.
  const right = width - 44;
  const x = linear(from, to, left, right);
  const y = linear(0, ticks.at(-1)!, HEIGHT - BOTTOM, 14);
  const xs = times.map(x);
  const backlog = (series?.lines[0]?.values ?? []).map((value) => value ?? 0);
  const backlogTicks = valueTicks(Math.max(1, ...backlog), 2, true);
  const by = linear(0, backlogTicks.at(-1)!, HEIGHT - BOTTOM, 14);
  return (
    <figure class="chart">
      <div class="plot" ref={frame}>
        <svg width={width} height={HEIGHT} role="group" aria-label={`${props.decisions.length} decisions`}>
          {ticks.map((tick) => (
            <g key={tick}>
              <line class="grid-line" x1={left} x2={right} y1={y(tick)} y2={y(tick)} />
              <text class="tick" x={left - 8} y={y(tick) + 4} text-anchor="end">
                {tick}
              </text>
            </g>
          ))}
          {series && (
            <>
              <path
                class="area wash w-ready"
                d={areaPath(
                  series.times.map(x),
                  backlog.map(() => by(0)),
                  backlog.map(by),
                )}
              />
              {backlogTicks.slice(1).map((tick) => (
                <text key={tick} class="tick" x={right + 6} y={by(tick) + 4}>
                  {compact(tick)}
                </text>
              ))}
            </>
          )}
          {timeTicks(from, to, Math.max(2, Math.floor((right - left) / 84))).map((tick) => (
            <text key={tick.at} class="tick" x={x(tick.at)} y={HEIGHT - 5} text-anchor="middle">
              {tick.label}
            </text>
          ))}
          {marksOf(props.ready?.marks ?? [])
            .filter(({ at }) => at >= from && at <= to)
            .map((mark) => (
              <g key={`${mark.at}${mark.label}`} class="chart-mark">
                <line x1={x(mark.at)} x2={x(mark.at)} y1={10} y2={HEIGHT - BOTTOM} />
                <path d={`M${x(mark.at) - 4} 5h8l-4 6z`} />
                <title>{`${mark.label}, ${clock(mark.at)}`}</title>
              </g>
            ))}
          <path
            class="line c-accent"
            d={stepLine(
              xs,
              right,
              props.decisions.map(({ actual }) => y(actual)),
            )}
          />
          <path
            class="line dashed c-ink"
            d={stepLine(
              xs,
              right,
              props.decisions.map(({ wanted }) => y(wanted)),
            )}
          />
          {props.decisions.map((decision, index) =>
            decision.cappedBy && decision.cappedBy !== props.decisions[index - 1]?.cappedBy ? (
              <text
                key={`cap${decision.id}`}
                class="tick"
                x={Math.min(xs[index]!, right - 60)}
                y={y(decision.actual) + 14}
                text-anchor="start"
              >
                at {decision.cappedBy}
              </text>
            ) : null,
          )}
          {props.decisions.map((decision, index) =>
            isNews(decision, props.decisions[index - 1]) || decision.id === props.chosen ? (
              <DecisionMark
                key={decision.id}
                decision={decision}
                x={xs[index]!}
                y={y(decision.wanted)}
                chosen={decision.id === props.chosen}
                choose={props.choose}
              />
            ) : null,
          )}
        </svg>
      </div>
      <figcaption class="legend">
        <span class="row">
          <i class="swatch thin c-ink" /> wanted
        </span>
        <span class="row">
          <i class="swatch thin c-accent" /> actual
        </span>
        <span class="row">
          <i class="swatch w-ready faint" /> ready jobs, right axis
        </span>
        <span class="quiet row wraps">
          <span class="nowrap">▲ more</span> <span class="nowrap">▼ fewer</span> <span class="nowrap">● as many</span>{" "}
          <span class="nowrap">▬ at a bound</span> <span class="nowrap">○ put off</span>
        </span>
      </figcaption>
    </figure>
  );
}

function DecisionMark({
  decision,
  x,
  y,
  chosen,
  choose,
}: {
  decision: ScalingDecision;
  x: number;
  y: number;
  chosen: boolean;
  choose: (id: string) => void;
}) {
  const shape = decision.cappedBy
    ? "M-6 -2.5h12v5h-12z"
    : decision.suppressed
      ? "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0"
      : decision.wanted > decision.actual
        ? "M-5 4h10l-5 -9z"
        : decision.wanted < decision.actual
          ? "M-5 -4h10l-5 9z"
          : "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0";
  const label = `${clock(timeOf(decision.at))}: wanted ${decision.wanted}, actual ${decision.actual}. ${decision.reason}`;
  return (
    <g
      class={`decision ${decision.suppressed && !decision.cappedBy ? "hollow" : ""} ${chosen ? "chosen" : ""}`}
      transform={`translate(${x} ${y})`}
      role="button"
      tabIndex={0}
      aria-label={label}
      aria-pressed={chosen}
      onClick={() => choose(decision.id)}
      onKeyDown={(event) => (event.key === "Enter" || event.key === " ") && choose(decision.id)}
    >
      <circle class="reach" r="9" />
      <path d={shape} />
      <title>{label}</title>
    </g>
  );
}

const DecisionDetail = ({ decision }: { decision: ScalingDecision }) => (
  <div class="decision-detail">
    <div class="row wraps">
      <strong>{clock(timeOf(decision.at))}</strong>
      <span class="num">
        {count(decision.actual)} → {many(decision.wanted, "process", "processes")}
      </span>
      <Badge>{decision.pool}</Badge>
      {decision.cappedBy && (
        <Badge tone="blocked" icon="lock">
          at {decision.cappedBy}
        </Badge>
      )}
      {decision.suppressed && (
        <Badge tone="cancelled" icon="pause">
          put off
        </Badge>
      )}
      <span class="muted wrap">{decision.reason}</span>
    </div>
    <div class="decision-inputs">
      <Facts
        facts={Object.entries(decision.inputs)
          .filter(([name]) => name !== "nowMs")
          .sort(([a], [b]) => rankOf(a) - rankOf(b))
          .map(([name, value]) => [wordsOf(name), typeof value === "number" ? amount(name, value) : (value ?? "–")])}
      />
      {decision.leftOut.length > 0 && (
        <div>
          <h3 class="quiet small">Left out, because more processes would not help them</h3>
          <ul>
            {decision.leftOut.map(({ reason, count: jobs }) => (
              <li key={reason} class="row">
                <i class={`swatch ${reasonOf(reason).tone}`} /> {reasonOf(reason).label}{" "}
                <span class="num push">{count(jobs)}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  </div>
);
