// Folders under the system's temporary folders, for what must lie where the server's user may enter. Such folders are shared with
// other users: a folder is used only if root and this user alone can write to it.

import { randomBytes } from "node:crypto";
import { chmod, chown, lstat, mkdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemCode } from "./errors.js";
import { runProgram } from "./run-program.js";
import type { ServerUser } from "./server-user.js";

/** Where to stage, best first. Data that must last goes to /var/tmp first: it outlives a reboot. */
export function stagingBases(durable: boolean): string[] {
  const bases = durable ? ["/var/tmp", tmpdir(), "/tmp"] : [tmpdir(), "/tmp", "/var/tmp"];
  return [...new Set(bases)];
}

/** True when strangers cannot replace what we put into this base: it is sticky, or only its owner writes to it. */
export async function isSafeBase(base: string): Promise<boolean> {
  try {
    const found = await stat(base);
    return found.isDirectory() && ((found.mode & 0o022) === 0 || (found.mode & 0o1000) !== 0);
  } catch {
    return false;
  }
}

/** True for a real folder (no link) of root or of our user that no other user may write to. */
export async function isOurFolder(path: string): Promise<boolean> {
  try {
    const found = await lstat(path);
    const trusted = found.uid === 0 || found.uid === process.geteuid?.();
    return found.isDirectory() && trusted && (found.mode & 0o022) === 0;
  } catch {
    return false;
  }
}

/** Makes the folder, or takes it when it is there and ours; `undefined` when a stranger was there first. */
export async function claimFolder(path: string): Promise<string | undefined> {
  try {
    await mkdir(path, { mode: 0o711 });
    // The mode given to mkdir is cut by the umask; the server's user must be able to pass.
    await chmod(path, 0o711);
    return path;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return (await isOurFolder(path)) ? path : undefined;
    return undefined;
  }
}

/**
 * Tries in earnest whether a cluster can lie in this folder: the user can reach it, and the file system keeps owners and modes
 * (PostgreSQL refuses a cluster that others may read). Asking the modes of all parents would miss ACLs and mounts.
 */
export async function canHoldCluster(folder: string, user: ServerUser): Promise<boolean> {
  // First, without touching the folder: a user that we may not become is no fault of the folder.
  await runProgram("/bin/sh", ["-c", ":"], { user });
  const probe = join(folder, `probe-${randomBytes(6).toString("hex")}`);
  try {
    await mkdir(probe, { mode: 0o700 });
    if (user.switched) await chown(probe, user.uid, user.gid);
    await chmod(probe, 0o700);
    const found = await stat(probe);
    if (found.uid !== user.uid || (found.mode & 0o777) !== 0o700) return false;
    const script = 'cd "$1" && : > file && rm file';
    return (await runProgram("/bin/sh", ["-c", script, "sh", probe], { user })).exitCode === 0;
  } catch {
    return false;
  } finally {
    await rm(probe, { recursive: true, force: true }).catch(() => {});
  }
}
