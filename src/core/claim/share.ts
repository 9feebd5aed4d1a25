// Divides a claim's jobs over lanes by their weights. A job of a lane costs 1/weight of a round; the lane whose next job is due in the lowest
// round is served next. Whole rounds are computed, only what is left of them is dealt out one by one.
import { Heap, type Placed } from "../../base/heap.js";
import type { Lane } from "./lane.js";
import type { TenantQuota } from "./tenant-quota.js";

/** A lane's part of one claim. */
export interface Part extends Placed {
  readonly lane: Lane;
  quantum: number;
  /** In which round the next job after these would be due. */
  round: number;
  /** Between parts of one round: the one that got less goes first. */
  order: number;
}

export const newPart = (lane: Lane, order: number): Part => ({
  lane,
  quantum: 0,
  round: lane.round,
  order,
  index: -1,
});

/** Gives the jobs to the parts, each within its tenant's quota; returns how many no part could take. */
export function share(jobs: number, parts: readonly Part[], quota: TenantQuota): number {
  let left = jobs;
  let order = parts.length;
  for (let given = parts.length; left >= parts.length && given >= parts.length; order += parts.length) {
    given = giveRounds(left, parts, quota);
    left -= given;
  }

  const next = new Heap<Part>((a, b) => a.round < b.round || (a.round === b.round && a.order < b.order));
  for (const part of parts) next.push(part);
  while (left > 0 && next.first) {
    const part = next.first;
    if (give(part, 1, quota) === 0) next.remove(part);
    else {
      part.order = order++;
      next.moved(part);
      left--;
    }
  }
  return left;
}

/** As many rounds as all parts together surely have jobs for: at most `jobs`, because each part rounds up by less than one job. */
function giveRounds(jobs: number, parts: readonly Part[], quota: TenantQuota): number {
  let first = Number.POSITIVE_INFINITY;
  let weights = 0;
  for (const part of parts) {
    if (part.lane.isCut) continue;
    first = Math.min(first, part.round);
    weights += part.lane.weight;
  }
  const until = first + (jobs - parts.length) / weights;
  let given = 0;
  for (const part of parts) {
    if (part.lane.isCut || part.round > until) continue;
    const count = Math.floor((until - part.round) * part.lane.weight) + 1;
    given += give(part, Math.min(count, jobs - given), quota);
    part.order += parts.length;
  }
  return given;
}

function give(part: Part, count: number, quota: TenantQuota): number {
  const given = quota.take(part.lane.tenant, count);
  if (given < count) part.lane.isCut = true;
  part.quantum += given;
  part.round += given / part.lane.weight;
  return given;
}
