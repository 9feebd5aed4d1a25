// Sorts the answer of a claim by the lanes that were asked.
import type { Claim } from "../model/claim.js";
import { compareIds, isSortedById } from "../model/job-id.js";
import type { Probe } from "../store/claim.js";

/** The claims of each probe, oldest first. */
export function byLane(probes: readonly Probe[], claims: Claim[]): Claim[][] {
  const lanes: Claim[][] = probes.length === 1 ? [claims] : probes.map(() => []);
  if (probes.length > 1) {
    const levels = new Map<number, Map<string, Claim[]>>();
    for (const [i, { priority, tenant }] of probes.entries()) {
      const level = levels.get(priority) ?? new Map<string, Claim[]>();
      levels.set(priority, level.set(tenant, lanes[i]!));
    }
    for (const claim of claims) levels.get(claim.priority)!.get(claim.tenant)!.push(claim);
  }
  for (const lane of lanes) if (!isSortedById(lane, idOf)) lane.sort((a, b) => compareIds(a.id, b.id));
  return lanes;
}

const idOf = (claim: Claim) => claim.id;
