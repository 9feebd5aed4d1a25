// How a claim's cost is measured: lanes to claim along, and the middle of several tries.
import type { Lane } from "../../support/sql/calls.js";

export const lanesOf = (
  tenants: number,
  quantum: number,
  floors: readonly string[] = [],
): Required<Omit<Lane, "queue" | "priority">>[] =>
  Array.from({ length: tenants }, (_, n) => ({
    tenant: `t${String(n).padStart(5, "0")}`,
    quantum,
    floor: floors[n] ?? "0",
  }));

export const CLAIM =
  "select * from fairmill.claim_lanes_v1('w', $1, $2, $3, $4, $5, null, $6, list_no => (extract(epoch from clock_timestamp()) * 1e6)::bigint)";

/** The middle of several: the first call after a vacuum plans anew, and a page is split here or there. */
export async function middleOf(measure: () => Promise<number>): Promise<number> {
  const figures: number[] = [];
  for (let n = 0; n < 9; n++) figures.push(await measure());
  return figures.toSorted((a, b) => a - b)[4]!;
}
