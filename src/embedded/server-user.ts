// Decides as which user PostgreSQL runs: it refuses to run as root, so root lends it an account that already exists.

import { readFile } from "node:fs/promises";
import { EmbeddedStartError } from "./errors.js";

/** The account of the server process. `switched` means that we are root and must change to it. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
  readonly switched: boolean;
}

/** Accounts that may run the server for root, best first (`_postgres` is the name on macOS). */
const BORROWED_ACCOUNTS = ["postgres", "_postgres", "nobody"] as const;

export function ourselves(): ServerUser {
  return { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0, switched: false };
}

/** The user that will run a server on a cluster: its present owner, if there is a cluster already. */
export async function chooseServerUser(clusterOwner: { uid: number; gid: number } | undefined): Promise<ServerUser> {
  if (process.geteuid?.() !== 0) return ourselves();
  // The account that made the cluster keeps it, even if a better one was installed since.
  if (clusterOwner !== undefined && clusterOwner.uid !== 0) return { ...clusterOwner, switched: true };
  const accounts = parsePasswd(await readFile("/etc/passwd", "utf8"));
  for (const name of BORROWED_ACCOUNTS) {
    const account = accounts.get(name);
    if (account !== undefined && account.uid !== 0) return { ...account, switched: true };
  }
  throw new EmbeddedStartError("PostgreSQL refuses to run as root, and /etc/passwd has no `postgres` or `nobody`.", {
    advice: "Run as an ordinary user, or set DATABASE_URL.",
  });
}

export function parsePasswd(text: string): Map<string, { uid: number; gid: number }> {
  const accounts = new Map<string, { uid: number; gid: number }>();
  for (const line of text.split("\n")) {
    const [name, , uid, gid] = line.split(":");
    if (!name || name.startsWith("#") || uid === undefined || gid === undefined) continue;
    // macOS writes nobody as -2; file owners are unsigned.
    if (/^-?\d+$/.test(uid) && /^-?\d+$/.test(gid))
      accounts.set(name, { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 });
  }
  return accounts;
}

/** The part of spawn options that changes to the server's user; Node wants signed 32-bit numbers there. */
export function spawnAs(user: ServerUser): { uid?: number; gid?: number } {
  return user.switched ? { uid: user.uid | 0, gid: user.gid | 0 } : {};
}
