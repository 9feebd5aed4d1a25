// One process that runs many short commands: the same code with the same variables, loaded once. Commands that live on, that read a config or their
// standard input, that are run side by side, or whose process is what a test is about, get a process of their own.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Ended, Surroundings } from "./cli.js";

const script = fileURLToPath(new URL("cli-host.mjs", import.meta.url));
/** These live on, start processes, or are about the folder that they are run in. */
const OWN_PROCESS = new Set(["dev", "dev-worker", "work", "supervise", "serve", "tick", "top", "init"]);

let host: Promise<ChildProcess> | undefined;
/** The command under way, and those that wait for it. */
let last: Promise<unknown> | undefined;

export const fitsHost = (args: readonly string[], where: Surroundings): boolean =>
  // Commands that are run side by side shall meet; only a text that is always the same may wait.
  (last === undefined || args.includes("--help")) &&
  (where.cwd === undefined || where.isSettled === true) &&
  where.input === undefined &&
  !args.some((word) => word.startsWith("--config")) &&
  (args.includes("--help") || !OWN_PROCESS.has(args[0] ?? "dev"));

export async function runInHost(
  args: readonly string[],
  cwd: string,
  env: Record<string, string | undefined>,
): Promise<Ended> {
  const mine = (last ?? Promise.resolve()).then(() => ask(args, cwd, env));
  const settled = mine.catch(() => {});
  last = settled;
  try {
    return await mine;
  } finally {
    if (last === settled) last = undefined;
  }
}

async function ask(args: readonly string[], cwd: string, env: Record<string, string | undefined>): Promise<Ended> {
  host ??= startHost();
  const child = await host;
  return new Promise((resolve, reject) => {
    const answered = (ended: unknown) => {
      child.off("exit", exited);
      resolve(ended as Ended);
    };
    const exited = () => {
      host = undefined;
      child.off("message", answered);
      reject(new Error(`The process that runs commands ended at: fairmill ${args.join(" ")}`));
    };
    child.once("message", answered).once("exit", exited);
    child.send({ args, cwd, env });
  });
}

async function startHost(): Promise<ChildProcess> {
  const child = fork(script, { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
  await once(child, "message");
  // It ends with this process, and does not keep it.
  child.unref();
  child.channel?.unref();
  return child;
}
