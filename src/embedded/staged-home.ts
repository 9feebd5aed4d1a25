// Makes a home for a cluster in a temporary folder, for a data folder that the server's user cannot enter, and sweeps away the
// homes that no data folder needs any more.

import { createHash, randomBytes } from "node:crypto";
import { lstat, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedStartError, systemCode } from "./errors.js";
import type { ServerUser } from "./server-user.js";
import { canHoldCluster, claimFolder, isOurFolder, isSafeBase, stagingBases } from "./staging-folder.js";

const PREFIX = "fairmill-postgres-";

/** In a home: the data folder that it serves, and whether the data is to be kept. */
const SERVES_FILE = "serves.json";
interface Serves {
  readonly dataDir: string;
  readonly durable: boolean;
  /** Distinguishes the data folder from another one with the same path. */
  readonly inode: number;
}

export async function stageHome(dataDir: string, durable: boolean, user: ServerUser): Promise<string> {
  // The hash distinguishes two projects, and lets an interrupted first start find its folder again.
  const name = `${PREFIX}${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`;
  const { ino: inode } = await stat(dataDir);
  for (const base of stagingBases(durable)) {
    if (!(await isSafeBase(base))) continue;
    await sweepAbandoned(base, dataDir, inode);
    const own = (await claimVacant(join(base, name))) ?? (await claimVacant(join(base, `${name}-${unguessable()}`)));
    if (own === undefined || !(await canHoldCluster(own, user))) continue;
    await writeFile(join(own, SERVES_FILE), JSON.stringify({ dataDir, durable, inode } satisfies Serves), {
      mode: 0o600,
    });
    return own;
  }
  throw new EmbeddedStartError(
    `The user that runs PostgreSQL (id ${user.uid}) can use neither ${dataDir} nor a temporary folder.`,
    { advice: "Choose a data folder that this user can enter, or set DATABASE_URL." },
  );
}

/**
 * Not a folder of another user, which may have taken the predictable name, and not one with a cluster that was not swept away: a server may
 * still run on it, or its data may be needed.
 */
async function claimVacant(path: string): Promise<string | undefined> {
  const own = await claimFolder(path);
  return own !== undefined && !(await isThere(join(own, "cluster"))) ? own : undefined;
}

/**
 * A data folder asks for a home when it has none, so what served it before is left over: its pointer was removed, or the whole
 * folder was. Durable data stays when the folder is gone or another one: it may have been moved, or be on a disk that is not
 * mounted now. So does a home with a `postmaster.pid`: a server may run on it, perhaps in another container.
 */
async function sweepAbandoned(base: string, dataDir: string, inode: number): Promise<void> {
  for (const name of await readdir(base).catch(() => [])) {
    const home = join(base, name);
    if (!name.startsWith(PREFIX) || !(await isOurFolder(home))) continue;
    const serves = await readServes(home);
    if (serves === undefined) continue;
    const isOurs = serves.dataDir === dataDir && (!serves.durable || serves.inode === inode);
    const isGone = !serves.durable && !(await isThere(serves.dataDir));
    if ((!isOurs && !isGone) || (await isThere(join(home, "cluster", "postmaster.pid")))) continue;
    await rm(home, { recursive: true, force: true }).catch(() => {});
  }
}

async function readServes(home: string): Promise<Serves | undefined> {
  try {
    return JSON.parse(await readFile(join(home, SERVES_FILE), "utf8")) as Serves;
  } catch {
    return undefined;
  }
}

async function isThere(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    (error) => systemCode(error) !== "ENOENT",
  );
}

function unguessable(): string {
  return randomBytes(6).toString("hex");
}
