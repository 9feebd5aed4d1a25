// Alerts: what fires and why, with the threshold it crossed; the rules, quiet ones too.

import type { Alert, AlertRule, Page as PageOf } from "../../data/contract";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { duration } from "../../format/times";
import { Action } from "../../parts/action";
import { Badge, StateBadge } from "../../parts/badge";
import { apiQuery, Choice } from "../../parts/filters";
import { Loaded } from "../../parts/loaded";
import { Panel } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Clip, Table } from "../../parts/table";
import { Ago, Sentence } from "../../parts/time";
import { Page } from "../../shell/page";
import { Listing } from "../listing";
import { measure } from "./measure";

const SEVERITIES = { critical: "dead", warning: "blocked", info: "ready" } as const;
const Severity = ({ of }: { of: string }) => (
  <Badge tone={SEVERITIES[of as keyof typeof SEVERITIES] ?? "ready"} icon={of === "info" ? "help" : "errors"}>
    {of}
  </Badge>
);

export function AlertsView() {
  const path = `alerts${apiQuery(["state"])}`;
  const alerts = useResource<PageOf<Alert>>(path, ["alerts"]);
  const rules = useResource<{ items: AlertRule[] }>("alerts/rules", ["alerts"]);
  return (
    <Page
      title="Alerts"
      json={path}
      cli="fairmill alerts"
      about="Rules that watch the queue. Each change is sent once."
    >
      <Listing
        from={alerts}
        title="Alerts"
        name="alerts"
        tools={<Choice name="state" label="State" values={["firing", "pending", "resolved"]} />}
        unrecorded="This server does not read alerts. Start it with them: see the guide on alerts."
        keyOf={(row) => row.id}
        empty={<Empty icon="alerts" title="All quiet" />}
        columns={[
          {
            name: "State",
            cell: (row) => <StateBadge state={row.state === "pending" ? "waiting" : row.state} label={row.state} />,
          },
          { name: "Severity", cell: (row) => <Severity of={row.severity} /> },
          {
            name: "What",
            rest: true,
            cell: (row) => (
              <div class="alert-what">
                <span class="wrap">
                  <Sentence text={row.message} />
                </span>
                <span class="quiet small clip">{[row.rule, row.subject].filter(Boolean).join(" · ")}</span>
              </div>
            ),
          },
          {
            name: "Value",
            num: true,
            cell: (row) => measure(row.value, row.unit),
          },
          { name: "Above", num: true, cell: (row) => <span class="quiet">{measure(row.threshold, row.unit)}</span> },
          { name: "Since", cell: (row) => <Ago at={row.firedAt ?? row.since} /> },
          {
            name: "Actions",
            unseen: true,
            cell: (row) =>
              row.silencedUntil ? (
                <span class="quiet small">
                  silent, ends <Ago at={row.silencedUntil} />
                </span>
              ) : (
                row.state === "firing" && (
                  <Action
                    little
                    label="Silence 1 h"
                    icon="pause"
                    path={`alerts/${segment(row.id)}/silence`}
                    body={{ for: "1h" }}
                    done={() => "Silenced for an hour"}
                  />
                )
              ),
          },
        ]}
      />
      <Panel title="Rules" flush>
        <Loaded from={rules} unrecorded="Rules are read with the alerts.">
          {(answer) => (
            <Table
              label="Rules"
              rows={answer.items}
              keyOf={(row) => row.rule}
              columns={[
                { name: "Rule", cell: (row) => <Clip text={row.rule} /> },
                { name: "Fires when", cell: (row) => <span class="wrap">{row.description}</span> },
                { name: "Above", num: true, cell: (row) => measure(row.threshold, row.unit) },
                { name: "For", num: true, cell: (row) => (row.forMs === 0 ? "at once" : duration(row.forMs)) },
                { name: "Severity", cell: (row) => <Severity of={row.severity} /> },
                {
                  name: "State",
                  cell: (row) => (
                    <StateBadge state={row.enabled ? "active" : "paused"} label={row.enabled ? "on" : "off"} />
                  ),
                },
              ]}
            />
          )}
        </Loaded>
      </Panel>
    </Page>
  );
}
