// A small reference for the ring: lanes in memory that answer probes as the database does, limits of tenants and kinds included.

import type { ClosedLimit } from "../../../src/core/claim/closed-limit.js";
import { type Closing, toClosing } from "../../../src/core/claim/closed-limits.js";
import { LaneRing } from "../../../src/core/claim/lane-ring.js";

export const LOWER_SHARE = 0.1;
export const newRing = (lowerShare = LOWER_SHARE, tenantJobsMax?: number) => new LaneRing(lowerShare, tenantJobsMax);
const nameOf = ({ priority, tenant }: { priority: number; tenant: string }) => `${priority}/${tenant}`;

export const add = (ring: LaneRing, priority: number, ...tenants: string[]) => {
  for (const tenant of tenants) ring.add({ priority, tenant, weight: 1 }, false);
};

/** A closing as the claimer makes it of what the database says. */
export const closing = (held: Partial<ClosedLimit> & Pick<ClosedLimit, "scope" | "name">, nowMs = 0): Closing =>
  toClosing({ why: "cap", openInMs: null, ...held }, nowMs);

/** Lanes of waiting ids, answered like claim_lanes_v1: in order of the probes, above the floor, up to the quantum, until full. */
export class Reference {
  readonly #lanes = new Map<string, { ids: number[]; head: number }>();
  readonly served = new Map<string, number>();
  /** Probes that were sent, in all. */
  probes = 0;
  #next = 1;

  put(priority: number, tenant: string, count: number): void {
    const name = nameOf({ priority, tenant });
    const lane = this.#lanes.get(name) ?? { ids: [], head: 0 };
    for (let i = 0; i < count; i++) lane.ids.push(this.#next++);
    this.#lanes.set(name, lane);
  }

  left(name: string): number {
    const lane = this.#lanes.get(name);
    return lane ? lane.ids.length - lane.head : 0;
  }

  /** One claim through the ring; returns how many jobs it brought. `room`: how many jobs a limit lets each tenant have now. */
  claim(ring: LaneRing, jobsMax: number, room = new Map<string, number>(), nowMs = 0): number {
    ring.letOut(nowMs, jobsMax);
    const probes = ring.take(jobsMax);
    this.probes += probes.length;
    const taken = probes.map(() => [] as number[]);
    const held = new Set<string>();
    let free = jobsMax;
    for (const [i, probe] of probes.entries()) {
      const lane = this.#lanes.get(nameOf(probe))!;
      const may = room.get(probe.tenant) ?? Number.POSITIVE_INFINITY;
      const wanted = Math.min(probe.quantum, free);
      const due = lane.ids.slice(lane.head, lane.head + Math.min(wanted, may));
      if (may < wanted && due.length < wanted) held.add(probe.tenant);
      if (room.has(probe.tenant)) room.set(probe.tenant, may - due.length);
      // Nothing that waits may lie below the floor: the database would not see it.
      if (due.some((id) => id <= Number(probe.floor))) throw new Error(`A job waits below the floor ${probe.floor}.`);
      lane.head += due.length;
      taken[i] = due;
      free -= due.length;
      const name = nameOf(probe);
      this.served.set(name, (this.served.get(name) ?? 0) + due.length);
      if (free === 0) break;
    }
    ring.report(
      probes,
      taken.map((ids) => ids.length),
      taken.map((ids) => (ids.length > 0 ? String(ids.at(-1)) : undefined)),
      free === 0,
      [...held].map((name) => closing({ scope: "tenant", name }, nowMs)),
    );
    return jobsMax - free;
  }

  /** How far apart the tenants of priority 0 are. */
  spread(tenants: readonly string[]): number {
    const counts = tenants.map((tenant) => this.count(`0/${tenant}`));
    return Math.max(...counts) - Math.min(...counts);
  }

  count(name: string): number {
    return this.served.get(name) ?? 0;
  }
}
