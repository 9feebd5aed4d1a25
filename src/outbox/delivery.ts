// Delivery as its stages speak of it: what a sender is told before it sends, and what it says afterwards.

import { ConfigError } from "../base/errors.js";
import { showValue } from "../base/show-value.js";
import type { Claim } from "../core/job/claim.js";
import type { RunnerAnswer } from "../core/run/handler.js";
import type { DeliveryMark } from "./delivery-mark.js";

/** A delivery job is of this kind, with the channel's name behind it: so limits and pauses of kinds are those of channels. */
export const DELIVERY_KIND = "fairmill.deliver.";
export const DELIVERY_QUEUE = "outbox";
/** Receivers are away more often than handlers fail. */
export const DELIVERY_ATTEMPTS = 10;

/** What a run of a delivery job came to. */
export interface Delivered extends RunnerAnswer {
  /** Missing: nothing was tried. */
  readonly details?: { readonly delivery: DeliveryMark };
}

/** What the outbox says to somebody who wants to send. `send` is on record before it is answered; the others change nothing. */
export interface Begun {
  readonly answer: "send" | "uncertain" | "over" | "lost";
  readonly messageId: string;
  readonly idempotencyKey: string;
  /** As it is stored. */
  readonly payload: unknown;
  /** The how-manieth attempt to send this is. */
  readonly tries: number;
  /** Of an uncertain one: how long ago the last attempt began. */
  readonly sinceMs: number;
  /** When it was asked, by the monotonic clock: what the answer says was true then. */
  readonly askedAtMs: number;
}

/** Where a sender says that it begins. Fenced by the claim and by `run`, a text that no other run has; and repeated until it is answered or the run is over. */
export interface SendKeeper {
  begin(claim: Claim, run: string, resend: boolean, isOver: () => boolean): Promise<Begun>;
}

/** A name that fits behind `DELIVERY_KIND`. */
export function channelName(name: unknown): string {
  if (typeof name === "string" && /^[\x21-\x7e]{1,180}$/.test(name)) return name;
  throw new ConfigError(
    "channel",
    `channel: ${showValue(name)} is not the name of a channel: 1 to 180 letters, digits and signs, without spaces.`,
  );
}
