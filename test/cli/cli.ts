// Runs the command as people do: a process of its own, from the build. What it prints is waited for with a deadline.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { endAfterFile, endAfterTest } from "../support/leftovers.js";
import { fitsHost, runInHost } from "./cli-host.js";

export const repo = fileURLToPath(new URL("../..", import.meta.url));
/** A project with a TypeScript config. */
export const project = fileURLToPath(new URL("fixtures/project", import.meta.url));
/** A config whose handlers wait for the test. */
export const signalsConfig = fileURLToPath(new URL("fixtures/signals.config.mjs", import.meta.url));
const main = join(repo, "dist/cli/main.js");
/** Ends what hangs. A cluster, its schema and several processes take long on a busy machine. */
const DEADLINE_MS = 120_000;

export interface Surroundings {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly input?: string;
  /** The config in the folder stays as it is while commands read it: they may do so in one process. */
  readonly isSettled?: true;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface LiveProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** The first line on stdout, printed or to come, that contains this. */
  line(part: string): Promise<string>;
  /** The same on stderr. */
  note(part: string): Promise<string>;
  /** The next message over the channel. */
  message(): Promise<unknown>;
}

const running = new Set<LiveProcess>();
const folders: string[] = [];

/** What a test left running is ended, by its id. */
async function endRunning(): Promise<void> {
  for (const { child, ended } of running) {
    child.kill("SIGKILL");
    await ended;
  }
}

endAfterTest(endRunning);
endAfterFile(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** An empty folder outside of the repository, that other users may enter: PostgreSQL may run as one. */
export async function scratchFolder(files: Record<string, string> = {}): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "fairmill-cli-")));
  await chmod(folder, 0o755);
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

/** Only what a command needs, so that the tests' own surroundings do not leak in. */
const environment = (more: Record<string, string> = {}) => ({ PATH: process.env["PATH"], HOME: tmpdir(), ...more });

export function start(script: string, args: readonly string[], where: Surroundings = {}): LiveProcess {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: where.cwd ?? repo,
    env: environment(where.env),
    stdio: ["pipe", "pipe", "pipe", "ipc"],
  });
  let stdout = "";
  let stderr = "";
  const listeners = new Set<() => void>();
  const look = () => {
    for (const listener of listeners) listener();
  };
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
    look();
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
    look();
  });
  child.stdin?.on("error", () => {}).end(where.input ?? "");
  // Not the event "close": it never comes when the channel was closed from this side.
  const ended = Promise.all([once(child, "exit"), once(child.stdout!, "close"), once(child.stderr!, "close")]).then(
    ([[code]]): Ended => ({ code, stdout, stderr }),
  );
  const lineOf = (part: string, printed: () => string) =>
    withDeadline<string>(
      `a line with ${JSON.stringify(part)}`,
      () => `${stdout}\n${stderr}`,
      (resolve) => {
        const listener = () => {
          const complete = printed().slice(0, printed().lastIndexOf("\n") + 1);
          const line = complete.split("\n").find((one) => one.includes(part));
          if (line === undefined) return;
          listeners.delete(listener);
          resolve(line);
        };
        listeners.add(listener);
        listener();
      },
    );
  const live: LiveProcess = {
    child,
    ended,
    line: (part) => lineOf(part, () => stdout),
    note: (part) => lineOf(part, () => stderr),
    message: () =>
      withDeadline(
        "a message",
        () => `${stdout}\n${stderr}`,
        (resolve) => child.once("message", resolve),
      ),
  };
  running.add(live);
  void ended.then(() => running.delete(live));
  return live;
}

export const startCli = (args: readonly string[], where?: Surroundings): LiveProcess => start(main, args, where);

/** Runs a command to its end, in the process for short commands where that makes no difference. Such commands may run side by side. */
export async function cli(args: readonly string[], where: Surroundings = {}): Promise<Ended> {
  if (!fitsHost(args, where)) return cliProcess(args, where);
  return withDeadline(
    `the end of fairmill ${args.join(" ")}`,
    () => "",
    (resolve, reject) => void runInHost(args, where.cwd ?? repo, environment(where.env)).then(resolve, reject),
  );
}

/** The same, always in a process of its own. */
export async function cliProcess(args: readonly string[], where?: Surroundings): Promise<Ended> {
  const live = startCli(args, where);
  running.delete(live);
  try {
    return await withDeadline(
      `the end of fairmill ${args.join(" ")}`,
      () => "",
      (resolve) => void live.ended.then(resolve),
    );
  } finally {
    live.child.kill("SIGKILL");
  }
}

/** The one JSON value on stdout; throws when there is anything else. */
export const jsonOf = <T = Record<string, unknown>>({ stdout }: Ended): T => JSON.parse(stdout) as T;

function withDeadline<T>(
  what: string,
  printed: () => string,
  begin: (resolve: (value: T) => void, reject: (error: Error) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`Not within ${DEADLINE_MS} ms: ${what}\n${printed()}`)),
      DEADLINE_MS,
    );
    begin(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
