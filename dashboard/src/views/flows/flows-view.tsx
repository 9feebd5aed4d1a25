// Flows and batches: graphs and groups of jobs.
import type { BatchRow, Page as PageOf } from "../../data/contract";
import { useResource } from "../../data/resource";
import { StateBadge } from "../../parts/badge";
import { cli } from "../../parts/copy";
import { apiQuery, Choice, FilterField } from "../../parts/filters";
import { Empty } from "../../parts/states";
import { Clip } from "../../parts/table";
import { Ago, Since } from "../../parts/time";
import { Page } from "../../shell/page";
import { link, route, withQuery } from "../../shell/route";
import { useFacets } from "../facets";
import { Listing } from "../listing";
import { ProgressBar } from "./progress-bar";

const STATES = ["pending", "succeeded", "failed", "cancelled"];

const FILTERS = ["state", "tenant"];

export function FlowsView() {
  const role = route.value.query.get("role") === "batch" ? "batch" : "flow";
  const path = `batches${apiQuery(FILTERS, { role })}`;
  const list = useResource<PageOf<BatchRow>>(path, ["batches", "jobs"]);
  const facets = useFacets();
  return (
    <Page
      title="Flows"
      json={path}
      cli={cli([role === "flow" ? "flows" : "batches"], {
        state: route.value.query.get("state"),
        tenant: route.value.query.get("tenant"),
      })}
      about="Graphs of jobs that wait for one another, and batches with a common end."
      actions={
        <nav class="tabs" aria-label="Role">
          {(["flow", "batch"] as const).map((one) => (
            <a
              key={one}
              href={withQuery({ role: one === "flow" ? null : one })}
              aria-current={role === one ? "true" : undefined}
            >
              {one === "flow" ? "Flows" : "Batches"}
            </a>
          ))}
        </nav>
      }
    >
      <div class="filter-bar">
        <Choice name="state" label="State" values={STATES} />
        <FilterField name="tenant" label="Tenant" suggestions={facets.tenants} />
      </div>
      <Listing
        from={list}
        name={role === "flow" ? "flows" : "batches"}
        filters={FILTERS}
        keyOf={(row) => row.id}
        empty={
          <Empty icon="flows" title={role === "flow" ? "No flows" : "No batches"}>
            {role === "flow" ? (
              <>
                Start one with <code>client.flows.start(flow, input)</code>
              </>
            ) : (
              <>
                Make one with <code>client.batches.create(…)</code>
              </>
            )}
          </Empty>
        }
        columns={[
          {
            name: "Id",
            cell: (row) => (
              <a class="mono" href={link(["flows", row.id])}>
                {row.id}
              </a>
            ),
          },
          { name: "Name", cell: (row) => <Clip text={row.name} href={link(["flows", row.id])} /> },
          { name: "State", cell: (row) => <StateBadge state={row.state} /> },
          { name: "Tenant", cell: (row) => <Clip text={row.tenant} /> },
          { name: "Progress", cell: (row) => <ProgressBar row={row} /> },
          { name: "Started", cell: (row) => <Ago at={row.startedAt ?? row.createdAt} /> },
          { name: "Took", num: true, cell: (row) => <Since at={row.startedAt ?? row.createdAt} until={row.endedAt} /> },
        ]}
      />
    </Page>
  );
}
