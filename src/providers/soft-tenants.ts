// Which tenants are beyond the soft threshold of a budget, as the last charges of this process said: their calls prefer the cheaper providers of a chain.
import type { Clock } from "../base/clock.js";
import type { Claim } from "../core/job/claim.js";
import type { CallLink } from "./call-keeper.js";

/** A period may be over, or the budget raised: then a charge says so again. */
const KNOWN_MS = 10_000;
/** Tenants of which this process remembers it; more, and the oldest learn again. */
const KNOWN_MAX = 10_000;

export class SoftTenants {
  readonly #clock: Clock;
  /** By tenant and kind, until when it is believed. */
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(claim: Claim): boolean {
    const untilMs = this.#until.get(keyOf(claim));
    return untilMs !== undefined && untilMs > this.#clock.monotonic();
  }

  /** True where that is news. */
  learn(claim: Claim, isSoft: boolean): boolean {
    const isNews = this.has(claim) !== isSoft;
    const key = keyOf(claim);
    this.#until.delete(key);
    if (!isSoft) return isNews;
    this.#until.set(key, this.#clock.monotonic() + KNOWN_MS);
    if (this.#until.size > KNOWN_MAX) this.#until.delete(this.#until.keys().next().value!);
    return isNews;
  }
}

const keyOf = ({ tenant, kind }: Claim) => JSON.stringify([tenant, kind]);

/** Which link goes first, second, …: as the chain says, or the cheapest first. */
export function inOrder(chain: readonly CallLink[], isSoft: boolean): number[] {
  const order = chain.map((_, index) => index);
  return isSoft ? order.toSorted((a, b) => (chain[a]!.cost ?? 0) - (chain[b]!.cost ?? 0)) : order;
}
