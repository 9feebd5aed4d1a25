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

function statWords(name: string, value: unknown): string {
  if (typeof value !== "number") return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  if (/memory|bytes|rss|heap/i.test(name)) return bytes(value);
  return name === "cpu" ? percent(value) : decimal(Math.round(value * 1000) / 1000);
}

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
                  ["Queues", worker.queues.join(", ")],
                  ["Kinds", worker.kinds === null ? "all" : worker.kinds.join(", ")],
                  ["Wake-up", worker.listening ? "listens" : "polls"],
                  ["Started", <Ago key="s" at={worker.startedAt} />],
                  ["Last beat", duration(worker.beatAgeMs)],
                  ["Lease until", <Ago key="l" at={worker.leaseUntil} />],
                  ...(worker.endedAt ? ([["Ended", <Ago key="e" at={worker.endedAt} />]] as const) : []),
                  ...(worker.pool ? ([["Pool", worker.pool]] as const) : []),
                  ...Object.entries(worker.stats).map(([name, value]) => [name, statWords(name, value)] as const),
                ]}
              />
            </Panel>
          </div>
        )}
      </Loaded>
    </Page>
  );
}
