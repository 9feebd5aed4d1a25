// The ring of lanes of one queue: whose turn it is, and from which id on. Pure memory; all of it is hints. The truth is in the
// database: a lane that is missing here is found by the next scan, a floor that is too high is forgotten by it.
//
//  1. `add` puts a lane behind those of its priority that wait.
//  2. `take` proposes probes for a number of jobs: every waiting lane its part by weight, higher priorities first, lower ones their
//     guaranteed share.
//  3. `report` says what the probes brought: a lane that gave all it was asked for waits for its next turn, one that gave less leaves,
//     or is parked under the limit that held its jobs back.
import { compareIds } from "../../base/job-id.js";
import type { LaneName, Probe, WaitingLane } from "./claim-statements.js";
import { ClosedLimits, type Closing } from "./closed-limits.js";
import type { Lane } from "./lane.js";
import { LaneLevel } from "./lane-level.js";
import { TenantQuota } from "./tenant-quota.js";
import { type Doubt, prove, UnprovedLanes } from "./unproved-lanes.js";

/** Probes of one claim: each costs an index descent, so their number is bounded. */
const PROBES_MAX = 1_000;
/** Lanes kept in memory; beyond it the scan brings them back in turn. */
const LANES_MAX = 100_000;

export class LaneRing {
  /** Part of the jobs that each lower priority is sure of while higher ones wait too. */
  readonly #lowerShare: number;
  /** Jobs of one tenant in one claim. */
  readonly #tenantJobsMax: number;
  /** By tenant, jobs that count for every claim; whose they are, keeps count of them. */
  readonly #taken: ReadonlyMap<string, number> | undefined;
  /** Highest priority first. */
  #levels: LaneLevel[] = [];
  #limits = new ClosedLimits();
  readonly #unproved = new UnprovedLanes();
  #isComplete = true;

  constructor(lowerShare: number, tenantJobsMax = Number.POSITIVE_INFINITY, taken?: ReadonlyMap<string, number>) {
    this.#lowerShare = lowerShare;
    this.#tenantJobsMax = tenantJobsMax;
    this.#taken = taken;
  }

  /** Lanes that have a turn. */
  get size(): number {
    return this.#levels.reduce((sum, level) => sum + level.size, 0);
  }

  /** Lanes that are parked. */
  get parked(): number {
    return this.#limits.size;
  }

  /** When parked lanes may be tried again. */
  get opensAtMs(): number {
    return this.#limits.opensAtMs;
  }

  /** Whether every lane that was added is still known, unless it is empty. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /**
   * A lane in which jobs wait; as far as is known none of them at or below `floor`. One that is known keeps its turn. `isScan`: the whole lane is looked at, and
   * a limit under which it is parked is tried. News leave that alone: of a tenant at its limit they come all the time.
   */
  add(name: WaitingLane, isScan: boolean, floor?: string): void {
    const level = this.#level(name.priority);
    const known = level.find(name.tenant);
    if (!known) {
      if (this.#known >= LANES_MAX && !this.#evict()) {
        this.#isComplete = false;
        return;
      }
      const lane = level.add(name, floor ?? "0");
      if (isScan) this.#unproved.add(lane);
      return;
    }
    level.reweigh(known, name.weight);
    if (isScan) {
      // What a scan has seen may lie below the floor: the lane is looked at from the bottom.
      known.low = "0";
      this.#unproved.add(known);
    } else if (floor !== undefined) this.#cameBack(known, floor);
    if (known.hasLeft) level.enter(known);
    if (isScan && known.parkedAt) this.#limits.tryNow(known, known.parkedAt);
  }

  /** A scan begins: it brings every lane in which a job is ready. */
  scanBegins(): void {
    this.#isComplete = true;
  }

  /** What is parked may be tried, whatever was said before. */
  tryParked(): void {
    this.#limits.tryAll();
  }

  /** An old id of this lane is ready again: the lane has a turn, and looks low enough. */
  returned({ priority, tenant }: LaneName, id: string): void {
    // A weight that is not known is found by the next scan.
    const weight = this.#level(priority).find(tenant)?.weight ?? 1;
    this.add({ priority, tenant, weight }, false, before(id));
  }

  /** Parts of lanes that are to be looked at, at most this many lanes. */
  doubts(lanesMax: number): Doubt[] {
    return this.#unproved.take(lanesMax);
  }

  /** What the look found: by number of the doubt, the position of the first ready job. */
  proved(doubts: readonly Doubt[], firsts: ReadonlyMap<number, string>): void {
    doubts.forEach((doubt, i) => {
      const { lane } = doubt;
      const first = firsts.get(i);
      const level = this.#level(lane.priority);
      // Evicted meanwhile.
      if (level.find(lane.tenant) !== lane) return;
      const isAsItWas = lane.low === doubt.low && lane.floor === doubt.floor;
      prove(doubt, first);
      if (!lane.hasLeft) return;
      if (first !== undefined) level.enter(lane);
      else if (isAsItWas) level.forget(lane);
      else this.#unproved.add(lane);
    });
  }

  /** The look did not come about. */
  stillDoubted(doubts: readonly Doubt[]): void {
    for (const { lane } of doubts) this.#unproved.add(lane);
  }

  /**
   * The lane has a job that begins right above this floor. Of a lane that ran empty, what others have claimed meanwhile lies between its floor and that job:
   * a claim passes it over, and a proof looks at it.
   */
  #cameBack(lane: Lane, floor: string): void {
    if (!lane.hasLeft || compareIds(floor, lane.floor) <= 0) return lower(lane, floor);
    lane.floor = floor;
    this.#unproved.add(lane);
  }

  clear(): void {
    this.#levels = [];
    this.#limits = new ClosedLimits();
    this.#unproved.clear();
  }

  /** Gives lanes whose limits may be tried by now a turn, as many as a claim of this size can need. */
  letOut(nowMs: number, jobsMax: number): void {
    for (const lane of this.#limits.letOut(nowMs, Math.min(jobsMax, PROBES_MAX)))
      this.#level(lane.priority).enter(lane);
  }

  /** A job of this tenant and kind has ended. True when lanes may be tried because of that. */
  freed(tenant: string, kind: string): boolean {
    if (this.#limits.size === 0) return false;
    const isTenantFreed = this.#limits.freed("tenant", tenant);
    return this.#limits.freed("kind", kind) || isTenantFreed;
  }

  /** Probes for up to `jobsMax` jobs, in the order of preference. Together they may ask for more: the claim stops at `jobsMax`. */
  take(jobsMax: number): Probe[] {
    const probes: Probe[] = [];
    const quota = new TenantQuota(this.#tenantJobsMax, this.#taken);
    const waiting = this.#levels.filter((level) => level.size > 0);
    // First what the lower levels are owed, then all levels from the top: so a short lane above never leaves capacity empty.
    let free = jobsMax;
    for (const level of waiting.slice(1)) {
      const owed = Math.min(Math.floor(level.credit), free);
      if (owed >= 1) {
        free -= owed;
        for (const probe of level.propose(owed, PROBES_MAX - probes.length, quota)) probes.push(probe);
      }
    }
    const served = new Set(probes.map((probe) => probe.priority));
    for (const level of waiting) {
      if (free === 0 || probes.length >= PROBES_MAX) break;
      if (served.has(level.priority)) continue;
      for (const probe of level.propose(free, PROBES_MAX - probes.length, quota)) probes.push(probe);
    }
    return probes;
  }

  /**
   * What came of the probes: `counts` and `floors` by probe, whether the claim stopped because it had enough, what was held back by
   * limits, and how many jobs of each lane were rate-limited: it gave them, but they are no service.
   */
  report(
    probes: readonly Probe[],
    counts: readonly number[],
    floors: readonly (string | undefined)[],
    isFull: boolean,
    closings: readonly Closing[] = [],
    late: readonly number[] = [],
  ): void {
    const gave = (i: number) => counts[i]! + (late[i] ?? 0);
    const lastServed = isFull ? counts.findLastIndex((_, i) => gave(i) > 0) : probes.length;
    const isKindHeld = closings.some(({ scope, isPartial }) => scope === "kind" || isPartial === true);
    for (const closing of closings) this.#limits.close(closing);
    // First all parts are counted, then all lanes are placed: a lane that was cut short is lifted to where the others have come.
    const asked: { level: LaneLevel; lane: Lane; isShort: boolean }[] = [];
    probes.forEach((probe, i) => {
      const level = this.#level(probe.priority);
      const lane = level.find(probe.tenant);
      // Behind the last lane that was served, no lane was asked: those keep their turn.
      if (!lane || i > lastServed) return;
      level.leave(lane);
      const isShort = gave(i) < probe.quantum && i !== lastServed;
      level.serve(lane, counts[i]!);
      // Jobs of a kind that was held back were passed over: they lie below the last one that was claimed.
      if (isKindHeld && isShort) lane.floor = lane.low;
      else if (!isKindHeld && counts[i]! > 0 && compareIds(floors[i]!, lane.floor) > 0) {
        lane.floor = floors[i]!;
        this.#unproved.add(lane);
      }
      asked.push({ level, lane, isShort });
    });
    const placing = placer(closings);
    for (const { level, lane, isShort } of asked) {
      const where = isShort ? placing(lane.tenant) : "turn";
      if (where === "gone") {
        lane.hasLeft = true;
        this.#unproved.add(lane);
      } else if (where !== "turn") this.#limits.park(lane, where);
      // What the tenant could not take of its turn, others did: it is no credit.
      else if (lane.isCut) level.enter(lane);
      else level.stay(lane);
    }
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
    const lowerLevels = this.#levels.filter((level) => level.size > 0).length - 1;
    const share = Math.min(this.#lowerShare, 0.5 / Math.max(1, lowerLevels));
    this.#levels.forEach((level, i) => {
      // A level without waiting lanes earns nothing: there is no credit for the past.
      if (i === 0 || level.size === 0) level.credit = 0;
      else level.credit = Math.max(0, level.credit + total * share - (byPriority.get(level.priority) ?? 0));
    });
  }

  get #known(): number {
    return this.#levels.reduce((sum, level) => sum + level.known, 0);
  }

  /**
   * What has left or is parked makes room for what can be served: a kind that is held back for days would park lanes that are long empty. The
   * next scan brings back what was wronged.
   */
  #evict(): boolean {
    const lane = this.#unproved.firstThatLeft() ?? this.#limits.evict();
    if (!lane) return false;
    this.#unproved.delete(lane);
    this.#level(lane.priority).forget(lane);
    this.#isComplete = false;
    return true;
  }

  #level(priority: number): LaneLevel {
    const known = this.#levels.find((level) => level.priority === priority);
    if (known) return known;
    const level = new LaneLevel(priority);
    this.#levels.push(level);
    this.#levels.sort((a, b) => b.priority - a.priority);
    return level;
  }
}

/** The lane has a job that begins right above this floor. */
function lower(lane: Lane, floor: string): void {
  if (compareIds(floor, lane.low) < 0) lane.low = floor;
  if (compareIds(floor, lane.floor) < 0) lane.floor = floor;
}

const before = (id: string) => String(BigInt(id) - 1n);

/** Where a lane goes that gave less than it was asked for. */
function placer(closings: readonly Closing[]): (tenant: string) => Closing | "turn" | "gone" {
  // It is unknown whether a lane of a closed queue has more.
  if (closings.some(({ scope }) => scope === "queue")) return () => "turn";
  const tenants = new Map(closings.filter(({ scope }) => scope === "tenant").map((closing) => [closing.name, closing]));
  // Whatever is not of a held kind was given: the first kind that opens is the first that can bring something.
  const kind = closings
    .filter(({ scope }) => scope === "kind")
    .reduce<Closing | undefined>((first, one) => (first && first.untilMs <= one.untilMs ? first : one), undefined);
  return (tenant) => tenants.get(tenant) ?? kind ?? "gone";
}
