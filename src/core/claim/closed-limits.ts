// Closed limits: they park lanes whose tenant, or a kind of whose jobs, is held back. A parked lane is not probed.
//
//  1. A claim that was held back closes the limit until a time, and parks the lanes that gave less than they were asked for.
//  2. A limit whose time has come lets lanes out for a try: of a kind first one, then twice as many with every claim that is not held
//     back again, so that a hundred thousand lanes do not all run against the same closed limit.
//  3. A lane that a scan has seen under the closed limit of a kind may hold jobs of other kinds: it gets one probe of its own, a few lanes a claim.
//  4. Where that time is unknown, the limit is tried when a job ends in this process, and after a short while.

import { Heap } from "../../base/heap.js";
import type { Held } from "./closed-limit.js";
import { type Gate, isSooner, type Lane } from "./lane.js";

/** That something is held back, and until when. */
export interface Closing {
  readonly scope: Held["scope"];
  readonly name: string;
  /** As the claimer's clock counts; infinite: until a scan. */
  readonly untilMs: number;
  /** A job that ends here may open it earlier. */
  readonly isFreeable: boolean;
}

/** Where it is unknown when to ask again. */
const ASK_AGAIN_MS = 2_000;
/** An answer "at once" is no reason to ask without a pause. */
const PAUSE_MS_MIN = 5;

/** Of the lanes that a claim can ask, one in this many may be a try of what a scan has seen. */
const SEEN_DIVISOR = 4;

export function toClosing({ scope, name, why, openInMs }: Held, nowMs: number): Closing {
  if (openInMs !== null) return { scope, name, untilMs: nowMs + Math.max(PAUSE_MS_MIN, openInMs), isFreeable: false };
  if (why === "paused") return { scope, name, untilMs: Number.POSITIVE_INFINITY, isFreeable: false };
  return { scope, name, untilMs: nowMs + ASK_AGAIN_MS, isFreeable: true };
}

export class Gates {
  /** Those with parked lanes: there are never more limits than lanes. */
  readonly #gates = new Map<string, Gate>();
  readonly #byTime = new Heap<Gate>((a, b) => a.untilMs < b.untilMs);
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
    const gate = this.#gates.get(keyOf(scope, name));
    if (!gate) return;
    gate.isFreeable = isFreeable;
    gate.tries = triesAtFirst(scope);
    this.#open(gate, untilMs);
  }

  park(lane: Lane, { scope, name, untilMs, isFreeable }: Closing): void {
    const key = keyOf(scope, name);
    let gate = this.#gates.get(key);
    if (!gate) {
      gate = { key, scope, untilMs, isFreeable, tries: triesAtFirst(scope), lanes: new Heap(goesFirst), place: -1 };
      this.#gates.set(key, gate);
      this.#byTime.push(gate);
    }
    lane.gate = gate;
    gate.lanes.push(lane);
    this.#size++;
  }

  /** Takes a lane away from its limit. The limit may stay behind empty until `sweep`. */
  leave(lane: Lane, gate: Gate): void {
    gate.lanes.remove(lane);
    this.#seen.delete(lane);
    lane.gate = undefined;
    this.#size--;
  }

  sweep(gate: Gate): void {
    if (gate.lanes.size > 0 || !this.#gates.delete(gate.key)) return;
    this.#byTime.remove(gate);
  }

  /** A scan has seen jobs in this lane: worth a try now, whatever was said before. */
  tryNow(lane: Lane, gate: Gate): void {
    this.#open(gate, Number.NEGATIVE_INFINITY);
    if (gate.scope === "kind") this.#seen.add(lane);
  }

  /** Gives up a parked lane, any of them: the next scan brings it back. */
  evict(): Lane | undefined {
    for (const gate of this.#gates.values()) {
      const lane = gate.lanes.first!;
      this.leave(lane, gate);
      this.sweep(gate);
      return lane;
    }
    return undefined;
  }

  /** A job of this tenant or kind has ended here. True when that makes a try worthwhile. */
  freed(scope: Held["scope"], name: string): boolean {
    if (this.#gates.size === 0) return false;
    const gate = this.#gates.get(keyOf(scope, name));
    if (!gate?.isFreeable) return false;
    // One lane for each job that ended.
    if (gate.untilMs === Number.NEGATIVE_INFINITY) gate.tries++;
    else this.#open(gate, Number.NEGATIVE_INFINITY);
    return true;
  }

  /** Lanes that may try now, at most `lanesMax`; they have left their limits. */
  letOut(nowMs: number, lanesMax: number): Lane[] {
    const out: Lane[] = [];
    const tried: Gate[] = [];
    for (const lane of this.#seen) {
      // The others have their turns meanwhile.
      if (out.length >= lanesMax / SEEN_DIVISOR) break;
      const gate = lane.gate!;
      this.leave(lane, gate);
      this.sweep(gate);
      out.push(lane);
    }
    while (out.length < lanesMax && this.#gateOpensAtMs <= nowMs) {
      const gate = this.#byTime.pop()!;
      tried.push(gate);
      for (let tries = gate.tries; tries > 0 && out.length < lanesMax && gate.lanes.size > 0; tries--) {
        const lane = gate.lanes.first!;
        this.leave(lane, gate);
        out.push(lane);
      }
      gate.tries *= 2;
    }
    for (const gate of tried)
      if (gate.lanes.size > 0) this.#byTime.push(gate);
      else this.#gates.delete(gate.key);
    return out;
  }

  get #gateOpensAtMs(): number {
    return this.#byTime.first?.untilMs ?? Number.POSITIVE_INFINITY;
  }

  #open(gate: Gate, untilMs: number): void {
    gate.untilMs = untilMs;
    this.#byTime.moved(gate);
  }
}

const keyOf = (scope: Held["scope"], name: string) => `${scope} ${name}`;

/** A tenant has few lanes, one per priority; of a kind there may be as many as there are tenants. */
const triesAtFirst = (scope: Held["scope"]) => (scope === "tenant" ? Number.POSITIVE_INFINITY : 1);

const goesFirst = (a: Lane, b: Lane) => a.priority > b.priority || (a.priority === b.priority && isSooner(a, b));
