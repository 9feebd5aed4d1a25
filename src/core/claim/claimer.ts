// Claims for one worker: keeps a ring of lanes per queue, fills it by scans and news, and turns demand into claims.
//
//  1. Look for news of a queue when its ring may be wrong: when woken, and every few seconds, which is a round and also proves lanes. Scan all its
//     lanes at the start, when its rescan mark moved, and now and then to make sure.
//  2. Take probes off the rings, claim along them, look for news in the same round trip.
//  3. Report the outcome and closed limits to the rings, and return the claims interleaved by lane.

import type { Clock } from "../../base/clock.js";
import type { Database } from "../../db/database.js";
import type { Claim } from "../job/claim.js";
import type { Returned } from "../settle/settle-statements.js";
import { byLane, lateOf } from "./by-lane.js";
import { claimExceptions } from "./claim-exceptions.js";
import { ClaimListNumbers } from "./claim-list-numbers.js";
import {
  type ClaimAnswer,
  claimAlong,
  type LaneName,
  type News,
  type Probe,
  readFirstReady,
  readLanes,
  readNews,
} from "./claim-statements.js";
import type { ClosedLimit, Throttled } from "./closed-limit.js";
import { type Closing, toClosing } from "./closed-limits.js";
import { interleave } from "./interleave.js";
import { LaneRing } from "./lane-ring.js";
import { QueueView } from "./queue-view.js";

export interface ClaimerOptions {
  readonly queues: readonly string[];
  readonly kinds: readonly string[];
  readonly lowerShare: number;
  /** While busy, look at all lanes this often: finds what arrivals and marks do not show, such as late commits with lower ids. */
  readonly rescanMs: number;
  /** Jobs taken by one claim from a queue. */
  readonly jobsMax: number;
  /** Jobs of one tenant taken by one claim, over all its priorities; undefined: no limit. */
  readonly tenantJobsMax: number | undefined;
}

/** What a claim finds out beside its jobs: for upkeep, and for events about limits. */
export interface ClaimNews {
  /** A job waits for its time, or for upkeep to find its slot: something falls due in this many milliseconds. */
  due: number;
  /** Limits kept a claim from taking more. */
  throttled: { readonly worker: string } & Throttled;
}

/** What the claimer needs of its worker. */
export interface ClaimContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly bus: { tell<Topic extends keyof ClaimNews>(topic: Topic, news: ClaimNews[Topic]): void };
}

/** A job that has ended: in which list it was, and which limits it may have made room in. */
type Ended = Pick<Claim, "queue" | "tenant" | "kind" | "listNo">;

/** What one claim asks of a queue. */
interface Part {
  readonly view: QueueView;
  readonly jobsMax: number;
  readonly probes: readonly Probe[];
}

/** Lanes read by one statement; a longer list is read page by page, one page a turn. */
const PAGE_LANES = 5_000;
/** Arrivals that are remembered while a claim is under way; after more, all lanes are looked at. */
const ARRIVALS_MAX = 100;

export class Claimer {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #bus: ClaimContext["bus"];
  readonly #options: ClaimerOptions;
  readonly #views: QueueView[];
  readonly #listNumbers = new ClaimListNumbers();
  /** What became free while a claim is under way: its answer may not know of it. */
  #freedMeanwhile: Ended[] | undefined;
  /** Lanes in which jobs arrived while a claim is under way. */
  #arrivedMeanwhile: { readonly queue: string; readonly lane: LaneName }[] | undefined;

  constructor({ db, clock, bus }: ClaimContext, options: ClaimerOptions) {
    this.#db = db;
    this.#clock = clock;
    this.#bus = bus;
    this.#options = options;
    this.#views = options.queues.map(
      (name) => new QueueView(name, new LaneRing(options.lowerShare, options.tenantJobsMax)),
    );
  }

  /** Work may have arrived, or a limit may be gone: look for news before the next claim. */
  markStale(queue?: string): void {
    for (const view of this.#views) if (queue === undefined || view.name === queue) view.markStale();
  }

  /** The database may not be what it was, or a claim may have come to nothing: look at all lanes before the next claim. */
  distrust(): void {
    for (const view of this.#views) view.distrust();
  }

  /**
   * A job has arrived in this lane: the next claim asks it, whatever id the job has, without a look at all lanes before. Where something is held back, the
   * look is worth its round trip: it tries limits that may have opened.
   */
  arrived(queue: string, lane: LaneName): void {
    // The answer of a claim that is under way may not know of it, and would have the lane forgotten: told again behind it.
    if (this.#arrivedMeanwhile && this.#arrivedMeanwhile.length >= ARRIVALS_MAX) return this.markStale(queue);
    this.#arrivedMeanwhile?.push({ queue, lane });
    for (const view of this.#views) if (view.name === queue) view.arrived(lane);
  }

  /** Whether another claim from this queue, or from any, may bring something without news. */
  hasWork(queue?: string): boolean {
    const nowMs = this.#clock.monotonic();
    return this.#views.some((view) => (queue === undefined || view.name === queue) && view.hasWork(nowMs));
  }

  /** Whether a transaction that ran at the last look at a queue may still bring jobs of which no notification may come. */
  get isInDoubt(): boolean {
    return this.#views.some((view) => view.arrivals.isOpen);
  }

  /** How long until something that limits hold back in these queues, or in any, is worth a try; infinite: unknown. */
  opensInMs(queues?: Iterable<string>): number {
    const asked = queues && new Set(queues);
    let firstMs = Number.POSITIVE_INFINITY;
    for (const view of this.#views) if (!asked || asked.has(view.name)) firstMs = Math.min(firstMs, view.opensAtMs);
    return Math.max(0, firstMs - this.#clock.monotonic());
  }

  /** These jobs have ended here: limits may have room again. True when that makes a claim worthwhile. */
  freed(jobs: Iterable<Ended>): boolean {
    let isOpen = false;
    for (const job of jobs) {
      const { queue, tenant, kind } = job;
      this.#freedMeanwhile?.push(job);
      this.#listNumbers.settled(job.listNo);
      for (const view of this.#views) {
        // The limits of a tenant or a kind may span queues.
        if (view.ring.freed(tenant, kind)) isOpen = true;
        if (view.name === queue && view.closed.freed()) isOpen = true;
      }
    }
    return isOpen;
  }

  /** These old ids became ready because jobs of ours ended: no other worker knows where to look. */
  returned(jobs: Iterable<Returned>): void {
    for (const { queue, priority, tenant, id } of jobs)
      for (const view of this.#views) if (view.name === queue) view.ring.returned({ priority, tenant }, id);
  }

  /**
   * Claims up to the demand of each queue, for the worker of this name. `take` is called with the claims, if there are any, as soon as they are known: news that
   * come behind them are awaited, but not by their handlers.
   */
  async claim(
    worker: string,
    demand: ReadonlyMap<string, number>,
    take: (claims: Claim[]) => void = () => {},
  ): Promise<Claim[]> {
    this.#freedMeanwhile = [];
    this.#arrivedMeanwhile = [];
    try {
      return await this.#claim(worker, demand, take);
    } finally {
      this.#freedMeanwhile = undefined;
      const arrived = this.#arrivedMeanwhile;
      this.#arrivedMeanwhile = undefined;
      for (const { queue, lane } of arrived) this.arrived(queue, lane);
    }
  }

  async #claim(worker: string, demand: ReadonlyMap<string, number>, take: (claims: Claim[]) => void): Promise<Claim[]> {
    const wanting = this.#views.filter((view) => (demand.get(view.name) ?? 0) > 0);
    const nowMs = this.#clock.monotonic();
    await Promise.all(
      wanting.filter((view) => view.needsLook(nowMs, this.#options.rescanMs)).map((view) => this.#look(view)),
    );

    for (const view of wanting) {
      const claims = await this.#claimExceptions(worker, view, demand.get(view.name)!);
      if (claims.length === 0) continue;
      take(claims);
      return claims;
    }

    const parts = wanting
      .filter((view) => view.closed.opensAtMs <= nowMs)
      .map((view) => {
        const jobsMax = Math.min(this.#options.jobsMax, demand.get(view.name)!);
        view.ring.letOut(nowMs, jobsMax);
        return { view, jobsMax, probes: view.ring.take(jobsMax) };
      })
      .filter(({ probes }) => probes.length > 0);
    if (parts.length === 0) return [];
    // One statement per queue, because each stops at its own demand; together still one round trip each in parallel.
    if (parts.length === 1) return this.#claimFrom(worker, parts[0]!, take);
    const claims = interleave(await Promise.all(parts.map((part) => this.#claimFrom(worker, part, () => {}))));
    if (claims.length > 0) take(claims);
    return claims;
  }

  /** Asks for news; in a round proves lanes; and looks at all lanes, a page at a time, where that is due. */
  async #look(view: QueueView): Promise<void> {
    const { rescanMs, kinds } = this.#options;
    const nowMs = this.#clock.monotonic();
    const isRound = view.isRoundDue(nowMs, rescanMs);
    const doubts = isRound ? view.ring.doubts(PAGE_LANES) : [];
    view.looking(isRound, nowMs);
    try {
      const { news, firsts } = await readNews(this.#db, view.name, kinds, view.arrivals.asked, doubts);
      view.ring.proved(doubts, firsts);
      view.looked();
      this.#hear(view, news);
      view.lookOn();
    } catch (error) {
      view.ring.stillDoubted(doubts);
      view.markStale();
      throw error;
    }
    if (view.needsScan(nowMs, rescanMs)) await this.#scan(view);
    else if (isRound) await this.#prove(view);
  }

  async #scan(view: QueueView): Promise<void> {
    const beginMs = this.#clock.monotonic();
    view.scanning();
    try {
      const lanes = await readLanes(this.#db, view.name, view.cursor, PAGE_LANES);
      view.listed(lanes, lanes.length < PAGE_LANES);
      await this.#prove(view);
    } catch (error) {
      view.scanFailed();
      throw error;
    }
    const nowMs = this.#clock.monotonic();
    view.scanned(nowMs, nowMs - beginMs);
  }

  /** Looks at what is doubted, a page at a time. */
  async #prove(view: QueueView): Promise<void> {
    for (let doubts = view.ring.doubts(PAGE_LANES); doubts.length > 0; doubts = view.ring.doubts(PAGE_LANES)) {
      try {
        view.ring.proved(doubts, await readFirstReady(this.#db, view.name, this.#options.kinds, doubts));
      } catch (error) {
        view.ring.stillDoubted(doubts);
        throw error;
      }
      if (doubts.length < PAGE_LANES) return;
    }
  }

  #hear(view: QueueView, news: News): void {
    view.hear(news);
    if (news.isDue) this.#bus.tell("due", 0);
  }

  /** Claims along the probes, reports the outcome to the ring, and hears the news behind the claim. */
  async #claimFrom(worker: string, part: Part, take: (claims: Claim[]) => void): Promise<Claim[]> {
    const { view, jobsMax, probes } = part;
    const listNo = this.#listNumbers.take();
    const answer = await claimAlong(
      this.#db,
      worker,
      view.name,
      probes,
      this.#options.kinds,
      jobsMax,
      listNo,
      view.arrivals.asked,
    );
    const { claims, cut, news, dueInMs } = answer;
    this.#listNumbers.fill(listNo, claims.length);
    const closings = answer.held.map((held) => this.#toClosing(held));
    const lanes = byLane(probes, claims);
    const late = lateOf(probes, answer.late);
    view.ring.report(
      probes,
      lanes.map((lane) => lane.length),
      lanes.map((lane) => lane.at(-1)?.id),
      claims.length + cut + late.reduce((sum, count) => sum + count, 0) >= jobsMax,
      closings,
      late,
    );
    view.hold(closings);
    view.hasExceptions = answer.hasExceptions;
    this.#tellThrottled(worker, view.name, answer);
    if (dueInMs !== undefined) this.#bus.tell("due", dueInMs);
    const mixed = interleave(lanes.filter((lane) => lane.length > 0));
    if (mixed.length > 0) take(mixed);
    const heard = await news;
    if (heard) this.#hear(view, heard);
    return mixed;
  }

  /** In a claim of their own: should it fail, no other job is claimed and lost. */
  async #claimExceptions(worker: string, view: QueueView, demand: number): Promise<Claim[]> {
    if (!view.hasExceptions) return [];
    view.hasExceptions = false;
    const { kinds, jobsMax } = this.#options;
    const listNo = this.#listNumbers.take();
    const claims = await claimExceptions(this.#db, worker, view.name, kinds, Math.min(jobsMax, demand), listNo);
    this.#listNumbers.fill(listNo, claims.length);
    return claims;
  }

  /** A pause is an operator's wish, no limit. */
  #tellThrottled(worker: string, queue: string, { held, late }: Pick<ClaimAnswer, "held" | "late">): void {
    if (held.length === 0 && late.length === 0) return;
    const limits = held.filter(({ why }) => why !== "paused");
    if (limits.length > 0 || late.length > 0)
      this.#bus.tell("throttled", { worker, queue, closed: limits, rateLimited: late });
  }

  /** A job that ended while the claim was under way is reported once: what it freed is worth a try at once. */
  #toClosing(held: ClosedLimit): Closing {
    const nowMs = this.#clock.monotonic();
    const closing = toClosing(held, nowMs);
    const isOver = closing.isFreeable && this.#freedMeanwhile?.some((job) => job[held.scope] === held.name);
    return isOver ? { ...closing, untilMs: nowMs } : closing;
  }
}
