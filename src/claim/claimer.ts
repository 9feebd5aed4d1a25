// Claims for one worker: keeps a ring of lanes per queue, fills it by scans and news, and turns demand into claims.
//
//  1. Scan the lanes of a queue when its ring may be wrong: at start, when woken, when its rescan mark moved, and every few seconds.
//  2. Take probes off the rings, claim along them, look for news in the same round trip.
//  3. Tell the rings what came of it, and hand out the claims interleaved by lane.
import type { Claim } from "../model/claim.js";
import type { Clock } from "../model/clock.js";
import { compareIds, isSortedById } from "../model/job-id.js";
import { claimAlong, type LaneName, type News, type Probe, readLanes } from "../store/claim.js";
import type { Database } from "../store/database.js";
import { interleave } from "./interleave.js";
import { LaneRing } from "./lane-ring.js";

export interface ClaimerOptions {
  readonly queues: readonly string[];
  readonly kinds: readonly string[];
  readonly lowerShare: number;
  /** While busy, look at all lanes this often: finds what arrivals and marks do not tell, such as late commits with lower ids. */
  readonly rescanMs: number;
}

/** Lanes read by one statement; a longer list is read page by page, one page a turn. */
const SCAN_PAGE_LANES = 5_000;
/** Jobs claimed by one statement. */
const CLAIM_JOBS_MAX = 4_000;
const SPLIT_JOBS_MIN = 1_000;

interface QueueView {
  readonly name: string;
  readonly ring: LaneRing;
  /** Something may be waiting that the ring does not know. */
  isStale: boolean;
  scannedAtMs: number;
  /** Where an unfinished scan goes on. */
  cursor: LaneName | undefined;
  rescanNo: string | undefined;
  /** The highest id that was looked at for news. */
  tail: string;
}

export class Claimer {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #options: ClaimerOptions;
  readonly #views: QueueView[];

  constructor(db: Database, clock: Clock, options: ClaimerOptions) {
    this.#db = db;
    this.#clock = clock;
    this.#options = options;
    this.#views = options.queues.map((name) => ({
      name,
      ring: new LaneRing(options.lowerShare),
      isStale: true,
      scannedAtMs: Number.NEGATIVE_INFINITY,
      cursor: undefined,
      rescanNo: undefined,
      tail: "0",
    }));
  }

  /** Work may have arrived: look at all lanes at the next claim. */
  markStale(queue?: string): void {
    for (const view of this.#views) if (queue === undefined || view.name === queue) view.isStale = true;
  }

  /** Whether another claim from this queue, or from any, may bring something without anybody's news. */
  hasWork(queue?: string): boolean {
    return this.#views.some(
      (view) =>
        (queue === undefined || view.name === queue) &&
        (view.isStale || view.ring.size > 0 || view.cursor !== undefined),
    );
  }

  /** Claims up to the demand of each queue, for the worker of this name. */
  async claim(worker: string, demand: ReadonlyMap<string, number>): Promise<Claim[]> {
    const wanting = this.#views.filter((view) => (demand.get(view.name) ?? 0) > 0);
    await Promise.all(wanting.filter((view) => this.#needsScan(view)).map((view) => this.#scan(view)));

    const parts = wanting
      .map((view) => {
        const jobsMax = Math.min(CLAIM_JOBS_MAX, demand.get(view.name)!);
        return { view, jobsMax, probes: view.ring.take(jobsMax) };
      })
      .filter(({ probes }) => probes.length > 0);
    if (parts.length === 0) return [];
    // One statement per queue, because each stops at its own demand; together still one round trip each in parallel.
    const claims = await Promise.all(
      parts.map(({ view, jobsMax, probes }) => this.#claimFrom(worker, view, jobsMax, probes)),
    );
    return claims.length === 1 ? claims[0]! : interleave(claims);
  }

  #needsScan(view: QueueView): boolean {
    if (view.isStale || view.cursor !== undefined) return true;
    // A queue that ran dry is looked at as well: while another one keeps the worker busy, nobody polls for it.
    return this.#clock.monotonic() - view.scannedAtMs >= this.#options.rescanMs;
  }

  async #scan(view: QueueView): Promise<void> {
    // Taken down before the question is asked: news that come in meanwhile raise it again.
    view.isStale = false;
    const after = view.cursor;
    try {
      const lanes = await readLanes(this.#db, view.name, after, SCAN_PAGE_LANES);
      for (const lane of lanes) view.ring.add(lane, true);
      view.cursor = lanes.length === SCAN_PAGE_LANES ? lanes.at(-1) : undefined;
      if (view.cursor === undefined) view.scannedAtMs = this.#clock.monotonic();
    } catch (error) {
      view.isStale = true;
      throw error;
    }
  }

  /** A big claim is made as two at once, over two connections: one server process alone would be what everybody waits for. */
  async #claimFrom(worker: string, view: QueueView, jobsMax: number, probes: readonly Probe[]): Promise<Claim[]> {
    if (jobsMax < SPLIT_JOBS_MIN) return interleave(await this.#claimAlong(worker, view, jobsMax, probes));
    const half = Math.ceil(jobsMax / 2);
    const halves = await Promise.all(
      split(probes).map((part, i) => this.#claimAlong(worker, view, i === 0 ? half : jobsMax - half, part)),
    );
    const lanes = halves.flat();
    // Both halves of a single lane: oldest first.
    return probes.length === 1 ? lanes.flat().sort((a, b) => compareIds(a.id, b.id)) : interleave(lanes);
  }

  /** Claims along the probes, lane by lane; tells the ring what came of it. */
  async #claimAlong(worker: string, view: QueueView, jobsMax: number, probes: readonly Probe[]): Promise<Claim[][]> {
    const { kinds } = this.#options;
    const { claims, news } = await claimAlong(this.#db, worker, view.name, probes, kinds, jobsMax, view.tail);
    const lanes = byLane(probes, claims);
    view.ring.report(
      probes,
      lanes.map((lane) => lane.length),
      lanes.map((lane) => lane.at(-1)?.id),
      claims.length >= jobsMax,
    );
    if (news) this.#hear(view, news);
    return lanes.filter((lane) => lane.length > 0);
  }

  #hear(view: QueueView, news: News): void {
    for (const lane of news.lanes) view.ring.add(lane, false);
    const rescanNo = news.rescanNos.get(view.name);
    if (rescanNo !== view.rescanNo || news.isFull) view.isStale = true;
    view.rescanNo = rescanNo;
    if (compareIds(news.tail, view.tail) > 0) view.tail = news.tail;
  }
}

/** Every second lane to each half; a single lane is probed by both, each skipping what the other has locked. */
function split(probes: readonly Probe[]): Probe[][] {
  if (probes.length > 1) return [probes.filter((_, i) => i % 2 === 0), probes.filter((_, i) => i % 2 === 1)];
  return [0, 1].map(() => probes.map((probe) => ({ ...probe, quantum: Math.ceil(probe.quantum / 2) })));
}

/** The claims of each probe, oldest first. */
function byLane(probes: readonly Probe[], claims: Claim[]): Claim[][] {
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
