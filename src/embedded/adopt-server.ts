// Decides about a server that runs already on the cluster: adopt it, wait for its end, or end it because it has no owner any more.

import { type ConnectionRecord, readConnection } from "./connection-file.js";
import { askUntil, deadlineIn } from "./deadline.js";
import { EmbeddedStartError } from "./errors.js";
import { answersAsPostgres } from "./ping.js";
import { findRunningServer, serverGoneBefore } from "./postmaster-file.js";
import { stillLives } from "./process-identity.js";
import type { StopMode } from "./server-process.js";

/** Recovery after a crash, or a last checkpoint, may take this long. */
const SETTLE_WAIT_MS = 120_000;

/**
 * How to reach the server that runs on this cluster, once it is ready; `undefined` when none runs and one may be started.
 * A server whose owner has ended is about to end too: adopting it would give a URL that is about to die.
 */
export async function adoptable(dataDir: string, clusterDir: string): Promise<ConnectionRecord | undefined> {
  const deadline = deadlineIn(SETTLE_WAIT_MS);
  const decision = await askUntil(deadline, 20, async () => {
    const server = await findRunningServer(clusterDir);
    if (server === undefined) return { adopt: undefined };
    if (server.status !== "ready") return undefined;
    const connection = await readConnection(dataDir);
    const ours = connection?.serverPid === server.pid ? connection : undefined;
    if (ours !== undefined && (ours.owner === null || (await stillLives(ours.owner)))) {
      return (await answersAsPostgres(ours.port)) ? { adopt: ours } : undefined;
    }
    if (ours?.guardian && (await stillLives(ours.guardian))) return undefined;
    // Owner and guardian were both killed, or the owner before it could write how to reach the server.
    await signalServer(clusterDir, "fast");
    return undefined;
  });
  if (decision === undefined) {
    throw new EmbeddedStartError(`The PostgreSQL that runs on ${clusterDir} became neither ready nor ended.`, {
      advice: "Look at server.log in the data folder; end the server if it hangs, then try again.",
    });
  }
  return decision.adopt;
}

/** Ends a server by the process id in its own file; false when it is still there at the end of the wait. */
export async function endServer(clusterDir: string, mode: StopMode): Promise<boolean> {
  await signalServer(clusterDir, mode);
  return await serverGoneBefore(deadlineIn(SETTLE_WAIT_MS), clusterDir);
}

async function signalServer(clusterDir: string, mode: StopMode): Promise<void> {
  // Looked up again right before the signal: the id is checked to belong to a server of this very cluster.
  const server = await findRunningServer(clusterDir);
  if (server === undefined) return;
  try {
    process.kill(server.pid, mode === "fast" ? "SIGINT" : "SIGQUIT");
  } catch {
    // It ended in between, or belongs to another user; either way the caller watches whether it goes.
  }
}
