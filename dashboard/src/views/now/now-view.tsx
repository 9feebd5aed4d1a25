// Now: the five figures that say whether all is well, what needs a person, what goes in and out, and what the backlog waits for.
import type { Backlog, Now, Series, TimeRow } from "../../data/contract";
import { useResource } from "../../data/resource";
import { narrowed } from "../../data/session";
import { busyShare, claimedAhead } from "../../format/busy";
import { count, rate } from "../../format/numbers";
import { duration } from "../../format/times";
import { CountOf } from "../../parts/counts";
import { Loaded } from "../../parts/loaded";
import { Panel, Stats } from "../../parts/panel";
import { Loading } from "../../parts/states";
import { Page } from "../../shell/page";
import { link } from "../../shell/route";
import { SpanChoice, useSpan } from "../span";
import { BacklogChart } from "./backlog-chart";
import { FlowChart } from "./flow-chart";
import { NeedsYou } from "./needs-you";
import { TimeWent } from "./time-went";
import { trend } from "./trend";

export interface SeriesAnswer {
  readonly items: readonly Series[];
  readonly marks: Backlog["marks"];
}

export function NowView() {
  const span = useSpan();
  const now = useResource<Now>("now", ["jobs", "workers", "alerts"]);
  const flow = useResource<SeriesAnswer>(`series?name=jobs.in&name=jobs.out&name=jobs.failed${span.query}`, ["series"]);
  const backlog = useResource<Backlog>(`backlog${span.query.replace("&", "?")}`, ["series"]);
  const time = useResource<{ items: TimeRow[] }>(`time?by=kind${span.query}`, ["series"]);
  return (
    <Page
      title="Now"
      json="now"
      cli="fairmill top"
      about="What goes in and out, what waits and for what."
      actions={<SpanChoice />}
    >
      {now.data ? <Figures now={now.data} /> : <Loaded from={now}>{() => <Loading rows={2} />}</Loaded>}
      {now.data && <NeedsYou needs={now.data.needsYou} />}
      <div class="grid two">
        <Panel title="In and out" note="jobs per second">
          <Loaded from={flow} rows={7} unrecorded={UNRECORDED}>
            {(answer) => <FlowChart answer={answer} waiting={waitingOf(now.data)} />}
          </Loaded>
        </Panel>
        <Panel title="Why jobs wait" note="the whole backlog, by reason">
          <Loaded from={backlog} rows={7} unrecorded={UNRECORDED}>
            {(answer) => <BacklogChart backlog={answer} />}
          </Loaded>
        </Panel>
      </div>
      <Panel title="Where the time went" note="per job on average, by kind">
        <Loaded from={time} rows={5} unrecorded={UNRECORDED}>
          {(answer) => <TimeWent rows={answer.items} />}
        </Loaded>
      </Panel>
    </Page>
  );
}

const UNRECORDED =
  "Interval records are written by the supervisor and the upkeep of workers. Without them there is no history to draw; the figures above are read live.";

function Figures({ now }: { now: Now }) {
  return (
    <Stats
      figures={[
        {
          label: "Oldest wait",
          value: now.oldestWaitMs === null ? "none" : duration(now.oldestWaitMs),
          note: now.oldestWaitJob === null ? "nothing is ready" : `job ${now.oldestWaitJob}`,
          ...(now.oldestWaitJob !== null ? { href: link(["jobs", now.oldestWaitJob]) } : {}),
          alarm: (now.oldestWaitMs ?? 0) > 300_000,
        },
        {
          label: "In, last 5 min",
          value: rate(now.inPerSecond),
          unit: "jobs/s",
          note: (
            <>
              <CountOf of={now.scheduled} /> scheduled
            </>
          ),
        },
        { label: "Out, last 5 min", value: rate(now.outPerSecond), unit: "jobs/s", note: trend(now) },
        {
          label: "Running",
          value: <CountOf of={now.running} short />,
          unit: now.capacity === null ? "" : `of ${count(now.capacity)}`,
          note:
            narrowed.value !== null || now.workers === null
              ? "of your tenant"
              : now.workers === 0
                ? "no worker lives"
                : `${busyShare(now.running.count, now.capacity ?? 0)} of the capacity${claimedAhead(now.running.count, now.capacity ?? 0)}`,
          href: link(["jobs"], { state: "running" }),
        },
        {
          label: "Ready",
          value: <CountOf of={now.ready} short />,
          note: (
            <>
              <CountOf of={now.blocked} /> {now.blocked?.count === 1 ? "waits" : "wait"} for a key
            </>
          ),
          href: link(["jobs"], { state: "ready" }),
        },
        {
          label: "Dead in 24 h",
          value: <CountOf of={now.dead24h} short />,
          note: "see errors",
          href: link(["errors"]),
          alarm: now.dead24h.count > 0,
        },
      ]}
    />
  );
}

/** Jobs that wait for a worker or a limit; undefined: not known yet. */
const waitingOf = (now: Now | undefined): number | undefined => now && now.ready.count + (now.blocked?.count ?? 0);
