// Closed limits: they park lanes whose tenant, or a kind of whose jobs, is held back. A parked lane is not probed.
//
//  1. A claim that was held back closes the limit until a time, and parks the lanes that gave less than they were asked for.
//  2. A limit whose time has come lets lanes out for a try: of a kind first one, then twice as many with every claim that is not held
//     back again, so that a hundred thousand lanes do not all run against the same closed limit.
//  3. A lane that a scan has seen under the closed limit of a kind may hold jobs of other kinds: it gets one probe of its own, a few lanes a claim.
//  4. Where that time is unknown, the limit is tried when a job ends in this process, and after a short while.

import { Heap } from "../../base/heap.js";
import type { ClosedLimit } from "./closed-limit.js";
import { isSooner, type Lane, type ParkedLanes } from "./lane.js";

/** That something is held back, and until when. */
export interface Closing {
  readonly scope: ClosedLimit["scope"];
  readonly name: string;
  /** As the claimer's clock counts; infinite: until a scan. */
  readonly untilMs: number;
  /** A job that ends here may open it earlier. */
  readonly isFreeable: boolean;
  /** Only some jobs of its lanes are held back: the others were given, from above those. */
  readonly isPartial?: boolean;
}

/** Where it is unknown when to ask again. */
const ASK_AGAIN_MS = 2_000;
/** An answer "at once" is no reason to ask without a pause. */
const PAUSE_MS_MIN = 5;

/** Of the lanes that a claim can ask, one in this many may be a try of what a scan has seen. */
const SEEN_DIVISOR = 4;

export function toClosing({ scope, name, why, openInMs }: ClosedLimit, nowMs: number): Closing {
  if (openInMs !== null) {
    const untilMs = nowMs + Math.max(PAUSE_MS_MIN, openInMs);
    return { scope, name, untilMs, isFreeable: false, isPartial: isPartial({ scope, why }) };
  }
  if (why === "paused") return { scope, name, untilMs: Number.POSITIVE_INFINITY, isFreeable: false };
  return { scope, name, untilMs: nowMs + ASK_AGAIN_MS, isFreeable: true };
}

/** Of a kind, and of a tenant whose budget is spent, lanes may hold other jobs as well. */
export const isPartial = ({ scope, why }: Pick<ClosedLimit, "scope" | "why">): boolean =>
  scope === "kind" || why === "budget";

export class ClosedLimits {
  /** Those with parked lanes: there are never more limits than lanes. */
  readonly #limits = new Map<string, ParkedLanes>();
  readonly #byTime = new Heap<ParkedLanes>((a, b) => a.untilMs < b.untilMs);
  /** Seen by a scan, and not tried since. */
  readonly #seen = new Set<Lane>();
  #size = 0;

  /** Lanes that are parked. */
  get size(): number {
    return this.#size;
  }

  /** When the first limit opens; infinite: none is closed, or unknown. */
  get opensAtMs(): number {
    if (this.#seen.size > 0) return Number.NEGATIVE_INFINITY;
    return this.#gateOpensAtMs;
  }

  /** Held back again: the limit, if it has parked lanes, is closed again. */
  close({ scope, name, untilMs, isFreeable }: Closing): void {
    const limit = this.#limits.get(keyOf(scope, name));
    if (!limit) return;
    limit.isFreeable = isFreeable;
    limit.tries = triesAtFirst(scope);
    this.#open(limit, untilMs);
  }

  park(lane: Lane, { scope, name, untilMs, isFreeable }: Closing): void {
    const key = keyOf(scope, name);
    let limit = this.#limits.get(key);
    if (!limit) {
      limit = { key, scope, untilMs, isFreeable, tries: triesAtFirst(scope), lanes: new Heap(goesFirst), index: -1 };
      this.#limits.set(key, limit);
      this.#byTime.push(limit);
    }
    lane.parkedAt = limit;
    limit.lanes.push(lane);
    this.#size++;
  }

  /** Takes a lane away from its limit. The limit may stay behind empty until `sweep`. */
  leave(lane: Lane, limit: ParkedLanes): void {
    limit.lanes.remove(lane);
    this.#seen.delete(lane);
    lane.parkedAt = undefined;
    this.#size--;
  }

  sweep(limit: ParkedLanes): void {
    if (limit.lanes.size > 0 || !this.#limits.delete(limit.key)) return;
    this.#byTime.remove(limit);
  }

  /** A scan has seen jobs in this lane: worth a try now, whatever was said before. */
  tryNow(lane: Lane, limit: ParkedLanes): void {
    this.#open(limit, Number.NEGATIVE_INFINITY);
    if (limit.scope === "kind") this.#seen.add(lane);
  }

  /** Everything is worth a try now: what was said before may be over, and jobs of other kinds may have come into lanes of a closed one. */
  tryAll(): void {
    for (const limit of this.#limits.values()) {
      this.#open(limit, Number.NEGATIVE_INFINITY);
      if (limit.scope === "kind") for (const lane of limit.lanes) this.#seen.add(lane);
    }
  }

  /** Gives up a parked lane, any of them: the next scan brings it back. */
  evict(): Lane | undefined {
    for (const limit of this.#limits.values()) {
      const lane = limit.lanes.first!;
      this.leave(lane, limit);
      this.sweep(limit);
      return lane;
    }
    return undefined;
  }

  /** A job of this tenant or kind has ended here. True when that makes a try worthwhile. */
  freed(scope: ClosedLimit["scope"], name: string): boolean {
    if (this.#limits.size === 0) return false;
    const limit = this.#limits.get(keyOf(scope, name));
    if (!limit?.isFreeable) return false;
    // One lane for each job that ended.
    if (limit.untilMs === Number.NEGATIVE_INFINITY) limit.tries++;
    else this.#open(limit, Number.NEGATIVE_INFINITY);
    return true;
  }

  /** Lanes that may try now, at most `lanesMax`; they have left their limits. */
  letOut(nowMs: number, lanesMax: number): Lane[] {
    const out: Lane[] = [];
    const tried: ParkedLanes[] = [];
    for (const lane of this.#seen) {
      // The others have their turns meanwhile.
      if (out.length >= lanesMax / SEEN_DIVISOR) break;
      const limit = lane.parkedAt!;
      this.leave(lane, limit);
      this.sweep(limit);
      out.push(lane);
    }
    while (out.length < lanesMax && this.#gateOpensAtMs <= nowMs) {
      const limit = this.#byTime.pop()!;
      tried.push(limit);
      for (let tries = limit.tries; tries > 0 && out.length < lanesMax && limit.lanes.size > 0; tries--) {
        const lane = limit.lanes.first!;
        this.leave(lane, limit);
        out.push(lane);
      }
      limit.tries *= 2;
    }
    for (const limit of tried)
      if (limit.lanes.size > 0) this.#byTime.push(limit);
      else this.#limits.delete(limit.key);
    return out;
  }

  get #gateOpensAtMs(): number {
    return this.#byTime.first?.untilMs ?? Number.POSITIVE_INFINITY;
  }

  #open(limit: ParkedLanes, untilMs: number): void {
    limit.untilMs = untilMs;
    this.#byTime.moved(limit);
  }
}

const keyOf = (scope: ClosedLimit["scope"], name: string) => `${scope} ${name}`;

/** A tenant has few lanes, one per priority; of a kind there may be as many as there are tenants. */
const triesAtFirst = (scope: ClosedLimit["scope"]) => (scope === "tenant" ? Number.POSITIVE_INFINITY : 1);

const goesFirst = (a: Lane, b: Lane) => a.priority > b.priority || (a.priority === b.priority && isSooner(a, b));
