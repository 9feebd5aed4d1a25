// One flow: its graph with the critical path, or the same as bars over time; any node can be asked why it waits, and retried from.

import { useState } from "preact/hooks";
import { Gantt } from "../../charts/gantt";
import { now } from "../../data/clock";
import type { BatchRow, FlowDetail, FlowNode, Why } from "../../data/contract";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { duration, timeOf } from "../../format/times";
import { Action } from "../../parts/action";
import { StateBadge } from "../../parts/badge";
import { cli } from "../../parts/copy";
import { Loaded } from "../../parts/loaded";
import { Facts, Panel } from "../../parts/panel";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { link, route, withQuery } from "../../shell/route";
import { WhyPanel } from "../jobs/why-panel";
import { FlowGraph } from "./flow-graph";
import { fold, nameOf, stateOf, wordsOf } from "./fold";
import { ProgressBar } from "./progress-bar";

export function FlowView({ id }: { id: string }) {
  const path = `flows/${segment(id)}`;
  const flow = useResource<FlowDetail>(path, ["batches", "jobs"]);
  const isBatch = flow.problem?.status === 404;
  const batch = useResource<BatchRow>(isBatch ? `batches/${segment(id)}` : null, ["batches", "jobs"]);
  if (isBatch && batch.data) return <BatchPage batch={batch.data} />;
  const row = flow.data;
  return (
    <Page
      title={row?.name ?? `Flow ${id}`}
      heading={
        <span class="row wraps">
          <span class="wrap">{row?.name ?? `Flow ${id}`}</span>
          {row && <StateBadge state={row.state} />}
        </span>
      }
      about={row && `Flow ${id} of ${row.tenant}, ${row.nodes.length} nodes`}
      json={path}
      cli={cli(["flows", "get", id])}
      back={{ href: "#/flows", name: "Flows" }}
      actions={
        row && (
          <>
            {row.state === "failed" && (
              <Action
                label="Retry what failed"
                icon="retry"
                kind="primary"
                path={`${path}/retry`}
                body={{}}
                done={({ nodes }) => `${nodes} nodes start again`}
              />
            )}
            {!row.endedAt && (
              <Action
                label="Cancel"
                icon="slash"
                kind="danger"
                path={`${path}/cancel`}
                confirm="Nodes that have not begun will not; jobs that run are asked to stop."
                done={() => "Cancel requested"}
              />
            )}
          </>
        )
      }
    >
      <Loaded from={flow} rows={8}>
        {(detail) => <FlowBody flow={detail} path={path} />}
      </Loaded>
    </Page>
  );
}

function FlowBody({ flow, path }: { flow: FlowDetail; path: string }) {
  const gantt = route.value.query.get("as") === "gantt";
  const [chosen, setChosen] = useState<string | null>(null);
  const node =
    flow.nodes.find((one) => one.id === chosen) ?? flow.nodes.find((one) => one.state === "failed") ?? flow.nodes[0];
  return (
    <div class="stack">
      <Panel
        title={gantt ? "Over time" : "Graph"}
        note="thick: the critical path"
        tools={
          <nav class="tabs" aria-label="Drawn as">
            <a href={withQuery({ as: null })} aria-current={gantt ? undefined : "true"}>
              Graph
            </a>
            <a href={withQuery({ as: "gantt" })} aria-current={gantt ? "true" : undefined}>
              Gantt
            </a>
          </nav>
        }
      >
        {gantt ? (
          <FlowGantt flow={flow} />
        ) : (
          <FlowGraph nodes={flow.nodes} chosen={node?.id ?? null} choose={setChosen} />
        )}
      </Panel>
      {node && <NodePanel node={node} path={path} />}
    </div>
  );
}

const TONES: Record<string, string> = {
  succeeded: "f-done",
  failed: "f-dead",
  cancelled: "f-cancelled",
  skipped: "f-cancelled",
  running: "f-running",
  pending: "f-running",
  open: "f-running",
};

/** Folded like the graph: a fan-out is one bar from its first start to its last end. */
function FlowGantt({ flow }: { flow: FlowDetail }) {
  const from = timeOf(flow.startedAt ?? flow.createdAt);
  const to = flow.endedAt ? timeOf(flow.endedAt) : now.value;
  const rows = fold(flow.nodes).flatMap((group) => {
    const started = group.nodes.filter((node) => node.startedAt);
    if (started.length === 0) return [];
    const begin = Math.min(...started.map((node) => timeOf(node.startedAt)));
    const end = Math.max(...started.map((node) => (node.endedAt ? timeOf(node.endedAt) : to)));
    const state = stateOf(group.nodes);
    return [
      {
        key: group.id,
        name: nameOf(group),
        strong: group.nodes.some((node) => node.onCriticalPath),
        bars: [
          { from: begin, to: end, tone: TONES[state] ?? "f-scheduled", label: `${nameOf(group)}, ${wordsOf(group)}` },
        ],
      },
    ];
  });
  return (
    <Gantt
      from={from}
      to={to}
      label={`Nodes of the flow over ${duration(to - from)}`}
      rows={rows.sort((a, b) => a.bars[0]!.from - b.bars[0]!.from).slice(0, 200)}
    />
  );
}

function NodePanel({ node, path }: { node: FlowNode; path: string }) {
  const waits = node.endedAt === null;
  const why = useResource<Why>(waits ? `${path}/nodes/${segment(node.id)}/why` : null, ["batches", "jobs"]);
  return (
    <div class="grid two">
      <Panel title={node.name ?? `Node ${node.id}`} tools={<StateBadge state={node.state} />}>
        <div class="stack">
          <ProgressBar row={node} />
          <Facts
            facts={[
              ["Starts when", `those before it have ${node.when}`],
              ["On failure", node.onFailure],
              ["Started", <Ago key="s" at={node.startedAt} />],
              [
                "Took",
                node.startedAt
                  ? duration((node.endedAt ? timeOf(node.endedAt) : now.value) - timeOf(node.startedAt))
                  : "–",
              ],
              ["Critical path", node.onCriticalPath ? "yes" : "no"],
              ...(node.job !== null
                ? ([
                    [
                      "Job",
                      <a key="j" class="mono" href={link(["jobs", node.job])}>
                        {node.job}
                      </a>,
                    ],
                  ] as const)
                : []),
            ]}
          />
          <div class="row wraps">
            <a class="button little" href={link(["jobs"], { batch: node.id })}>
              Its jobs
            </a>
            {node.endedAt && node.name !== null && (
              <Action
                little
                label="Retry from here"
                icon="retry"
                path={`${path}/retry`}
                body={{ from: node.name }}
                confirm={`${node.name} and every node behind it run again.`}
                done={({ nodes }) => `${nodes} nodes start again`}
              />
            )}
          </div>
        </div>
      </Panel>
      {waits && <WhyPanel why={why} title="Why does it wait?" />}
    </div>
  );
}

const BatchPage = ({ batch }: { batch: BatchRow }) => (
  <Page
    title={batch.name ?? `Batch ${batch.id}`}
    heading={
      <span class="row wraps">
        <span class="wrap">{batch.name ?? `Batch ${batch.id}`}</span>
        <StateBadge state={batch.state} />
      </span>
    }
    json={`batches/${segment(batch.id)}`}
    cli={cli(["batches", "get", batch.id])}
    back={{ href: "#/flows?role=batch", name: "Batches" }}
    actions={
      !batch.endedAt && (
        <Action
          label="Cancel"
          icon="slash"
          kind="danger"
          path={`batches/${segment(batch.id)}/cancel`}
          confirm="Jobs that have not begun will not; those that run are asked to stop."
          done={() => "Cancel requested"}
        />
      )
    }
  >
    <Panel
      title="Members"
      tools={
        <a class="button little" href={link(["jobs"], { batch: batch.id })}>
          Its jobs
        </a>
      }
    >
      <div class="stack">
        <ProgressBar row={batch} />
        <Facts
          facts={[
            ["Tenant", batch.tenant],
            ["Begun", <Ago key="c" at={batch.createdAt} />],
            ["On success", batch.callbacks.success ?? "–"],
            ["On completion", batch.callbacks.complete ?? "–"],
            ["On death", batch.callbacks.death ?? "–"],
          ]}
        />
      </div>
    </Panel>
  </Page>
);
