// Ending a long command from outside. The first signal asks it to stop gracefully, a second one ends the process at once.
import { systemClock } from "../base/clock.js";
import { outliveTerminal } from "../base/terminal.js";

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * One Ctrl-C reaches a process twice when its parent passes it on: npm does, and so does a parent that lets go of its children.
 * A person's second one comes later than this. npm takes its time on a busy machine, and passes on SIGTERM, too.
 */
const SAME_SIGNAL_MS = { alone: 150, underNpm: 1_000 } as const;

/** How often to look whether the parent is still there. */
const PARENT_LOOK_MS = 500;

type Asked = keyof typeof EXIT_CODES | "parent" | "terminal";

export interface Signals {
  /** Resolves at the first signal. */
  readonly first: Promise<void>;
  /** Gives the signals their usual meaning again. */
  release(): void;
}

/**
 * `onFirst` runs at once, so that a person sees that the signal was heard. SIGHUP, of a terminal that was closed, is such a signal; of any other origin it calls
 * `onReload`, where there is one.
 */
export function catchSignals(onFirst: () => void = () => {}, onReload?: () => void): Signals {
  const terminal = outliveTerminal();
  const underNpm = process.env["npm_command"] !== undefined;
  let asked: { by: Asked; atMs: number } | undefined;
  let resolve = () => {};
  const first = new Promise<void>((done) => {
    resolve = done;
  });
  const heard = (signal: keyof typeof EXIT_CODES) => {
    if (asked === undefined) return stop(signal);
    const isSame = asked.by === "parent" || asked.by === signal;
    const isPassedOn = underNpm || (signal === "SIGINT" && isSame);
    const withinMs = SAME_SIGNAL_MS[underNpm ? "underNpm" : "alone"];
    if (isSame && isPassedOn && systemClock.monotonic() - asked.atMs <= withinMs) return;
    process.exit(EXIT_CODES[signal]);
  };
  const stop = (by: Asked) => {
    asked = { by, atMs: systemClock.monotonic() };
    onFirst();
    resolve();
  };
  /** The shell and the system tell the same, so it comes twice; a second one ends nothing at once. */
  const hungUp = () => {
    if (onReload !== undefined && !terminal.isClosed()) onReload();
    else if (asked === undefined) stop("terminal");
  };
  const parentLeft = () => {
    if (asked === undefined) stop("parent");
  };
  process.on("SIGINT", heard);
  process.on("SIGTERM", heard);
  process.on("SIGHUP", hungUp);
  // Started by a parent with a channel to us: when that parent is gone, or lets go of us, there is no caller left to work for.
  process.on("disconnect", parentLeft);
  if (process.send !== undefined && !process.connected) parentLeft();
  // npm runs us below a shell, and a SIGTERM to npm may end that shell without reaching us. Without npm, a parent that ends says nothing:
  // a worker may be left running on purpose.
  const parent = process.ppid;
  const lookForParent = () => {
    if (underNpm && process.ppid !== parent) parentLeft();
  };
  // Signals alone do not keep a process alive, and `dev` without handlers may have nothing else.
  const staysAlive = setInterval(lookForParent, PARENT_LOOK_MS);
  return {
    first,
    release: () => {
      clearInterval(staysAlive);
      process.off("SIGINT", heard);
      process.off("SIGTERM", heard);
      process.off("SIGHUP", hungUp);
      process.off("disconnect", parentLeft);
    },
  };
}
