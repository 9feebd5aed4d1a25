// One tenant: its figures, its limits, what waits for what; a new limit can be tried on the last hour before it is set.

import type { Backlog, Fairness, MoneyAnswer, TenantRow } from "../../data/contract";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { may, narrowed } from "../../data/session";
import { percent } from "../../format/numbers";
import { duration } from "../../format/times";
import { cli } from "../../parts/copy";
import { CountOf } from "../../parts/counts";
import { Loaded } from "../../parts/loaded";
import { Panel, Stats } from "../../parts/panel";
import { PauseAction, PausedBadge } from "../../parts/pause";
import { Page } from "../../shell/page";
import { link } from "../../shell/route";
import { rateWords } from "../limit-words";
import { LimitForm } from "../limits/limit-form";
import { MarginTable } from "../money/margin-table";
import { BacklogChart } from "../now/backlog-chart";
import { SpanChoice, useSpan } from "../span";

export function TenantView({ name }: { name: string }) {
  const path = `tenants/${segment(name)}`;
  const one = useResource<TenantRow>(path, ["jobs", "limits"]);
  const span = useSpan();
  // One that may see its own tenant alone is not told how much that is of all.
  const fairness = useResource<Fairness>(narrowed.value === null ? `fairness?limit=50${span.query}` : null, ["series"]);
  const lane = fairness.data?.lanes.find(({ tenant }) => tenant === name);
  const backlog = useResource<Backlog>(`backlog?tenant=${segment(name)}${span.query}`, ["series"]);
  const money = useResource<MoneyAnswer>(`money?by=kind&tenant=${segment(name)}${span.query}`, ["series", "credits"]);
  return (
    <Page
      title={name}
      json={path}
      cli={cli(["tenants", "get", name])}
      back={{ href: "#/tenants", name: "Tenants" }}
      actions={
        one.data && (
          <>
            <a class="button" href={link(["jobs"], { tenant: name })}>
              Jobs
            </a>
            <PauseAction path={path} name={name} of={one.data} />
          </>
        )
      }
    >
      <Loaded from={one}>
        {(row) => (
          <>
            <Stats
              figures={[
                {
                  label: "Running",
                  value: <CountOf of={row.running} />,
                  unit: row.maxRunning === null ? "no cap" : `of ${row.maxRunning}`,
                  href: link(["jobs"], { tenant: name, state: "running" }),
                },
                {
                  label: "Ready",
                  value: <CountOf of={row.ready} />,
                  href: link(["jobs"], { tenant: name, state: "ready" }),
                },
                ...(lane
                  ? [
                      {
                        label: "Given",
                        value: percent(lane.shareGiven),
                        note: `of the service; a fair share is ${percent(lane.shareEntitled)}`,
                      },
                      { label: "Wait p95", value: duration(lane.waitP95Ms), note: "95 of 100 waited no longer" },
                    ]
                  : []),
                { label: "Weight", value: row.weight, note: "its part of the service" },
                {
                  label: "Rate",
                  value: row.rate ? rateWords(row.rate) : "none",
                  ...(row.rate ? { note: row.rate.at === "start" ? "of starts; jobs wait" : "of enqueues" } : {}),
                },
              ]}
            />
            <PausedBadge of={row} />
            <div class="grid wide-left">
              <Panel title="Why its jobs wait" tools={<SpanChoice />}>
                <Loaded from={backlog} unrecorded="There are no interval records to draw it from.">
                  {(answer) => <BacklogChart backlog={answer} height={240} />}
                </Loaded>
              </Panel>
              {may("admin") && (
                <Panel title="Limits" note="try first, then set">
                  <LimitForm scope="tenant" name={name} now={row} weight={row.weight} />
                </Panel>
              )}
            </div>
            {money.data && money.data.items.length > 0 && (
              <Panel title="Earned and spent" note="captured credits beside the cost of providers, by kind" flush>
                <MarginTable rows={money.data.items} by="kind" hasMargin={money.data.creditWorth !== null} />
              </Panel>
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}
