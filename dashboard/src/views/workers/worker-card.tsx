// One worker: its state, how full it is, when it last beat.
import type { WorkerRow } from "../../data/contract";
import { bytes, percent } from "../../format/numbers";
import { duration } from "../../format/times";
import { StateBadge } from "../../parts/badge";
import { Meter } from "../../parts/panel";
import { Since } from "../../parts/time";
import { link } from "../../shell/route";

const numberOf = (stats: Record<string, unknown>, ...names: string[]): number | null => {
  for (const name of names) if (typeof stats[name] === "number") return stats[name];
  return null;
};

export const lifeOf = (worker: WorkerRow): string => {
  if (worker.state !== "alive") return worker.state;
  const said = worker.stats["state"];
  if (typeof said === "string") return said;
  return worker.running > 0 ? "working" : "idle";
};

export const WorkerCard = ({ worker }: { worker: WorkerRow }) => {
  const cpu = numberOf(worker.stats, "cpu");
  const memory = numberOf(worker.stats, "memory", "rssBytes", "rss");
  const late = worker.state === "alive" && worker.beatAgeMs > 15_000;
  return (
    <li class="worker">
      <div class="row spread worker-head">
        <a class="clip mono" href={link(["workers", worker.id])} title={worker.id}>
          {worker.id}
        </a>
        <StateBadge state={lifeOf(worker)} />
      </div>
      <div class="row">
        <Meter
          share={worker.running / Math.max(1, worker.concurrency)}
          tone="running"
          label={`${worker.running} of ${worker.concurrency} run`}
        />
        <span class="num small">
          {worker.running} / {worker.concurrency}
        </span>
      </div>
      <dl class="worker-facts">
        <div>
          <dt>Last beat</dt>
          <dd class={late ? "c-dead" : undefined}>{duration(worker.beatAgeMs)}</dd>
        </div>
        <div>
          <dt>Up for</dt>
          <dd>
            <Since at={worker.startedAt} until={worker.endedAt} />
          </dd>
        </div>
        <div>
          <dt>CPU</dt>
          <dd>{percent(cpu)}</dd>
        </div>
        <div>
          <dt>Memory</dt>
          <dd>{bytes(memory)}</dd>
        </div>
      </dl>
      <span class="quiet small clip" title={worker.queues.join(", ")}>
        {worker.version ?? "no version"} · {worker.queues.join(", ")}
        {!worker.listening && " · polls"}
      </span>
    </li>
  );
};
