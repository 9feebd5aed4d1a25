// One account: what is free, what is reserved, how fast it burns, and every movement.

import { useState } from "preact/hooks";
import type { AccountRow, CreditEntry, Page as PageOf } from "../../data/contract";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { may } from "../../data/session";
import { count, rate } from "../../format/numbers";
import { coarse } from "../../format/times";
import { act } from "../../parts/action";
import { StateBadge } from "../../parts/badge";
import { cli } from "../../parts/copy";
import { apiQuery } from "../../parts/filters";
import { Loaded } from "../../parts/loaded";
import { Stats } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Clip } from "../../parts/table";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { link } from "../../shell/route";
import { Listing } from "../listing";

const SIGNS: Record<CreditEntry["kind"], string> = {
  grant: "delivered",
  reservation: "reserved",
  capture: "done",
  release: "cancelled",
  refund: "cancelled",
};
const WORDS: Record<CreditEntry["kind"], string> = {
  grant: "granted",
  reservation: "reserved",
  capture: "captured",
  release: "released",
  refund: "refunded",
};

/** On what is available. A capture takes what was reserved before. */
const EFFECTS: Readonly<Record<CreditEntry["kind"], string>> = {
  grant: "+",
  reservation: "−",
  capture: "",
  release: "+",
  refund: "+",
};

export function AccountView({ name }: { name: string }) {
  const path = `credits/${segment(name)}`;
  const account = useResource<AccountRow & { burnPerDay: number | null; daysLeft: number | null }>(path, ["credits"]);
  const entries = useResource<PageOf<CreditEntry>>(`${path}/entries${apiQuery([])}`, ["credits"]);
  return (
    <Page
      title={name}
      json={path}
      cli={cli(["credits", "statement", name])}
      back={{ href: "#/money", name: "Credits & money" }}
      actions={may("admin") && <GrantForm name={name} path={path} />}
    >
      <Loaded from={account} rows={2}>
        {(row) => (
          <Stats
            figures={[
              { label: "Available", value: count(row.available), alarm: row.available <= 0 },
              { label: "Reserved", value: count(row.reserved), note: "by jobs that have not ended" },
              { label: "Burns", value: rate(row.burnPerDay), unit: "a day" },
              {
                label: "Lasts",
                value:
                  row.daysLeft !== null && row.daysLeft < 2 ? coarse(row.daysLeft * 86_400_000) : rate(row.daysLeft),
                unit: row.daysLeft !== null && row.daysLeft < 2 ? "" : "days",
                alarm: row.daysLeft !== null && row.daysLeft < 3,
              },
            ]}
          />
        )}
      </Loaded>
      <Listing
        from={entries}
        title="Movements"
        name="movements"
        keyOf={(row) => row.id}
        empty={<Empty icon="money" title="No movement yet" />}
        columns={[
          { name: "When", cell: (row) => <Ago at={row.createdAt} /> },
          {
            name: "What",
            cell: (row) => <StateBadge state={SIGNS[row.kind] ?? "reserved"} label={WORDS[row.kind] ?? row.kind} />,
          },
          { name: "Amount", num: true, cell: (row) => `${EFFECTS[row.kind] ?? ""}${count(row.amount)}` },
          {
            name: "Job",
            cell: (row) =>
              row.jobId === null ? (
                "–"
              ) : (
                <a class="mono" href={link(["jobs", row.jobId])}>
                  {row.jobId}
                </a>
              ),
          },
          { name: "Reason", cell: (row) => <Clip long text={row.reason} /> },
        ]}
      />
    </Page>
  );
}

function GrantForm({ name, path }: { name: string; path: string }) {
  const [amount, setAmount] = useState("");
  const grant = async (event: Event) => {
    event.preventDefault();
    await act<{ available: number }>(
      "POST",
      `${path}/grant`,
      { amount: Number(amount) },
      ({ available }) => `${name} has ${count(available)} now`,
    );
    setAmount("");
  };
  return (
    <form class="row" onSubmit={grant}>
      <input
        class="input short"
        type="number"
        min="1"
        required
        placeholder="Credits"
        aria-label="Credits to grant"
        value={amount}
        onInput={(event) => setAmount(event.currentTarget.value)}
      />
      <button type="submit" class="button primary">
        Grant
      </button>
    </form>
  );
}
