// Spawns the server, either under a guardian that ends it together with this process, or on its own.
// The guardian is a shell that holds a pipe from us: when we end in whatever way, even by SIGKILL, the pipe closes.

import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { deadlineIn, settlesBefore } from "./deadline.js";
import { cleanEnvironment } from "./run-program.js";
import { type ServerUser, spawnAs } from "./server-user.js";

export type StopMode = "fast" | "immediate";

export interface ServerProcess {
  /** The guardian's id, or the server's own when there is no guardian. */
  readonly pid: number | undefined;
  /** Settles when no process of the server is left (with a guardian), or the server's first process ended (without). */
  readonly ended: Promise<void>;
  /** Asks for the end and waits for it; false when there was no process to ask, or something is left. */
  stop(mode: StopMode): Promise<boolean>;
}

/**
 * The guardian's program. It waits for one line, or the end of the pipe, and then stops its child, the server. The signal is
 * repeated because a server that has only just begun ignores it; a server that does not end is stopped harder, so that nothing
 * stays behind. Descriptor 3 stays open in the server's processes alone, so it closes when the last of them is gone; the guardian
 * is dismissed then with the line "gone", before the process id of its child can belong to another process.
 */
const GUARDIAN = `
"$@" </dev/null &
server=$!
exec 3>&-
trap '' HUP INT TERM QUIT PIPE
signal=INT
read -r order
[ "$order" = gone ] && exit 0
[ "$order" = immediate ] && signal=QUIT
(
  rounds=0
  while kill -$signal "$server" 2>/dev/null; do
    rounds=$((rounds + 1))
    [ $rounds -eq 150 ] && signal=QUIT
    [ $rounds -eq 200 ] && signal=KILL
    sleep 0.2 || sleep 1
  done
) &
wait "$server"
kill -KILL $! 2>/dev/null
exit 0
`;

/** How the guardian shows in a list of processes. */
export const GUARDIAN_NAME = "fairmill-guardian";

interface Spawning {
  readonly postgres: string;
  readonly args: readonly string[];
  readonly user: ServerUser;
  readonly clusterDir: string;
  readonly logFd: number;
}

export function spawnGuarded(how: Spawning): ServerProcess {
  const guardian = spawn("/bin/sh", ["-c", GUARDIAN, GUARDIAN_NAME, how.postgres, ...how.args], {
    ...spawnOptions(how),
    stdio: ["pipe", how.logFd, how.logFd, "pipe"],
  });
  const exited = exitOf(guardian);
  const lifeline = guardian.stdio[3] as Socket;
  const ended = new Promise<void>((resolve) => lifeline.once("close", () => resolve()));
  lifeline.on("error", () => {}).resume();
  const orders = guardian.stdin as Socket;
  orders.on("error", () => {});
  const give = (order: StopMode | "gone") => {
    if (!orders.writableEnded) orders.end(`${order}\n`);
  };
  ended.then(() => give("gone"));
  // Our process may end while the server runs; that is what the guardian is for.
  guardian.unref();
  lifeline.unref();
  orders.unref();
  return {
    pid: guardian.pid,
    ended,
    stop: async (mode) => {
      if (guardian.exitCode !== null || guardian.signalCode !== null) return false;
      guardian.ref();
      lifeline.ref();
      give(mode);
      await exited;
      // A guardian that was killed did not stop anything.
      if (guardian.exitCode !== 0) return false;
      // A server that was killed leaves its child processes for a short time.
      return await settlesBefore(deadlineIn(5_000), ended);
    },
  };
}

export function spawnAlone(how: Spawning): ServerProcess {
  const server = spawn(how.postgres, how.args, { ...spawnOptions(how), stdio: ["ignore", how.logFd, how.logFd] });
  const ended = exitOf(server);
  server.unref();
  return { pid: server.pid, ended, stop: async () => false };
}

function spawnOptions(how: Spawning) {
  return {
    ...spawnAs(how.user),
    cwd: how.clusterDir,
    env: cleanEnvironment(),
    // A session of its own: Ctrl-C in our terminal goes to our process group only.
    detached: true,
  };
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
}
