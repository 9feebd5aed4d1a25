// What a claimer knows of one queue: its ring, whether the ring may be wrong, and whether the queue is held back.
import { compareIds } from "../../base/job-id.js";
import type { LaneName, News, WaitingLane } from "./claim-statements.js";
import type { Closing } from "./closed-limits.js";
import { ClosedQueue } from "./closed-queue.js";
import type { LaneRing } from "./lane-ring.js";

const FIRST_ID = "1";

export class QueueView {
  readonly name: string;
  readonly ring: LaneRing;
  readonly closed = new ClosedQueue();
  /** Something may be waiting that the ring does not know. */
  #isStale = true;
  #scannedAtMs = Number.NEGATIVE_INFINITY;
  /** Where an unfinished scan goes on. */
  #cursor: LaneName | undefined;
  #rescanNo: string | undefined;
  /** The highest id that was looked at for news. */
  #tail = "0";

  constructor(name: string, ring: LaneRing) {
    this.name = name;
    this.ring = ring;
  }

  get tail(): string {
    return this.#tail;
  }

  get cursor(): LaneName | undefined {
    return this.#cursor;
  }

  /** Look at everything again. */
  markStale(): void {
    this.#isStale = true;
  }

  /** A job has arrived in this lane. Its id may be lower than the lane's floor: one that is lower still may have committed first. */
  arrived(lane: LaneName): void {
    if (this.ring.parked > 0 || this.closed.opensAtMs !== Number.NEGATIVE_INFINITY) this.markStale();
    else this.ring.returned(lane, FIRST_ID);
  }

  /** Whether another claim may bring something without news. */
  hasWork(nowMs: number): boolean {
    if (this.#isStale) return true;
    if (this.closed.opensAtMs > nowMs) return false;
    return this.#cursor !== undefined || this.ring.size > 0 || this.ring.opensAtMs <= nowMs;
  }

  /** When something that is held back may be tried again; what has no lanes waits for nothing. */
  get opensAtMs(): number {
    const lanesAtMs = this.ring.size > 0 || this.#cursor ? Number.NEGATIVE_INFINITY : this.ring.opensAtMs;
    return Math.max(this.closed.opensAtMs, lanesAtMs);
  }

  needsScan(nowMs: number, rescanMs: number): boolean {
    if (this.#isStale) return true;
    // A queue that ran dry or is held back is looked at as well: while another one keeps the worker busy, no poll looks for it.
    if (nowMs - this.#scannedAtMs >= rescanMs) return true;
    return this.#cursor !== undefined && this.closed.opensAtMs <= nowMs;
  }

  /** A scan is asked for. Taken down before the answer is there: news that come in meanwhile raise it again. */
  scanning(): void {
    this.#isStale = false;
  }

  /** One page of a scan; `isLast`: there are no more. */
  scanned(lanes: readonly WaitingLane[], isLast: boolean, nowMs: number): void {
    for (const lane of lanes) this.ring.add(lane, true);
    this.#cursor = isLast ? undefined : lanes.at(-1);
    if (isLast) this.#scannedAtMs = nowMs;
    // What held the queue back may be over: one try.
    this.closed.open();
  }

  hold(closings: readonly Closing[]): void {
    for (const closing of closings) if (closing.scope === "queue") this.closed.close(closing);
  }

  hear(news: News): void {
    for (const lane of news.lanes) this.ring.add(lane, false);
    const rescanNo = news.rescanNos.get(this.name);
    if (rescanNo !== this.#rescanNo || news.isFull) this.markStale();
    this.#rescanNo = rescanNo;
    if (compareIds(news.tail, this.#tail) > 0) this.#tail = news.tail;
  }
}
