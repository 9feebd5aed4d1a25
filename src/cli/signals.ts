// Ending a long command from outside. The first signal asks it to stop gracefully, a second one ends the process at once.
import { systemClock } from "../model/clock.js";

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * One Ctrl-C reaches a process twice when its parent passes it on: npm does, and so does a parent that lets go of its children.
 * A person's second one comes later than this.
 */
const SAME_KEYPRESS_MS = 150;

export interface Signals {
  /** Resolves at the first signal. */
  readonly first: Promise<void>;
  /** Gives the signals their usual meaning again. */
  release(): void;
}

/** `onFirst` runs at once, so that a person sees that the signal was heard. */
export function catchSignals(onFirst: () => void = () => {}): Signals {
  let asked: { by: keyof typeof EXIT_CODES | "parent"; atMs: number } | undefined;
  let resolve = () => {};
  const first = new Promise<void>((done) => {
    resolve = done;
  });
  const heard = (signal: keyof typeof EXIT_CODES) => {
    if (asked === undefined) return stop(signal);
    const isSame = signal === "SIGINT" && asked.by !== "SIGTERM";
    if (!isSame || systemClock.monotonic() - asked.atMs > SAME_KEYPRESS_MS) process.exit(EXIT_CODES[signal]);
  };
  const stop = (by: keyof typeof EXIT_CODES | "parent") => {
    asked = { by, atMs: systemClock.monotonic() };
    onFirst();
    resolve();
  };
  const parentLeft = () => {
    if (asked === undefined) stop("parent");
  };
  process.on("SIGINT", heard);
  process.on("SIGTERM", heard);
  // Started by a parent with a channel to us: when that parent is gone, or lets go of us, there is nobody left to work for.
  process.on("disconnect", parentLeft);
  if (process.send !== undefined && !process.connected) parentLeft();
  // Signals alone do not keep a process alive, and `dev` without handlers may have nothing else.
  const staysAlive = setInterval(() => {}, 60_000);
  return {
    first,
    release: () => {
      clearInterval(staysAlive);
      process.off("SIGINT", heard);
      process.off("SIGTERM", heard);
      process.off("disconnect", parentLeft);
    },
  };
}
