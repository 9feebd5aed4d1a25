// What a schedule is, checked, and which of its ticks are done at a given time: decided here, without a database and without a clock.
import { createHash } from "node:crypto";
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { Cron } from "./cron.js";

/** What becomes of ticks that were missed: none, the latest, or the latest n are made up for. */
export type Missed = "skip" | "once" | { readonly all: number };

/** A time that a schedule's expression names, and the schedule. */
export interface Tick {
  readonly schedule: string;
  readonly at: Date;
}

/** A tick is missed when no worker saw it for this long. */
export const ON_TIME_MS = 60_000;
export const MISSED_MAX = 1_000;

export function checkMissed(missed: unknown): number {
  if (missed === undefined || missed === "once") return 1;
  if (missed === "skip") return 0;
  if (typeof missed !== "object" || missed === null)
    throw new ConfigError(
      "missed",
      `missed: ${showValue(missed)} is no policy. Write "skip", "once" or { all: 10 }: the latest ten.`,
    );
  refuseUnknown(missed, ["all"], "missed");
  return wholeNumber((missed as { all?: unknown }).all, 1, MISSED_MAX, "missed.all");
}

export const missedOf = (missedMax: number): Missed =>
  missedMax === 0 ? "skip" : missedMax === 1 ? "once" : { all: missedMax };

export function checkJitter(jitter: Duration | undefined): number {
  return jitter === undefined ? 0 : Math.round(toMs(jitter, "jitter"));
}

/** How long after its tick a job may start: between nothing and `jitterMs`, always the same for the same tick. */
export function jitterOf(schedule: string, tickMs: number, jitterMs: number): number {
  if (jitterMs === 0) return 0;
  const dice = createHash("sha256").update(`${schedule}\n${tickMs}`).digest().readUIntBE(0, 6) / 2 ** 48;
  return Math.floor(dice * (jitterMs + 1));
}

/**
 * The ticks from `fromMs` to `nowMs` that get a job, oldest first: the latest `missedMax` of them, and in any case those that are on time.
 * So one that is a little late is never lost, and with "once" a tick that is on time does for the missed ones, too.
 */
export function dueTicks(
  cron: Pick<Cron, "next">,
  fromMs: number,
  nowMs: number,
  missedMax: number,
): { ticks: number[]; nextMs: number } {
  const onTimeMs = Math.max(fromMs, nowMs - ON_TIME_MS);
  const ticks = latest(cron, onTimeMs, nowMs, Number.POSITIVE_INFINITY);
  const wanted = missedMax - ticks.length;
  // A year of minutes is not counted from its beginning: look back further and further until there are enough.
  for (let spanMs = ON_TIME_MS * wanted, missed: number[] = []; wanted > 0 && onTimeMs > fromMs; spanMs *= 4) {
    const startMs = Math.max(fromMs, onTimeMs - spanMs);
    missed = latest(cron, startMs, onTimeMs - 1, wanted);
    if (missed.length < wanted && startMs > fromMs) continue;
    ticks.unshift(...missed);
    break;
  }
  return { ticks, nextMs: cron.next(nowMs) };
}

/** The last `max` ticks in [fromMs, toMs]. */
function latest(cron: Pick<Cron, "next">, fromMs: number, toMs: number, max: number): number[] {
  const found: number[] = [];
  for (let tick = cron.next(fromMs - 1); tick <= toMs; tick = cron.next(tick)) {
    found.push(tick);
    if (found.length > max) found.shift();
  }
  return found;
}
