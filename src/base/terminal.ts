// The terminal that a process was started at may be closed while the process goes on: its window is gone, or the line to it. From then on every write to it fails,
// and Node aborts (SIGABRT) when it ends, because it cannot put the terminal's settings back. A process that keeps to this file ends as usual.
import { closeSync, openSync } from "node:fs";
import { isatty } from "node:tty";

const STANDARD = [0, 1, 2] as const;

export interface OwnTerminal {
  /** The process had a terminal when it began, and has none any more. */
  isClosed(): boolean;
}

let own: OwnTerminal | undefined;

/** Called once, when a process begins. What is written to a closed terminal is lost; a pipe that breaks is no affair of this file. */
export function outliveTerminal(): OwnTerminal {
  own ??= watch();
  return own;
}

function watch(): OwnTerminal {
  const at = STANDARD.filter((fd) => isatty(fd));
  // A process that works for another one, over a channel, has that one's terminal and writes elsewhere.
  const isLent = at.length === 0 && process.send !== undefined && hasControlling();
  const isGone = () => at.length > 0 && !at.some((fd) => isatty(fd));
  const leave = () => {
    if (isGone()) for (const fd of at) replace(fd);
  };
  for (const fd of at) {
    if (fd === 0) continue;
    const stream = fd === 1 ? process.stdout : process.stderr;
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EIO") leave();
      else if (stream.listenerCount("error") === 1) throw error;
    });
  }
  if (at.length > 0) process.on("exit", leave);
  return { isClosed: () => (isLent ? !hasControlling() : isGone()) };
}

/** Node leaves a descriptor alone that is another file than at its start. */
function replace(fd: number): void {
  try {
    closeSync(fd);
    // The lowest that is free: the one that was closed, because those below it are open.
    openSync("/dev/null", "r+");
  } catch {
    // Then it is as it was.
  }
}

/** Whether the session of this process has a terminal. */
function hasControlling(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
