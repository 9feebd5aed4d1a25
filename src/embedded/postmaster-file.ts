// Reads what a running server says about itself in `postmaster.pid`, and distinguishes a living server from a file left behind.

import { chown, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { askUntil, type Deadline } from "./deadline.js";
import { systemCode } from "./errors.js";
import { processCommand, stillLives } from "./process-identity.js";
import { GUARDIAN_NAME } from "./server-process.js";
import type { ServerUser } from "./server-user.js";

/** "starting" also covers recovery after a crash. */
export type ServerStatus = "starting" | "ready" | "stopping";

export interface RunningServer {
  readonly pid: number;
  readonly status: ServerStatus;
}

/** The server that runs on this cluster now. A file whose process is gone, or is not PostgreSQL, counts as none. */
export async function findRunningServer(clusterDir: string): Promise<RunningServer | undefined> {
  const file = await readPostmasterFile(clusterDir);
  if (file === undefined || !(await stillLives({ pid: file.pid, birth: "" }))) return undefined;
  const command = await processCommand(file.pid);
  return command === undefined || isServerCommand(command, clusterDir) ? file : undefined;
}

/** Our servers are all started in this form; a process id that was reused belongs to another command. */
function isServerCommand(command: string, clusterDir: string): boolean {
  return command.includes(`/postgres -D ${clusterDir} -c `) && !command.includes(GUARDIAN_NAME);
}

/** Waits until no server runs on the cluster; false when the deadline came first. */
export async function serverGoneBefore(deadline: Deadline, clusterDir: string): Promise<boolean> {
  const gone = await askUntil(deadline, 20, async () =>
    (await findRunningServer(clusterDir)) === undefined ? true : undefined,
  );
  return gone === true;
}

/**
 * Makes a left-behind `postmaster.pid` harmless. PostgreSQL ignores it when the process id is free, but refuses to start when an
 * unrelated process of the same user has that id now. The file is not removed: PostgreSQL also reads from it which shared memory
 * to look at, to find old backends that still write. So only the id is replaced, by one that no system gives out.
 */
export async function disarmStaleFile(clusterDir: string, user: ServerUser): Promise<void> {
  const path = join(clusterDir, "postmaster.pid");
  const text = await readIfThere(path);
  if (text === undefined || (await findRunningServer(clusterDir)) !== undefined) return;
  const disarmed = [String(IMPOSSIBLE_PID), ...text.split("\n").slice(1)].join("\n");
  await writeFile(`${path}.disarmed`, disarmed, { mode: 0o600 });
  if (user.switched) await chown(`${path}.disarmed`, user.uid, user.gid);
  await rename(`${path}.disarmed`, path);
}

/** Above the largest process id of Linux (4194304) and macOS (99998). */
const IMPOSSIBLE_PID = 999_999_999;

async function readPostmasterFile(clusterDir: string): Promise<RunningServer | undefined> {
  const text = await readIfThere(join(clusterDir, "postmaster.pid"));
  const lines = text?.split("\n") ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  // Line 8 is the status; it is written last and may be missing at first.
  const word = lines[7]?.trim();
  return { pid, status: word === "ready" || word === "stopping" ? word : "starting" };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}
