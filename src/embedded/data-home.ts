// Decides where the cluster of a data folder lies: in the folder itself, or, when the server's user cannot enter there, in a
// staging folder that a pointer file in the data folder names.

import { randomBytes } from "node:crypto";
import { chmod, lchown, lstat, open, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedStartError, systemCode } from "./errors.js";
import { chooseServerUser, type ServerUser } from "./server-user.js";
import { stageHome } from "./staged-home.js";
import { canHoldCluster, isOurFolder } from "./staging-folder.js";

const POINTER = "location";

export interface DataHome {
  /** The folder that holds the cluster and, while it is being made, its unfinished siblings. */
  readonly home: string;
  readonly clusterDir: string;
  readonly user: ServerUser;
  /** True when there is no cluster yet. */
  readonly isNew: boolean;
}

/** The staging folder of a data folder, if it has one. */
export async function stagedHome(dataDir: string): Promise<string | undefined> {
  const pointed = await readPointer(dataDir);
  return pointed !== undefined && (await isOurFolder(pointed)) ? pointed : undefined;
}

/** Where the cluster of a data folder was put earlier, without deciding anything; `undefined` when there is none. */
export async function knownCluster(dataDir: string): Promise<string | undefined> {
  const clusterDir = clusterIn((await readPointer(dataDir)) ?? dataDir);
  return (await ownerOf(clusterDir)) === undefined ? undefined : clusterDir;
}

export async function decideHome(dataDir: string, durable: boolean): Promise<DataHome> {
  const pointed = await readPointer(dataDir);
  if (pointed !== undefined) await refuseStranger(pointed);
  const home = pointed ?? dataDir;
  const owner = await ownerOf(clusterIn(home));
  const user = await chooseServerUser(owner);
  if (owner !== undefined) {
    await checkExisting(home, owner, user);
    return { home, clusterDir: clusterIn(home), user, isNew: false };
  }
  // The pointer is written when the cluster is finished: a pointer without a cluster means that there was one.
  if (pointed !== undefined && durable) throw lostData(dataDir, pointed);
  if (user.switched) await letUserPass(dataDir);
  const chosen = (await canHoldCluster(dataDir, user)) ? dataDir : await stageHome(dataDir, durable, user);
  return { home: chosen, clusterDir: clusterIn(chosen), user, isNew: true };
}

/** Called when the cluster of a new home is finished. */
export async function rememberHome(dataDir: string, home: string): Promise<void> {
  if (home === dataDir) return;
  const unfinished = join(dataDir, `${POINTER}.${randomBytes(6).toString("hex")}`);
  const file = await open(unfinished, "wx", 0o644);
  try {
    await file.writeFile(`${home}\n`);
    // An empty pointer after a power cut would hide a good cluster.
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, join(dataDir, POINTER));
}

/** Our own new folder may be closed only because of a umask or mkdtemp: passing through it gives nothing away. */
async function letUserPass(dataDir: string): Promise<void> {
  const { uid, mode } = await lstat(dataDir);
  const isNew = (await readdir(dataDir)).every((name) => name.startsWith("starting."));
  if (isNew && uid === process.geteuid?.()) await chmod(dataDir, (mode & 0o777) | 0o011);
}

async function checkExisting(home: string, owner: { uid: number }, user: ServerUser): Promise<void> {
  if (!user.switched && owner.uid !== user.uid) {
    throw new EmbeddedStartError(
      `The cluster in ${home} belongs to user id ${owner.uid}, and this process runs as ${user.uid}.`,
      { advice: "Run as that user, choose another data folder, or remove this one to begin with an empty database." },
    );
  }
  if (!(await canHoldCluster(home, user))) {
    throw new EmbeddedStartError(`User id ${user.uid}, which runs the cluster in ${home}, cannot enter that folder.`, {
      advice: "Open the folders above it for that user (chmod o+x), or remove it to begin with an empty database.",
    });
  }
  // A copy made by root belongs to root; PostgreSQL wants its own.
  if (owner.uid !== user.uid) await giveAway(clusterIn(home), user);
}

async function giveAway(clusterDir: string, user: ServerUser): Promise<void> {
  for (const entry of await readdir(clusterDir, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), user.uid, user.gid);
  }
  // Last, because the folder's owner says whether this was done.
  await lchown(clusterDir, user.uid, user.gid);
}

async function refuseStranger(home: string): Promise<void> {
  if ((await ownerOf(home)) === undefined || (await isOurFolder(home))) return;
  throw new EmbeddedStartError(
    `The folder ${home}, where the data lay, belongs to another user or is open to others.`,
    {
      advice: `Find out which user made it. Remove the file \`${POINTER}\` from the data folder to begin with an empty database.`,
    },
  );
}

function lostData(dataDir: string, home: string): EmbeddedStartError {
  return new EmbeddedStartError(
    `The data of ${dataDir} lay in ${home} and is gone: temporary folders are cleaned now and then.`,
    {
      advice: `Remove ${join(dataDir, POINTER)} to begin with an empty database. Data in a folder that user \`postgres\` or \`nobody\` can enter stays in that folder.`,
    },
  );
}

function clusterIn(home: string): string {
  return join(home, "cluster");
}

async function readPointer(dataDir: string): Promise<string | undefined> {
  try {
    return (await readFile(join(dataDir, POINTER), "utf8")).trim() || undefined;
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

async function ownerOf(path: string): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const { uid, gid } = await lstat(path);
    return { uid, gid };
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}
