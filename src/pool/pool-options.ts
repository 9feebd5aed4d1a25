// What a pool is made of, and whom it tells.
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import type { FromChild } from "./border/messages.js";
import type { Offer } from "./border/offer.js";
import type { Child, ChildOptions } from "./child.js";
import type { ChildState, Exit } from "./life-cycle.js";
import type { CrashLoopError } from "./pool-errors.js";
import type { PoolSettings } from "./pool-settings.js";

export interface PoolEvents {
  readonly onChild: (child: Child, before: ChildState) => void;
  readonly onMessage: (child: Child, message: FromChild) => void;
  /** Its process has ended: what it ran has to be settled. */
  readonly onLost: (child: Child, exit: Exit) => void;
  /** How many children can be given jobs has changed. */
  readonly onCapacity: (serving: number) => void;
  readonly onOffer: (offer: Offer) => void;
  readonly onCrashLoop: (error: CrashLoopError) => void;
}

export interface PoolOptions extends PoolEvents {
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: PoolSettings;
  readonly graceMs: number;
  readonly abortGraceMs: number;
  readonly child: Pick<ChildOptions, "capacity"> & {
    readonly process: Omit<ChildOptions["process"], "settings"> & {
      readonly settings: Omit<ChildOptions["process"]["settings"], "number">;
    };
  };
}
