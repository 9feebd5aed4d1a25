// The ring of lanes of one queue: whose turn it is, and from which id on. Pure memory; all of it is hints. The truth is in the
// database: a lane that is missing here is found by the next scan, a floor that is too high is forgotten by it.
//
//  1. `add` puts a lane at the end of its priority's ring.
//  2. `take` proposes probes for a number of jobs: every waiting lane an equal part, higher priorities first, lower ones their
//     guaranteed share.
//  3. `report` says what the probes brought: a lane that gave all it was asked for goes to the end, one that gave less leaves.
import { compareIds } from "../model/job-id.js";
import type { LaneName, Probe } from "../store/claim.js";

interface Lane extends LaneName {
  floor: string;
}

interface Level {
  readonly priority: number;
  /** In the order of their turns; a Map keeps insertion order, and deleting from it is cheap. */
  readonly lanes: Map<string, Lane>;
  /** Jobs that this level is owed because higher ones were served: paid out in whole jobs. */
  credit: number;
}

/** Probes of one claim: each costs an index descent, so their number is bounded. */
const PROBES_MAX = 1_000;
/** Lanes kept in memory; beyond it the scan brings them back in turn. */
const LANES_MAX = 100_000;

export class LaneRing {
  /** Part of the jobs that each lower priority is sure of while higher ones wait too. */
  readonly #lowerShare: number;
  /** Highest priority first. */
  #levels: Level[] = [];
  #size = 0;

  constructor(lowerShare: number) {
    this.#lowerShare = lowerShare;
  }

  get size(): number {
    return this.#size;
  }

  /** A lane in which jobs wait. One that is known keeps its turn; `forgetFloor` makes it look at all ids again. */
  add(name: LaneName, forgetFloor: boolean): void {
    const level = this.#level(name.priority);
    const known = level.lanes.get(name.tenant);
    if (known) {
      if (forgetFloor) known.floor = "0";
    } else if (this.#size < LANES_MAX) {
      level.lanes.set(name.tenant, { priority: name.priority, tenant: name.tenant, floor: "0" });
      this.#size++;
    }
  }

  clear(): void {
    this.#levels = [];
    this.#size = 0;
  }

  /** Probes for up to `jobsMax` jobs, in the order of preference. Together they may ask for more: the claim stops at `jobsMax`. */
  take(jobsMax: number): Probe[] {
    const probes: Probe[] = [];
    const waiting = this.#levels.filter((level) => level.lanes.size > 0);
    // First what the lower levels are owed, then everybody from the top: so a short lane above never leaves slots empty.
    let free = jobsMax;
    for (const level of waiting.slice(1)) {
      const owed = Math.min(Math.floor(level.credit), free);
      if (owed >= 1) {
        free -= owed;
        this.#propose(level, owed, probes);
      }
    }
    const served = new Set(probes.map((probe) => probe.priority));
    for (const level of waiting) {
      if (free === 0 || probes.length >= PROBES_MAX) break;
      if (!served.has(level.priority)) this.#propose(level, free, probes);
    }
    return probes;
  }

  /** Splits `jobs` over the level's lanes: all of them, or as many as there are jobs, one each. */
  #propose(level: Level, jobs: number, probes: Probe[]): void {
    const lanesMax = Math.min(level.lanes.size, jobs, PROBES_MAX - probes.length);
    if (lanesMax <= 0) return;
    const each = Math.floor(jobs / lanesMax);
    let extra = jobs % lanesMax;
    let count = 0;
    for (const lane of level.lanes.values()) {
      if (count++ === lanesMax) break;
      probes.push({
        priority: lane.priority,
        tenant: lane.tenant,
        floor: lane.floor,
        quantum: each + (extra-- > 0 ? 1 : 0),
      });
    }
  }

  /** What came of the probes: `counts` and `floors` by probe, and whether the claim stopped because it had enough. */
  report(
    probes: readonly Probe[],
    counts: readonly number[],
    floors: readonly (string | undefined)[],
    isFull: boolean,
  ): void {
    const lastServed = isFull ? counts.findLastIndex((count) => count > 0) : probes.length;
    const served: { level: Level; lane: Lane; count: number }[] = [];
    probes.forEach((probe, i) => {
      const level = this.#level(probe.priority);
      const lane = level.lanes.get(probe.tenant);
      // Behind the last lane that was served, nobody was asked: they keep their turn.
      if (!lane || i > lastServed) return;
      const count = counts[i]!;
      if (count > 0 && compareIds(floors[i]!, lane.floor) > 0) lane.floor = floors[i]!;
      level.lanes.delete(probe.tenant);
      if (count >= probe.quantum || i === lastServed) served.push({ level, lane, count });
      else this.#size--;
    });
    // Whoever got less stands before whoever got more: what does not divide evenly goes to somebody else each time.
    if (served.some(({ count }) => count !== served[0]!.count)) served.sort((a, b) => a.count - b.count);
    for (const { level, lane } of served) level.lanes.set(lane.tenant, lane);
    this.#account(probes, counts);
  }

  /**
   * Every job earns each lower level that waits its share; a level's own jobs are paid from its credit. All shares together are at
   * most half, however many levels there are: the highest must not starve either.
   */
  #account(probes: readonly Probe[], counts: readonly number[]): void {
    const byPriority = new Map<number, number>();
    let total = 0;
    probes.forEach((probe, i) => {
      byPriority.set(probe.priority, (byPriority.get(probe.priority) ?? 0) + counts[i]!);
      total += counts[i]!;
    });
    const lowerLevels = this.#levels.filter((level) => level.lanes.size > 0).length - 1;
    const share = Math.min(this.#lowerShare, 0.5 / Math.max(1, lowerLevels));
    this.#levels.forEach((level, i) => {
      // A level without waiting lanes earns nothing: there is no credit for the past.
      if (i === 0 || level.lanes.size === 0) level.credit = 0;
      else level.credit = Math.max(0, level.credit + total * share - (byPriority.get(level.priority) ?? 0));
    });
  }

  #level(priority: number): Level {
    const known = this.#levels.find((level) => level.priority === priority);
    if (known) return known;
    const level: Level = { priority, lanes: new Map(), credit: 0 };
    this.#levels.push(level);
    this.#levels.sort((a, b) => b.priority - a.priority);
    return level;
  }
}
