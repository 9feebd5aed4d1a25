// Budgets: what the calls of a tenant may cost in a day or a month, and what is spent of it.
import type { Budget, Page as PageOf } from "../../data/contract";
import { useResource } from "../../data/resource";
import { money } from "../../format/numbers";
import { StateBadge } from "../../parts/badge";
import { Meter } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Clip } from "../../parts/table";
import { Ago } from "../../parts/time";
import { link, route } from "../../shell/route";
import { Listing } from "../listing";

const SIGNS = { within: "ok", soft: "uncertain", spent: "dead" } as const;
const WORDS = { within: "within", soft: "above soft", spent: "spent" } as const;
const TONES = { within: "running", soft: "blocked", spent: "dead" } as const;

export function Budgets() {
  const list = useResource<PageOf<Budget>>("budgets", ["credits", "series"]);
  // Most tenants have none: then the screen is not longer for it.
  if (list.data?.items.length === 0 && route.value.query.get("cursor") === null) return null;
  return (
    <Listing
      from={list}
      title="Budgets"
      note="what the calls of a tenant may cost"
      name="budgets"
      keyOf={(row) => JSON.stringify([row.tenant, row.per, row.provider, row.kind, row.currency])}
      empty={
        <Empty icon="money" title="No tenant has a budget">
          Set one: <code>{'client.budgets.set({ tenant: "acme", per: "month", hard: 50 })'}</code>
        </Empty>
      }
      columns={[
        { name: "Tenant", cell: (row) => <Clip text={row.tenant} href={link(["tenants", row.tenant])} /> },
        {
          name: "Of",
          cell: (row) => <Clip text={[row.provider, row.kind].filter(Boolean).join(", ") || "all calls"} />,
        },
        {
          name: "Spent",
          cell: (row) => {
            const most = row.hard ?? row.soft ?? 0;
            return (
              <span class="row gauge">
                {most > 0 && (
                  <Meter
                    share={row.spent / most}
                    tone={TONES[row.state] ?? "running"}
                    label={`${money(row.spent)} spent`}
                  />
                )}
                <span class="num">
                  {money(row.spent)}{" "}
                  <span class="quiet">
                    of {money(most)} {row.currency}
                  </span>
                </span>
              </span>
            );
          },
        },
        {
          name: "State",
          cell: (row) => <StateBadge state={SIGNS[row.state] ?? "ok"} label={WORDS[row.state] ?? row.state} />,
        },
        {
          name: "Starts again",
          cell: (row) => (
            <>
              <Ago at={row.periodUntil} /> <span class="quiet small">each {row.per}</span>
            </>
          ),
        },
      ]}
    />
  );
}
