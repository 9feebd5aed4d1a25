// Limits that have a name and units, shared by kinds: what each lets through, and how many jobs wait for it.
import type { NamedLimit, Page as PageOf } from "../../data/contract";
import { useResource } from "../../data/resource";
import { count } from "../../format/numbers";
import { CountOf } from "../../parts/counts";
import { Empty } from "../../parts/states";
import { Clip } from "../../parts/table";
import { route } from "../../shell/route";
import { perWords } from "../limit-words";
import { Listing } from "../listing";

export function NamedLimits() {
  const list = useResource<PageOf<NamedLimit>>("named-limits", ["limits", "jobs"]);
  // Most projects have none: their screen is not longer for it.
  if (list.data?.items.length === 0 && route.value.query.get("cursor") === null) return null;
  return (
    <Listing
      from={list}
      title="Limits in units"
      note="shared by the jobs that need them"
      name="limits in units"
      keyOf={(row) => row.name}
      empty={
        <Empty icon="limits" title="No limit has a name">
          Requests, tokens or anything else that several kinds share: <code>defineLimit({"{ name, windows }"})</code>
        </Empty>
      }
      columns={[
        { name: "Limit", cell: (row) => <Clip text={row.name} /> },
        {
          name: "Lets through",
          cell: (row) =>
            row.windows.map(({ unit, limit, perMs }) => (
              <div key={`${unit}${perMs}`} class="nowrap">
                {count(limit)} {unit} per {perWords(perMs)}
              </div>
            )),
        },
        { name: "Jobs that wait for it", num: true, cell: (row) => <CountOf of={row.waiting} /> },
      ]}
    />
  );
}
