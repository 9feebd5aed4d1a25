// Starts a server on an existing cluster and waits until it is ready; tries again after failures that pass.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { endServer } from "./adopt-server.js";
import { connectionUrl, writeConnection } from "./connection-file.js";
import { PASSWORD_FILE } from "./create-cluster.js";
import type { DataHome } from "./data-home.js";
import { askUntil, deadlineIn, pause, settlesBefore } from "./deadline.js";
import { EmbeddedStartError } from "./errors.js";
import { freePort } from "./free-port.js";
import { disarmStaleFile, findRunningServer } from "./postmaster-file.js";
import type { PreparedBinaries } from "./prepare-binaries.js";
import { markProcess } from "./process-identity.js";
import { lastLines, openServerLog, type ServerLog } from "./server-log.js";
import { type ServerProcess, spawnAlone, spawnGuarded } from "./server-process.js";
import { serverArguments } from "./server-settings.js";

/** Recovery after a crash replays the log; on a slow disk that takes long. */
const READY_WAIT_MS = 180_000;
const STOP_WAIT_MS = 60_000;
/** How long a killed server may hold its shared memory, or a stranger our port, before we give up. */
const RETRY_WAIT_MS = 20_000;

export interface ServerStart {
  readonly dataDir: string;
  readonly dataHome: DataHome;
  readonly binaries: PreparedBinaries;
  readonly durable: boolean;
  readonly settings: Record<string, string>;
  readonly keepRunning: boolean;
  /** The port to take if it is free, or, when `portFixed`, in any case. */
  readonly port?: number | undefined;
  readonly portFixed: boolean;
}

export interface StartedServer {
  readonly process: ServerProcess;
  readonly port: number;
  readonly url: string;
}

/** Only for the holder of the start claim. */
export async function startServer(start: ServerStart): Promise<StartedServer> {
  const { clusterDir, user } = start.dataHome;
  await disarmStaleFile(clusterDir, user);
  const password = await readPassword(clusterDir);
  const retries = deadlineIn(RETRY_WAIT_MS);
  let wanted = start.port;
  for (;;) {
    const port = start.portFixed && wanted !== undefined ? wanted : await freePort(wanted);
    const log = await openServerLog(join(start.dataDir, "server.log"));
    try {
      const server = spawnServer(start, port, log);
      const serverPid = await becomesReady(server, clusterDir);
      if (serverPid !== undefined) {
        const url = connectionUrl(password, port);
        await announce(start, server, { url, port, serverPid });
        return { process: server, port, url };
      }
      const written = await log.written();
      const trouble = passingTrouble(written);
      if (trouble === undefined || retries.passed()) throw startFailure(start, written);
      if (trouble === "port taken" && !start.portFixed) wanted = undefined;
      else await pause(100);
    } finally {
      await log.close();
    }
  }
}

async function readPassword(clusterDir: string): Promise<string> {
  try {
    return (await readFile(join(clusterDir, PASSWORD_FILE), "utf8")).trim();
  } catch (error) {
    throw new EmbeddedStartError(
      `The cluster in ${clusterDir} has no readable password file, so it is not one of ours.`,
      {
        advice: "Choose another data folder, or remove this one to begin with an empty database.",
        cause: error,
      },
    );
  }
}

function spawnServer(start: ServerStart, port: number, log: ServerLog): ServerProcess {
  const { clusterDir, user } = start.dataHome;
  const spawnThis = start.keepRunning ? spawnAlone : spawnGuarded;
  return spawnThis({
    postgres: join(start.binaries.binDir, "postgres"),
    args: serverArguments({ clusterDir, port, durable: start.durable, settings: start.settings }),
    user,
    clusterDir,
    logFd: log.fd,
  });
}

/** The process id of the ready server; `undefined` when it ended instead. */
async function becomesReady(server: ServerProcess, clusterDir: string): Promise<number | undefined> {
  let over = false;
  server.ended.then(() => {
    over = true;
  });
  const deadline = deadlineIn(READY_WAIT_MS);
  const outcome = await askUntil(deadline, 10, async () => {
    if (over) return "ended";
    const running = await findRunningServer(clusterDir);
    return running?.status === "ready" ? running.pid : undefined;
  });
  if (typeof outcome === "number") return outcome;
  // A server that hangs has to go, and so has the guardian of one that ended.
  await settlesBefore(deadlineIn(STOP_WAIT_MS), server.stop("immediate"));
  if (outcome === undefined) await endServer(clusterDir, "immediate");
  return undefined;
}

async function announce(
  start: ServerStart,
  server: ServerProcess,
  reach: { url: string; port: number; serverPid: number },
): Promise<void> {
  const guarded = !start.keepRunning && server.pid !== undefined;
  await writeConnection(start.dataDir, {
    ...reach,
    binDir: start.binaries.binDir,
    version: start.binaries.version,
    clusterDir: start.dataHome.clusterDir,
    owner: guarded ? await markProcess(process.pid) : null,
    guardian: guarded && server.pid !== undefined ? await markProcess(server.pid) : null,
  });
}

/** Troubles that go away by themselves or with another port. */
function passingTrouble(log: string): "port taken" | "old server not gone" | undefined {
  if (/could not bind|Address already in use|could not create any TCP\/IP sockets/.test(log)) return "port taken";
  if (/pre-existing shared memory block|lock file "postmaster\.pid" already exists/.test(log))
    return "old server not gone";
  return undefined;
}

function startFailure(start: ServerStart, log: string): EmbeddedStartError {
  return new EmbeddedStartError(`PostgreSQL ${start.binaries.version} did not start on ${start.dataHome.clusterDir}.`, {
    advice: `The log says why (all of it is in ${join(start.dataDir, "server.log")}). Correct the settings, or set DATABASE_URL.`,
    logLines: lastLines(log),
  });
}
