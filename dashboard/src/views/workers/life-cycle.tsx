// The life of a process as a table: which state may follow which, and how many processes are in each now.

import { CHILD_STATES, CHILD_TRANSITIONS, type ChildState } from "../../data/child-states";
import type { PoolRow } from "../../data/contract";
import { count } from "../../format/numbers";
import { StateBadge } from "../../parts/badge";
import { Table } from "../../parts/table";

const MEANINGS: Readonly<Record<ChildState, string>> = {
  idle: "started, and has not said that it is ready",
  ready: "may be given jobs",
  working: "runs jobs",
  failed: "died, or hung and was killed; another one is started after a pause",
  terminated: "has ended for good",
};

export function LifeCycle({ pools }: { pools: readonly PoolRow[] }) {
  const children = pools.flatMap((pool) => pool.children);
  return (
    <Table
      label="The life of a process"
      rows={CHILD_STATES}
      keyOf={(state) => state}
      columns={[
        { name: "State", cell: (state) => <StateBadge state={state} /> },
        { name: "A process", rest: true, cell: (state) => MEANINGS[state] },
        {
          name: "May become",
          cell: (state) => <span class="nowrap">{CHILD_TRANSITIONS[state].join(", ") || "nothing else"}</span>,
        },
        { name: "Now", num: true, cell: (state) => count(children.filter((child) => child.state === state).length) },
      ]}
    />
  );
}
