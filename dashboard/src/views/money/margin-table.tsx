// What was captured beside what providers cost, by tenant or by kind.
import type { MoneyRow } from "../../data/contract";
import { count, money, percent } from "../../format/numbers";
import { Meter } from "../../parts/panel";
import { Clip, Table } from "../../parts/table";
import { link } from "../../shell/route";

export function MarginTable(props: { rows: readonly MoneyRow[]; by: "tenant" | "kind"; hasMargin: boolean }) {
  const { rows, by, hasMargin } = props;
  const most = Math.max(1, ...rows.map((row) => row.captured));
  return (
    <Table
      label="Earned and spent"
      rows={rows}
      keyOf={(row) => `${row.key} ${row.currency}`}
      columns={[
        {
          name: by === "tenant" ? "Tenant" : "Kind",
          cell: (row) => (
            <Clip
              text={row.key}
              href={by === "tenant" ? link(["tenants", row.key]) : link(["jobs"], { kind: row.key })}
            />
          ),
        },
        { name: "Jobs", num: true, cell: (row) => count(row.jobs) },
        {
          name: "Captured",
          cell: (row) => (
            <span class="row gauge">
              <Meter share={row.captured / most} tone="done" label={`${row.captured} credits`} />
              <span class="num">{count(row.captured)}</span>
            </span>
          ),
        },
        { name: "Provider cost", num: true, cell: (row) => `${money(row.providerCost)} ${row.currency ?? ""}`.trim() },
        hasMargin && {
          name: "Margin",
          num: true,
          cell: (row) => (
            <span class={(row.margin ?? 0) < 0 ? "c-dead" : undefined}>
              {money(row.margin)} {row.currency ?? ""}
            </span>
          ),
        },
        hasMargin && {
          name: "of captured",
          num: true,
          cell: (row) =>
            row.margin !== null && row.captured > 0 && row.providerCost !== null && row.margin + row.providerCost > 0
              ? percent(row.margin / (row.margin + row.providerCost))
              : "–",
        },
      ]}
    />
  );
}
