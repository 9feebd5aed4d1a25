// Sorts the answer of a claim by the lanes that were asked.

import { compareIds, isSortedById } from "../../base/job-id.js";
import type { Claim } from "../job/claim.js";
import type { Probe } from "./claim-statements.js";
import type { RateLimited } from "./closed-limit.js";

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

/** By probe, how many jobs of its lane were rate-limited. */
export function lateOf(probes: readonly Probe[], late: readonly RateLimited[]): number[] {
  if (late.length === 0) return probes.map(() => 0);
  const counts = new Map(late.map(({ priority, tenant, count }) => [`${priority} ${tenant}`, count]));
  return probes.map(({ priority, tenant }) => counts.get(`${priority} ${tenant}`) ?? 0);
}

const idOf = (claim: Claim) => claim.id;
