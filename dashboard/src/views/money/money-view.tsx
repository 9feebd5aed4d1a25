// Credits & money: what providers cost beside what was captured, per tenant and kind; accounts with what is free and reserved.
import type { AccountRow, MoneyAnswer, MoneyRow, Page as PageOf } from "../../data/contract";
import { useResource } from "../../data/resource";
import { count, money, rate } from "../../format/numbers";
import { apiQuery } from "../../parts/filters";
import { Loaded } from "../../parts/loaded";
import { Panel, Stats } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Clip } from "../../parts/table";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { link, route, withQuery } from "../../shell/route";
import { Listing } from "../listing";
import { SpanChoice, useSpan } from "../span";
import { Budgets } from "./budgets";
import { MarginTable } from "./margin-table";

export function MoneyView() {
  const span = useSpan();
  const by = route.value.query.get("by") === "kind" ? "kind" : "tenant";
  const path = `credits${apiQuery([])}`;
  const accounts = useResource<PageOf<AccountRow>>(path, ["credits"]);
  const margins = useResource<MoneyAnswer>(`money?by=${by}${span.query}`, ["series", "credits"]);
  return (
    <Page
      title="Credits & money"
      json={path}
      cli="fairmill providers list"
      about="What customers paid in credits, what providers cost, and what is left."
      actions={<SpanChoice />}
    >
      {margins.data && margins.data.items.length > 0 && <Totals answer={margins.data} />}
      <Panel
        title="Earned and spent"
        note="captured credits beside the cost of providers"
        flush
        tools={
          <nav class="tabs" aria-label="By">
            {(["tenant", "kind"] as const).map((one) => (
              <a
                key={one}
                href={withQuery({ by: one === "tenant" ? null : one })}
                aria-current={by === one ? "true" : undefined}
              >
                by {one}
              </a>
            ))}
          </nav>
        }
      >
        <Loaded from={margins} rows={5} unrecorded="The cost of providers is not recorded by this server.">
          {(answer) =>
            answer.items.length === 0 ? (
              <Empty icon="money" title="No credits were captured in this time">
                Jobs whose definition has credits capture them when they are done; calls of providers cost money.
              </Empty>
            ) : (
              <>
                <MarginTable rows={answer.items} by={by} hasMargin={answer.creditWorth !== null} />
                {answer.creditWorth === null && (
                  <p class="pager quiet small wrap">
                    Say what a credit is worth, and the margin stands here:{" "}
                    <code>{"dashboard: { creditWorth: 0.04 }"}</code> in fairmill.config.ts
                  </p>
                )}
              </>
            )
          }
        </Loaded>
      </Panel>
      <Budgets />
      <Listing
        from={accounts}
        title="Accounts"
        name="accounts"
        keyOf={(row) => row.account}
        empty={
          <Empty icon="money" title="No accounts">
            Grant some: <code>fairmill credits grant user-17 100</code>
          </Empty>
        }
        columns={[
          { name: "Account", cell: (row) => <Clip text={row.account} href={link(["money", row.account])} /> },
          {
            name: "Available",
            num: true,
            cell: (row) => <span class={row.available <= 0 ? "c-dead" : undefined}>{count(row.available)}</span>,
          },
          { name: "Reserved", num: true, cell: (row) => count(row.reserved) },
          { name: "Opened", cell: (row) => <Ago at={row.createdAt} /> },
        ]}
      />
    </Page>
  );
}

const sum = (rows: readonly MoneyRow[], of: (row: MoneyRow) => number | null): number =>
  rows.reduce((total, row) => total + (of(row) ?? 0), 0);

function Totals({ answer: { items: rows, creditWorth } }: { answer: MoneyAnswer }) {
  const captured = sum(rows, (row) => row.captured);
  const cost = sum(rows, (row) => row.providerCost);
  const margin = sum(rows, (row) => row.margin);
  const unit = rows.find((row) => row.currency)?.currency ?? "";
  const losing = rows.filter((row) => (row.margin ?? 0) < 0).length;
  return (
    <Stats
      figures={[
        { label: "Captured", value: count(captured), unit: "credits" },
        { label: "Cost of providers", value: money(cost), unit },
        { label: "Jobs", value: count(sum(rows, (row) => row.jobs)) },
        ...(creditWorth === null
          ? []
          : [
              {
                label: "Margin",
                value: money(margin),
                unit,
                note: `a credit is worth ${rate(creditWorth)} ${unit}`,
                alarm: margin < 0,
              },
              { label: "Losing", value: count(losing), note: "cost more than they brought", alarm: losing > 0 },
            ]),
      ]}
    />
  );
}
