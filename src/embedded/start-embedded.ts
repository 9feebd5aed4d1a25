// The whole way from a data folder to a running server: find out where the cluster lies, adopt the server that runs there, or
// make the cluster and start one. Everything happens under the folder's start claim.

import { constants } from "node:fs";
import { access, mkdir, realpath, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { FairmillError } from "../base/errors.js";
import { adoptable, endServer } from "./adopt-server.js";
import { type ConnectionRecord, readConnection } from "./connection-file.js";
import { createCluster } from "./create-cluster.js";
import { decideHome, knownCluster, rememberHome, stagedHome } from "./data-home.js";
import type { EmbeddedPostgres } from "./embedded-postgres.js";
import { EmbeddedMissingError, EmbeddedStartError } from "./errors.js";
import type { BinarySource } from "./find-binaries.js";
import { OwnedServer } from "./owned-server.js";
import { findRunningServer } from "./postmaster-file.js";
import { prepareBinaries } from "./prepare-binaries.js";
import type { StopMode } from "./server-process.js";
import { checkSettings } from "./server-settings.js";
import { withStartClaim } from "./start-claim.js";
import { startServer } from "./start-server.js";

export interface EmbeddedOptions {
  /** The folder for the cluster, its log and its connection file, for example `<project>/.fairmill/postgres`. Made when missing. */
  readonly dataDir: string;
  /**
   * Default true. False is for tests: no fsync, so a crash of the machine may lose everything, and commits do not wait, so a
   * crash of the server (or `stop("immediate")`) may lose the last ones. Crash tests add `synchronous_commit: "on"`.
   */
  readonly durable?: boolean;
  /** Settings of the server, each passed as `-c name=value`. */
  readonly settings?: Record<string, string>;
  /** Which PostgreSQL to take. Default "any": the npm package first, then the system's. */
  readonly binaries?: BinarySource;
  /** Default false: the server ends when this process ends, in whatever way. True leaves it running until it is stopped. */
  readonly keepRunning?: boolean;
}

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  if (process.platform === "win32") {
    throw new EmbeddedMissingError("The embedded PostgreSQL does not run on Windows: use WSL there.");
  }
  const { durable = true, settings = {}, binaries: source = "any", keepRunning = false } = options;
  checkSettings(settings);
  return await withTypedErrors(options.dataDir, async () => {
    const dataDir = await makeDataDir(options.dataDir);
    return await withStartClaim(dataDir, () => adoptOrStart({ dataDir, durable, settings, source, keepRunning }));
  });
}

async function adoptOrStart(wish: {
  dataDir: string;
  durable: boolean;
  settings: Record<string, string>;
  source: BinarySource;
  keepRunning: boolean;
}): Promise<EmbeddedPostgres> {
  const { dataDir, durable, settings, source, keepRunning } = wish;
  const dataHome = await decideHome(dataDir, durable);
  const running = await adoptable(dataDir, dataHome.clusterDir);
  if (running !== undefined) return adoptedServer(running);
  const binaries = await prepareBinaries(source, dataHome.user, dataHome.clusterDir);
  if (dataHome.isNew) {
    await createCluster(dataHome, binaries, durable);
    await rememberHome(dataDir, dataHome.home);
  }
  const port = (await readConnection(dataDir))?.port;
  const start = { dataDir, dataHome, binaries, durable, settings, keepRunning, port, portFixed: false };
  return new OwnedServer(start, await startServer(start));
}

/** The URL of the server that runs on this data folder now, for any process of the same user; `undefined` when none does. */
export async function readEmbeddedUrl(dataDir: string): Promise<string | undefined> {
  const folder = await realpath(resolve(dataDir)).catch(() => undefined);
  if (folder === undefined) return undefined;
  const connection = await readConnection(folder);
  const clusterDir = await knownCluster(folder);
  if (connection === undefined || clusterDir === undefined) return undefined;
  const running = await findRunningServer(clusterDir);
  return running?.pid === connection.serverPid && running.status === "ready" ? connection.url : undefined;
}

/** Stops whatever server runs on this data folder, whichever process started it; meant for one that was left running on purpose. */
export async function stopEmbedded(dataDir: string, mode: StopMode = "fast"): Promise<void> {
  const folder = await realpath(resolve(dataDir)).catch(() => undefined);
  const clusterDir = folder === undefined ? undefined : await knownCluster(folder);
  if (clusterDir === undefined || (await endServer(clusterDir, mode))) return;
  throw new EmbeddedStartError(`The PostgreSQL on ${clusterDir} does not stop.`, {
    advice: `Look at server.log in ${folder}.`,
  });
}

/** Stops the server and removes all of its data, also what lies in a temporary folder. */
export async function removeEmbedded(dataDir: string): Promise<void> {
  await stopEmbedded(dataDir, "immediate");
  const folder = await realpath(resolve(dataDir)).catch(() => undefined);
  if (folder === undefined) return;
  const home = await stagedHome(folder);
  if (home !== undefined) await rm(home, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
}

function adoptedServer(running: ConnectionRecord): EmbeddedPostgres {
  return {
    url: running.url,
    adopted: true,
    binDir: running.binDir,
    version: running.version,
    dataDir: running.clusterDir,
    stop: async () => {},
    restart: async () => {
      throw new EmbeddedStartError("This PostgreSQL was started by another process, so only that one restarts it.", {
        advice: "Call startEmbedded() again to start it when it is gone.",
      });
    },
  };
}

/** The real path: two spellings of one folder must give the same hash, the same claim and the same command line. */
async function makeDataDir(wanted: string): Promise<string> {
  await mkdir(resolve(wanted), { recursive: true });
  const dataDir = await realpath(resolve(wanted));
  await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  return dataDir;
}

/** A full disk or a folder of another user speaks through Node's errors; callers get one kind of error only. */
async function withTypedErrors<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FairmillError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new EmbeddedStartError(`PostgreSQL could not be started in ${dataDir}: ${reason}.`, {
      advice: "Choose a data folder that this user can write to, on a disk with room, or set DATABASE_URL.",
      cause: error,
    });
  }
}
