// The order in which claimed jobs are started: one of each lane in turn, oldest first within a lane.
import type { Claim } from "../job/claim.js";

/** `lanes` are the claims lane by lane. */
export function interleave(lanes: readonly (readonly Claim[])[]): Claim[] {
  if (lanes.length === 1) return [...lanes[0]!];
  const order: Claim[] = [];
  const longest = lanes.reduce((max, lane) => Math.max(max, lane.length), 0);
  for (let turn = 0; turn < longest; turn++)
    for (const lane of lanes) {
      const claim = lane[turn];
      if (claim) order.push(claim);
    }
  return order;
}
