// What a claimer knows of one queue: its ring, whether the ring may be wrong, and whether the queue is held back.
//
// A look asks for news, and is cheap. A round, every few seconds, is a look that also proves lanes. A scan asks for all lanes: it makes sure, and is paced
// by what it costs.
import { Arrivals, LOOK_IDS } from "./arrivals.js";
import type { LaneName, News, WaitingLane } from "./claim-statements.js";
import type { Closing } from "./closed-limits.js";
import { ClosedQueue } from "./closed-queue.js";
import type { LaneRing } from "./lane-ring.js";
import { ScanPace } from "./scan-pace.js";

export class QueueView {
  readonly name: string;
  readonly ring: LaneRing;
  readonly closed = new ClosedQueue();
  readonly arrivals = new Arrivals();
  /** Jobs may start although something of theirs is paused: a claim said so, and they were not asked for since. */
  hasExceptions = false;
  readonly #pace = new ScanPace();
  /** Something may be waiting that the ring does not know. */
  #isStale = true;
  /** News do not tell what it is: all lanes must be looked at. */
  #isScanWanted = true;
  /** The queue seemed empty: all lanes are to be looked at as soon as that is not too dear, to make sure. */
  #isCheckWanted = false;
  #roundAtMs = Number.NEGATIVE_INFINITY;
  /** Where an unfinished scan goes on, and how long it took until now. */
  #cursor: LaneName | undefined;
  #tookMs = 0;
  #rescanNo: string | undefined;

  constructor(name: string, ring: LaneRing) {
    this.name = name;
    this.ring = ring;
  }

  get cursor(): LaneName | undefined {
    return this.#cursor;
  }

  /** Something may have come in. */
  markStale(): void {
    this.#isStale = true;
  }

  /** Nothing that is remembered can be relied on: look at all lanes. */
  distrust(): void {
    this.#isStale = true;
    this.#isScanWanted = true;
    this.#pace.scanned(Number.NEGATIVE_INFINITY, 0);
  }

  /** A job has arrived in this lane: among the ids that were not looked at for good. One that is lower still may have committed first. */
  arrived(lane: LaneName): void {
    if (this.ring.parked > 0 || this.closed.opensAtMs !== Number.NEGATIVE_INFINITY) this.markStale();
    else this.ring.returned(lane, this.arrivals.firstUnseen);
  }

  /** Whether another claim may bring something without news. */
  hasWork(nowMs: number): boolean {
    if (this.#isStale || this.hasExceptions || this.#mayScan(nowMs)) return true;
    if (this.closed.opensAtMs > nowMs) return false;
    return this.#cursor !== undefined || this.ring.size > 0 || this.ring.opensAtMs <= nowMs;
  }

  /** When something that is held back may be tried again; what has no lanes waits for nothing. */
  get opensAtMs(): number {
    const lanesAtMs = this.ring.size > 0 || this.#cursor ? Number.NEGATIVE_INFINITY : this.ring.opensAtMs;
    const heldAtMs = Math.max(this.closed.opensAtMs, lanesAtMs);
    const checkAtMs = this.#isCheckWanted ? this.#pace.dueAtMs(0) : Number.POSITIVE_INFINITY;
    return Math.min(heldAtMs, checkAtMs, this.#isScanWanted ? this.#pace.wantedAtMs : Number.POSITIVE_INFINITY);
  }

  /** A queue that ran dry or is held back is looked at as well: while another one keeps the worker busy, no poll looks for it. */
  needsLook(nowMs: number, rescanMs: number): boolean {
    return this.#isStale || this.#mayScan(nowMs) || this.isRoundDue(nowMs, rescanMs) || this.#mayGoOn(nowMs);
  }

  isRoundDue(nowMs: number, rescanMs: number): boolean {
    return nowMs - this.#roundAtMs >= rescanMs;
  }

  /** A look is asked for. Taken down before the answer is there: news that come in meanwhile raise it again. */
  looking(isRound: boolean, nowMs: number): void {
    this.#isStale = false;
    if (isRound) this.#roundAtMs = nowMs;
  }

  /** It was more than news of a claim: what held jobs back may be over, one try. */
  looked(): void {
    this.closed.open();
    this.ring.tryParked();
  }

  /** Whether all lanes are to be looked at now, or the scan under way goes on. */
  needsScan(nowMs: number, rescanMs: number): boolean {
    if (this.#cursor !== undefined) return true;
    // A worker that would go to sleep makes sure first: it may have been woken because of an old id, of which news do not tell.
    if (this.ring.size === 0) this.#isCheckWanted = true;
    if (this.#mayScan(nowMs) || nowMs >= this.#pace.dueAtMs(rescanMs)) return true;
    // Where nothing can be proved, every round looks at everything.
    return !this.arrivals.isProving && this.#roundAtMs === nowMs;
  }

  /** A page of a scan is asked for. */
  scanning(): void {
    if (this.#cursor !== undefined) return;
    this.#isScanWanted = false;
    this.#isCheckWanted = false;
    this.#tookMs = 0;
    this.ring.scanBegins();
    this.arrivals.scanBegins();
  }

  /** One page of a scan; `isLast`: there are no more. */
  listed(lanes: readonly WaitingLane[], isLast: boolean): void {
    for (const lane of lanes) this.ring.add(lane, true);
    this.#cursor = isLast ? undefined : lanes.at(-1);
  }

  /** The page is done, with all that it asked for; it took so long. */
  scanned(nowMs: number, tookMs: number): void {
    this.#tookMs += tookMs;
    if (this.#cursor !== undefined) return;
    this.#pace.scanned(nowMs, this.#tookMs);
    this.arrivals.scanned();
    if (!this.ring.isComplete) this.#isScanWanted = true;
  }

  /** A scan did not come about. */
  scanFailed(): void {
    this.#cursor = undefined;
    this.#isScanWanted = true;
    this.#isStale = true;
  }

  hold(closings: readonly Closing[]): void {
    for (const closing of closings) if (closing.scope === "queue") this.closed.close(closing);
  }

  hear(news: News): void {
    for (const lane of news.lanes) this.ring.add(lane, false, String(BigInt(lane.first) - 1n));
    const rescanNo = news.rescanNos.get(this.name);
    if (rescanNo !== this.#rescanNo) this.#isScanWanted = true;
    this.#rescanNo = rescanNo;
    this.arrivals.hear(news.look);
    // What is not much more than a look covers is looked at by its ids, a part at a time.
    const { behind, isWide } = this.arrivals;
    if (behind > 0) this.#isStale = true;
    if (behind > LOOK_IDS || isWide) this.#isScanWanted = true;
  }

  /** A look of its own covers all that it can; what is left of it needs another one. The news of a claim leave more to the next look. */
  lookOn(): void {
    if (this.arrivals.isUnfinished) this.#isStale = true;
  }

  #mayScan(nowMs: number): boolean {
    if (this.#isScanWanted && nowMs >= this.#pace.wantedAtMs) return true;
    return this.#isCheckWanted && nowMs >= this.#pace.dueAtMs(0);
  }

  #mayGoOn(nowMs: number): boolean {
    return this.#cursor !== undefined && this.closed.opensAtMs <= nowMs;
  }
}
