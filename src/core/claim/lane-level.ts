// The lanes of one priority and their turns. Each lane stands at the round in which its next job is due, the level at the last round that
// it served. That is weighted fair queueing rather than deficit round robin: turns of `weight` jobs would come in bursts of a thousand for
// one tenant, and in a hundred empty rounds for another.
//
// There is no credit for the past: a lane that comes, or comes back, stands one job behind the level; and a share that a lane cannot use goes to
// the others, which move on without it.

import { Heap } from "../../base/heap.js";
import type { Probe, WaitingLane } from "./claim-statements.js";
import { isSooner, type Lane } from "./lane.js";
import { newPart, type Part, share } from "./share.js";
import type { TenantQuota } from "./tenant-quota.js";

export class LaneLevel {
  readonly priority: number;
  /** Jobs that this level is owed because higher ones were served: paid out in whole jobs. */
  credit = 0;
  /** All of them, the parked ones too. */
  readonly #lanes = new Map<string, Lane>();
  /** Those that have a turn. */
  readonly #turns = new Heap<Lane>(isSooner);
  #round = 0;
  #orders = 0;

  constructor(priority: number) {
    this.priority = priority;
  }

  /** Lanes that have a turn. */
  get size(): number {
    return this.#turns.size;
  }

  /** Lanes that are known. */
  get known(): number {
    return this.#lanes.size;
  }

  find(tenant: string): Lane | undefined {
    return this.#lanes.get(tenant);
  }

  add({ priority, tenant, weight }: WaitingLane, floor: string): Lane {
    const lane: Lane = {
      priority,
      tenant,
      weight,
      floor,
      low: floor,
      round: 0,
      order: 0,
      parkedAt: undefined,
      hasLeft: false,
      isCut: false,
      index: -1,
    };
    this.#lanes.set(tenant, lane);
    this.enter(lane);
    return lane;
  }

  /** The lane has a turn from now on, behind all lanes of the same round. */
  enter(lane: Lane): void {
    this.#catchUp(lane);
    this.stay(lane);
  }

  /** Back to its turn, at the round it has come to. */
  stay(lane: Lane): void {
    lane.order = this.#orders++;
    lane.isCut = false;
    lane.hasLeft = false;
    this.#turns.push(lane);
  }

  /** No turn for now: it is parked, or about to be placed again. */
  leave(lane: Lane): void {
    this.#turns.remove(lane);
  }

  /** Forgets a lane that has left. */
  forget(lane: Lane): void {
    this.#lanes.delete(lane.tenant);
    // Rounds only count from one lane to the next: begin small again.
    if (this.#lanes.size === 0) this.#round = 0;
  }

  /** Jobs of this lane, which has left the heap, were claimed. */
  serve(lane: Lane, count: number): void {
    if (count === 0) return;
    lane.round += count / lane.weight;
    this.#round = Math.max(this.#round, lane.round - 1 / lane.weight);
  }

  reweigh(lane: Lane, weight: number): void {
    if (lane.weight === weight) return;
    lane.round += 1 / weight - 1 / lane.weight;
    lane.weight = weight;
    if (!lane.parkedAt && !lane.hasLeft) this.#turns.moved(lane);
  }

  /** Splits the jobs over the lanes whose turn it is, at most `probesMax`. No lane has moved yet: only a report does that. */
  propose(jobs: number, probesMax: number, quota: TenantQuota): Probe[] {
    const looked: Lane[] = [];
    const parts: Part[] = [];
    let left = jobs;
    // Once around, unless tenants that have enough leave jobs to those behind them.
    while (left > 0 && parts.length < probesMax && this.#turns.size > 0) {
      const some: Part[] = [];
      for (let room = Math.min(left, probesMax - parts.length); room > 0 && this.#turns.size > 0; room--) {
        const lane = this.#turns.pop()!;
        if (lane.isCut) this.#catchUp(lane);
        lane.isCut = false;
        looked.push(lane);
        some.push(newPart(lane, some.length));
      }
      left = share(left, some, quota);
      for (const part of some) if (part.quantum > 0) parts.push(part);
    }
    for (const lane of looked) this.#turns.push(lane);
    return parts.map(({ lane: { priority, tenant, floor }, quantum }) => ({ priority, tenant, floor, quantum }));
  }
  #catchUp(lane: Lane): void {
    lane.round = Math.max(lane.round, this.#round + 1 / lane.weight);
  }
}
