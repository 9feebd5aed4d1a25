// Tenants: the share that each got beside the share it was entitled to, over time and as figures.
import { TimeChart } from "../../charts/time-chart";
import type { Fairness, Page as PageOf, TenantRow } from "../../data/contract";
import { useResource } from "../../data/resource";
import { percent } from "../../format/numbers";
import { duration } from "../../format/times";
import { CountOf } from "../../parts/counts";
import { apiQuery } from "../../parts/filters";
import { Loaded } from "../../parts/loaded";
import { ListNotice, Pager } from "../../parts/pager";
import { Meter, Panel } from "../../parts/panel";
import { PausedBadge } from "../../parts/pause";
import { Empty } from "../../parts/states";
import { Clip, Table } from "../../parts/table";
import { Page } from "../../shell/page";
import { link, route } from "../../shell/route";
import { rateWords } from "../limit-words";
import { SpanChoice, useSpan } from "../span";
import { Lanes } from "./lanes";
import { rowsOf } from "./rows";

export function TenantsView() {
  const span = useSpan();
  const path = `tenants${apiQuery([])}`;
  const list = useResource<PageOf<TenantRow>>(path, ["jobs", "limits"]);
  const fairness = useResource<Fairness>(`fairness?limit=12${span.query}`, ["series"]);
  return (
    <Page
      title="Tenants"
      json={path}
      cli="fairmill tenants"
      about="Who got how much, who should have, and who waited for it."
      actions={<SpanChoice />}
    >
      <Panel
        title="Fairness lanes"
        note="one strip per tenant, the busiest first"
        tools={fairness.data && <Jain fairness={fairness.data} />}
      >
        <Loaded
          from={fairness}
          rows={8}
          unrecorded="Lanes are drawn from interval records, which this server does not read."
        >
          {(answer) =>
            answer.lanes.length === 0 ? (
              <Empty icon="tenants" title="No tenant had work in this time" />
            ) : (
              <Lanes fairness={answer} />
            )
          }
        </Loaded>
      </Panel>
      <Panel title="All tenants" flush>
        <Loaded from={list}>
          {(page) => (
            <>
              <ListNotice notice={page.notice} />
              {rowsOf(page, fairness.data, route.value.query.get("cursor") === null).length === 0 ? (
                <Empty icon="tenants" title="No tenants yet">
                  A tenant appears with its first job: <code>client.enqueue(job, input, {"{ tenant }"})</code>
                </Empty>
              ) : (
                <TenantTable
                  rows={rowsOf(page, fairness.data, route.value.query.get("cursor") === null)}
                  lanes={fairness.data?.lanes ?? []}
                />
              )}
              <Pager
                next={page.next}
                shown={rowsOf(page, fairness.data, route.value.query.get("cursor") === null).length}
                name="tenants"
              />
            </>
          )}
        </Loaded>
      </Panel>
      {/* With fewer than two tenants that had to wait there is nothing to compare, and no line to draw. */}
      {fairness.data && fairness.data.times.length > 1 && fairness.data.jain.some((value) => value !== null) && (
        <Panel
          title="Jain index"
          note="1 is perfectly fair; of tenants that competed for workers. What a tenant's own limits hold back is not counted against it."
        >
          <TimeChart
            label="Jain index"
            height={130}
            top={1}
            times={fairness.data.times}
            series={[{ key: "jain", label: "Jain index", tone: "c-accent", as: "line", values: fairness.data.jain }]}
            write={(value) => (value === null || value === undefined ? "–" : value.toFixed(2))}
          />
        </Panel>
      )}
    </Page>
  );
}

const Jain = ({ fairness }: { fairness: Fairness }) =>
  fairness.jainNow !== null && (
    <span class="row">
      <span class="quiet small">Jain index</span>
      <strong class="jain num">{fairness.jainNow.toFixed(3)}</strong>
    </span>
  );

function TenantTable({ rows, lanes }: { rows: readonly TenantRow[]; lanes: Fairness["lanes"] }) {
  const laneOf = (name: string) => lanes.find((lane) => lane.tenant === name);
  return (
    <Table
      label="Tenants"
      rows={rows}
      keyOf={(row) => row.tenant}
      columns={[
        {
          name: "Tenant",
          cell: (row) => (
            <span class="row">
              <Clip text={row.tenant} href={link(["tenants", row.tenant])} />
              <PausedBadge of={row} />
            </span>
          ),
        },
        { name: "Weight", num: true, cell: (row) => row.weight },
        {
          name: "Given",
          cell: (row) => {
            const lane = laneOf(row.tenant);
            return lane ? <ShareBar given={lane.shareGiven} entitled={lane.shareEntitled} /> : "–";
          },
        },
        { name: "Wait p95", num: true, cell: (row) => duration(laneOf(row.tenant)?.waitP95Ms) },
        { name: "Held by limits", num: true, cell: (row) => percent(laneOf(row.tenant)?.limitedRatio) },
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
        { name: "Rate", cell: (row) => <span class="nowrap">{rateWords(row.rate)}</span> },
      ]}
    />
  );
}

/** What it got as a bar; the notch is what it was entitled to. */
const ShareBar = ({ given, entitled }: { given: number; entitled: number }) => (
  <span class="row share">
    <span class="share-bar">
      <Meter share={given} label={`Given ${percent(given)}`} />
      <i class="notch" style={{ left: `${Math.min(100, entitled * 100)}%` }} />
    </span>
    <span class="num">
      {percent(given)} <span class="quiet">fair {percent(entitled)}</span>
    </span>
  </span>
);
