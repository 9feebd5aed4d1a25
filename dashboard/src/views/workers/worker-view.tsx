import type { JobRow, WorkerRow } from "../../data/contract";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { bytes, count, decimal, percent } from "../../format/numbers";
import { duration } from "../../format/times";
import { StateBadge } from "../../parts/badge";
import { Loaded } from "../../parts/loaded";
import { Facts, Panel } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { JobTable } from "../jobs/job-table";
import { lifeOf } from "./worker-card";

/** Figures that the worker tells with each beat, in words. What is said elsewhere on the screen is left out. */
const STATS: Readonly<Record<string, string | null>> = {
  cpu: "CPU",
  rssBytes: "Memory",
  claimed: "Jobs claimed",
  done: "Jobs done",
  failed: "Runs failed",
  refused: "Results refused",
  deployment: "Deployment",
  children: "Processes",
  utilisation: "Busy",
  state: null,
  running: null,
};
const statName = (name: string): string | null => (Object.hasOwn(STATS, name) ? STATS[name]! : name);

function statWords(name: string, value: unknown): string {
  if (typeof value !== "number") return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  if (/memory|bytes|rss|heap/i.test(name)) return bytes(value);
  return name === "cpu" || name === "utilisation" ? percent(value) : decimal(Math.round(value * 1000) / 1000);
}

const Names = ({ of }: { of: readonly string[] }) => (
  <ul class="names">
    {of.map((name) => (
      <li key={name}>{name}</li>
    ))}
  </ul>
);

/** One incarnation of a worker, and what it runs. */
export function WorkerView({ id }: { id: string }) {
  const path = `workers/${segment(id)}`;
  const one = useResource<WorkerRow & { jobs: JobRow[] }>(path, ["workers", "jobs"]);
  return (
    <Page
      title={`Worker ${id}`}
      heading={
        <span class="row wraps">
          <span class="mono wrap">{id}</span>
          {one.data && <StateBadge state={lifeOf(one.data)} />}
        </span>
      }
      json={path}
      cli="fairmill workers"
      back={{ href: "#/workers", name: "Workers" }}
    >
      <Loaded from={one}>
        {(worker) => (
          <div class="grid wide-left">
            <Panel title="Runs now" note={`${count(worker.running)} of ${count(worker.concurrency)}`} flush>
              {worker.jobs.length === 0 ? (
                <Empty icon="jobs" title="It runs nothing now" />
              ) : (
                <JobTable rows={worker.jobs} plain />
              )}
            </Panel>
            <Panel title="Facts">
              <Facts
                facts={[
                  ["Host", worker.host ?? "–"],
                  ["Process", worker.pid === null ? "–" : String(worker.pid)],
                  ["Version", worker.version ?? "–"],
                  ["Queues", <Names key="q" of={worker.queues} />],
                  ["Kinds", worker.kinds === null ? "all" : <Names key="k" of={worker.kinds} />],
                  ["Wake-up", worker.listening ? "listens for jobs" : "polls for jobs"],
                  ["Started", <Ago key="s" at={worker.startedAt} />],
                  ["Last beat", `${duration(worker.beatAgeMs)} ago`],
                  ["Lease until", <Ago key="l" at={worker.leaseUntil} />],
                  ...(worker.endedAt ? ([["Ended", <Ago key="e" at={worker.endedAt} />]] as const) : []),
                  ...(worker.pool ? ([["Pool", worker.pool]] as const) : []),
                  ...Object.entries(worker.stats).flatMap(([name, value]) => {
                    const label = statName(name);
                    return label === null ? [] : [[label, statWords(name, value)] as const];
                  }),
                ]}
              />
            </Panel>
          </div>
        )}
      </Loaded>
    </Page>
  );
}
