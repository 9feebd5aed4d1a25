// What a call needs of the state that all workers share: leave to begin, and a place to say what it came to. A worker asks the database; a child of a supervisor
// asks the supervisor.
import type { SpentFacts } from "../budgets/budget-errors.js";
import type { Claim } from "../core/job/claim.js";
import type { CallResult } from "./judge.js";
import type { ProviderSettings } from "./provider.js";
import type { ClosedProvider } from "./provider-errors.js";
import type { Limited } from "./rate-headers.js";

/** A call that wants to begin, at the first provider of the chain that is open. */
export interface CallAsk {
  readonly chain: readonly CallLink[];
}

export interface CallLink {
  readonly settings: ProviderSettings;
  /** What the call is expected to cost there; undefined: it is not charged. */
  readonly cost: number | undefined;
}

export type Begun =
  /**
   * It begins now, at this link of the chain. `isProbe`: it finds out whether the provider is back. `isSoft`: it is beyond the soft threshold of a budget.
   */
  | { readonly call: string; readonly index: number; readonly isProbe: boolean; readonly isSoft: boolean }
  /** None is open, or a budget has no room for any that is. */
  | { readonly closed: readonly ClosedProvider[]; readonly spent?: NoRoom };

/** A budget has no room for a call. */
export interface NoRoom {
  readonly facts: SpentFacts & { readonly cost: number };
  /** Its job is left alone by claims from now on, until there is room. */
  readonly isParked: boolean;
}

export interface CallEnd {
  readonly call: string;
  readonly result: CallResult;
  readonly tookMs: number;
  readonly limited: Limited | undefined;
  /** What is known of its cost, where it is charged. */
  readonly charge: ChargeEnd | undefined;
}

/** void: not paid; unknown: it was cut in the middle, and counts as expected. */
export interface ChargeEnd {
  readonly state: "paid" | "unknown" | "void";
  /** undefined: as expected. */
  readonly cost: number | undefined;
}

export interface CallKeeper {
  /** Resolves when the call may begin: at once, or when its turn has come. `isOver`: the run has ended meanwhile. */
  begin(claim: Claim, ask: CallAsk, isOver: () => boolean): Promise<Begun>;
  /** Resolves when the cost is on record, where there is one. */
  end(claim: Claim, end: CallEnd): Promise<void>;
}
