// Workers & scaling: who works and how it is, and why there are as many as there are.
import { TimeChart } from "../../charts/time-chart";
import type { Page as PageOf, PoolRow, ScalingDecision, WorkerRow } from "../../data/contract";
import { useResource } from "../../data/resource";
import { busyShare, claimedAhead } from "../../format/busy";
import { bytes, count, many, rate } from "../../format/numbers";
import { apiQuery, Choice } from "../../parts/filters";
import { Loaded } from "../../parts/loaded";
import { ListNotice, Pager } from "../../parts/pager";
import { Panel, Stats } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Page } from "../../shell/page";
import { NoRows } from "../listing";
import { marksOf } from "../marks";
import type { SeriesAnswer } from "../now/now-view";
import { SpanChoice, useSpan } from "../span";
import { Decisions } from "./decisions";
import { Pools } from "./pools";
import { WorkerCard } from "./worker-card";

export function WorkersView() {
  const span = useSpan();
  const path = `workers${apiQuery(["state"])}`;
  const workers = useResource<PageOf<WorkerRow>>(path, ["workers", "jobs"]);
  const pools = useResource<{ items: PoolRow[] }>("scaling/pools", ["workers", "series"]);
  const decisions = useResource<PageOf<ScalingDecision>>(`scaling/decisions?limit=100${span.query}`, [
    "workers",
    "series",
  ]);
  const series = useResource<SeriesAnswer>(`series?name=ready${span.query}`, ["series"]);
  const used = useResource<SeriesAnswer>(`series?name=cpu&name=memory${span.query}`, ["series"]);
  return (
    <Page
      title="Workers & scaling"
      json={path}
      cli="fairmill workers"
      about="Who works, how busy it is, and who decided how many there are."
      actions={<SpanChoice />}
    >
      {workers.data && <Fleet rows={workers.data.items} />}
      <Panel title="Decisions" note="processes of workers, wanted and actual, over the backlog">
        <Loaded
          from={decisions}
          rows={6}
          unrecorded="No supervisor scales these workers, or its records are not read here."
        >
          {(page) => (
            <Decisions decisions={page.items} ready={series.data} isSupervised={(pools.data?.items.length ?? 0) > 0} />
          )}
        </Loaded>
      </Panel>
      {pools.data && pools.data.items.length > 0 && <Pools pools={pools.data.items} />}
      <div class="grid two">
        <Panel title="CPU" note="cores, of all workers">
          <Loaded from={used} rows={4}>
            {(answer) => <Used answer={answer} name="cpu" label="CPU" write={rate} />}
          </Loaded>
        </Panel>
        <Panel title="Memory" note="resident, of all workers">
          <Loaded from={used} rows={4}>
            {(answer) => <Used answer={answer} name="memory" label="Memory" write={bytes} />}
          </Loaded>
        </Panel>
      </div>
      <Panel title="Workers" tools={<Choice name="state" label="State" values={["alive", "lost", "stopped"]} />}>
        <Loaded from={workers}>
          {(page) => (
            <>
              <ListNotice notice={page.notice} />
              {page.items.length === 0 ? (
                <NoRows filters={["state"]}>
                  <Empty icon="workers" title="No workers">
                    Start one: <code>fairmill work</code>, or let a supervisor do it: <code>fairmill supervise</code>
                  </Empty>
                </NoRows>
              ) : (
                <ul class="worker-grid">
                  {page.items.map((worker) => (
                    <WorkerCard key={worker.id} worker={worker} />
                  ))}
                </ul>
              )}
            </>
          )}
        </Loaded>
      </Panel>
      {workers.data && <Pager next={workers.data.next} shown={workers.data.items.length} name="workers" />}
    </Page>
  );
}

interface UsedProps {
  readonly answer: SeriesAnswer;
  readonly name: "cpu" | "memory";
  readonly label: string;
  readonly write: (value: number | null | undefined) => string;
}

function Used({ answer, name, label, write }: UsedProps) {
  const found = answer.items.find((item) => item.name === name);
  const line = found?.lines[0];
  if (!found || !line) return <p class="quiet">No worker was seen in this time.</p>;
  return (
    <TimeChart
      label={`${label} of all workers`}
      times={found.times}
      series={[{ key: name, label, tone: name === "cpu" ? "c-accent" : "c-done", values: line.values, as: "area" }]}
      marks={marksOf(answer.marks)}
      write={write}
      height={130}
      legend={false}
    />
  );
}

/** What of the application runs in it; without a name, the version of Fairmill. */
const versionOf = ({ stats, version }: WorkerRow): string => {
  const { deployment } = stats as { deployment?: unknown };
  return typeof deployment === "string" ? deployment : (version ?? "?");
};

/** A supervisor is one worker with several processes. */
function aliveNote(alive: readonly WorkerRow[]): string {
  const children = alive.reduce((sum, { stats }) => sum + (Number((stats as { children?: unknown }).children) || 0), 0);
  const hosts = `on ${many(new Set(alive.map((row) => row.host)).size, "host")}`;
  return children > 0 ? `${many(children, "process", "processes")} ${hosts}` : hosts;
}

function Fleet({ rows }: { rows: readonly WorkerRow[] }) {
  const alive = rows.filter((row) => row.state === "alive");
  const capacity = alive.reduce((sum, row) => sum + row.concurrency, 0);
  const running = alive.reduce((sum, row) => sum + row.running, 0);
  const versions = new Set(alive.map(versionOf));
  const lost = rows.filter((row) => row.state === "lost").length;
  return (
    <Stats
      figures={[
        {
          label: "Workers alive",
          value: count(alive.length),
          note: aliveNote(alive),
        },
        { label: "Capacity", value: count(capacity), unit: "jobs at once" },
        {
          label: "Busy",
          value: busyShare(running, capacity),
          note: `${many(running, "job")} now${claimedAhead(running, capacity)}`,
        },
        { label: "Lost", value: count(lost), note: "did not beat in time", alarm: lost > 0 },
        { label: "Versions", value: count(versions.size), note: [...versions].slice(0, 3).join(", ") },
      ]}
    />
  );
}
