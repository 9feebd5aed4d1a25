// Queues and kinds, live: what waits, what runs, who serves them.

import type { KindRow, Limits, Page as PageOf, QueueRow } from "../../data/contract";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { count } from "../../format/numbers";
import { Badge } from "../../parts/badge";
import { CountOf } from "../../parts/counts";
import { apiQuery } from "../../parts/filters";
import { PauseAction, PausedBadge } from "../../parts/pause";
import { Empty } from "../../parts/states";
import { Clip } from "../../parts/table";
import { Page } from "../../shell/page";
import { link } from "../../shell/route";
import { rateWords } from "../limit-words";
import { LimitButton } from "../limits/limit-button";
import { Listing } from "../listing";

export function QueuesView() {
  const path = `queues${apiQuery([])}`;
  const queues = useResource<PageOf<QueueRow>>(path, ["jobs", "workers", "limits"]);
  const kinds = useResource<PageOf<KindRow>>("kinds", ["workers", "limits"]);
  return (
    <Page
      title="Queues"
      json={path}
      cli="fairmill queues"
      about="What waits and runs in each queue, and the kinds that workers know."
    >
      <Listing
        from={queues}
        title="Queues"
        name="queues"
        keyOf={(row) => row.queue}
        empty={
          <Empty icon="queues" title="No queues yet">
            A queue appears with its first job or worker.
          </Empty>
        }
        columns={[
          {
            name: "Queue",
            cell: (row) => (
              <span class="row">
                <Clip text={row.queue} href={link(["jobs"], { queue: row.queue })} />
                <Signs of={row} orphan={row.workers === 0 && row.ready.count > 0} />
              </span>
            ),
          },
          { name: "Workers", num: true, cell: (row) => count(row.workers) },
          {
            name: "Running",
            num: true,
            cell: (row) => (
              <>
                <CountOf of={row.running} />
                {row.maxRunning !== null && <span class="quiet"> / {row.maxRunning}</span>}
              </>
            ),
          },
          { name: "Ready", num: true, cell: (row) => <CountOf of={row.ready} /> },
          { name: "Scheduled", num: true, cell: (row) => <CountOf of={row.scheduled} /> },
          { name: "Blocked", num: true, cell: (row) => <CountOf of={row.blocked} /> },
          { name: "Rate", cell: (row) => <span class="nowrap">{rateWords(row.rate)}</span> },
          {
            name: "Actions",
            unseen: true,
            cell: (row) => <Tools scope="queue" name={row.queue} now={row} />,
          },
        ]}
      />
      <Listing
        from={kinds}
        title="Kinds"
        name="kinds"
        keyOf={(row) => row.kind}
        empty={
          <Empty icon="jobs" title="No kinds known">
            Kinds are told by workers that handle them.
          </Empty>
        }
        columns={[
          {
            name: "Kind",
            cell: (row) => (
              <span class="row">
                <Clip text={row.kind} href={link(["jobs"], { kind: row.kind })} />
                <Signs of={row} orphan={row.workers === 0} />
              </span>
            ),
          },
          { name: "Workers", num: true, cell: (row) => count(row.workers) },
          { name: "Cap", num: true, cell: (row) => count(row.maxRunning) },
          { name: "Rate", cell: (row) => <span class="nowrap">{rateWords(row.rate)}</span> },
          { name: "Limits in code", cell: (row) => <Clip long text={definitionWords(row)} /> },
          {
            name: "Actions",
            unseen: true,
            cell: (row) => <Tools scope="kind" name={row.kind} now={row} />,
          },
        ]}
      />
    </Page>
  );
}

const Signs = ({ of, orphan }: { of: Limits; orphan: boolean }) => (
  <>
    <PausedBadge of={of} />
    {orphan && (
      <Badge tone="dead" icon="errors">
        no worker
      </Badge>
    )}
  </>
);

const Tools = ({ scope, name, now }: { scope: "queue" | "kind"; name: string; now: Limits }) => (
  <span class="row">
    <span class="push" />
    <LimitButton scope={scope} name={name} now={now} />
    <PauseAction little path={`${scope}s/${segment(name)}`} name={name} of={now} />
  </span>
);

function definitionWords({ definition }: KindRow): string {
  if (!definition) return "";
  const parts = [
    definition.maxRunning !== null
      ? `${count(definition.maxRunning)} at once, others ${definition.whenFull === "wait" ? "wait" : "are refused"}`
      : "",
    definition.rate ? rateWords(definition.rate) : "",
  ].filter(Boolean);
  return parts.length > 0 ? `per ${definition.per}: ${parts.join("; ")}` : "";
}
