import type { Step } from "../../data/contract";
import type { Resource } from "../../data/resource";
import { duration, timeOf } from "../../format/times";
import { StateBadge } from "../../parts/badge";
import { Panel } from "../../parts/panel";
import { Clip, Table } from "../../parts/table";
import { Ago } from "../../parts/time";

const stateOf = (step: Step): string =>
  step.finishedAt || step.signalledAt ? "done" : step.kind === "run" ? "running" : "waiting";

/** Durable steps: what a retry will not do again. */
export function StepsPanel({ steps }: { steps: Resource<{ items: Step[] }> }) {
  const items = steps.data?.items ?? [];
  if (items.length === 0) return null;
  return (
    <Panel title="Steps" note="finished ones are not repeated" flush>
      <Table
        label="Steps"
        rows={items}
        keyOf={(step) => `${step.position}${step.name}`}
        columns={[
          { name: "Step", cell: (step) => <Clip text={step.name} /> },
          { name: "What", cell: (step) => step.kind },
          { name: "State", cell: (step) => <StateBadge state={stateOf(step)} /> },
          {
            name: "Took",
            num: true,
            cell: (step) =>
              step.finishedAt ? (
                duration(timeOf(step.finishedAt) - timeOf(step.startedAt))
              ) : step.wakeAt ? (
                <>
                  wakes <Ago at={step.wakeAt} />
                </>
              ) : (
                "–"
              ),
          },
          { name: "Attempt", num: true, cell: (step) => step.attempt },
          { name: "Result", cell: (step) => <Clip text={step.result === null ? "" : JSON.stringify(step.result)} /> },
        ]}
      />
    </Panel>
  );
}
