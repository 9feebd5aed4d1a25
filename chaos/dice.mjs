// Dice that can be thrown again, and pauses.
import { setTimeout } from "node:timers/promises";

/** Numbers from 0 to 1, the same for the same seed. */
export function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export const pick = (random, list) => list[Math.floor(random() * list.length)];

/** Resolves early when the signal aborts. */
export const sleep = (ms, signal) => setTimeout(ms, undefined, { signal }).catch(() => {});
