// Runs a program to its end as the server's user, with a small clean environment, and returns what it wrote.

import { spawn } from "node:child_process";
import { EmbeddedStartError, systemCode } from "./errors.js";
import { type ServerUser, spawnAs } from "./server-user.js";

export interface ProgramResult {
  /** The exit code; `undefined` when it was killed or could not be started. */
  readonly exitCode: number | undefined;
  /** Standard output and standard error together, in the order they came; cut to the last part. */
  readonly output: string;
}

const OUTPUT_CHARS_MAX = 64 * 1024;

/** PG* variables would redirect the server's tools, and a missing or odd locale changes what they print. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { LC_ALL: "C" };
  for (const name of ["PATH", "TZ"]) {
    if (process.env[name] !== undefined) env[name] = process.env[name];
  }
  return env;
}

interface ProgramOptions {
  readonly user: ServerUser;
  readonly cwd?: string;
  readonly input?: string;
  readonly timeoutMs?: number;
}

/** Resolves however the program ends; rejects only when we may not become its user. */
export async function runProgram(
  program: string,
  args: readonly string[],
  how: ProgramOptions,
): Promise<ProgramResult> {
  try {
    return await spawnAndCollect(program, args, how);
  } catch (error) {
    if (systemCode(error) !== "EPERM" && systemCode(error) !== "EINVAL") throw error;
    throw new EmbeddedStartError(
      `PostgreSQL refuses to run as root, and this root may not become user id ${how.user.uid} (${systemCode(error)}).`,
      {
        advice: "Run as an ordinary user, give the container CAP_SETUID and CAP_SETGID, or set DATABASE_URL.",
        cause: error,
      },
    );
  }
}

function spawnAndCollect(program: string, args: readonly string[], how: ProgramOptions): Promise<ProgramResult> {
  return new Promise((resolve) => {
    let output = "";
    const child = spawn(program, args, {
      ...spawnAs(how.user),
      // Our own folder may be closed to that user; tools that ask for it would fail.
      cwd: how.cwd ?? "/",
      env: cleanEnvironment(),
      stdio: "pipe",
      timeout: how.timeoutMs ?? 120_000,
      killSignal: "SIGKILL",
    });
    // A process that ends in the middle, by Ctrl-C say, leaves nothing running.
    const kill = () => void child.kill("SIGKILL");
    process.once("exit", kill);
    const collect = (chunk: string) => {
      output = (output + chunk).slice(-OUTPUT_CHARS_MAX);
    };
    child.stdout.setEncoding("utf8").on("data", collect);
    child.stderr.setEncoding("utf8").on("data", collect);
    // A program that ends before it reads its input is judged by its exit code, not by the broken pipe.
    child.stdin.on("error", () => {});
    child.stdin.end(how.input ?? "");
    const over = (result: ProgramResult) => {
      process.off("exit", kill);
      resolve(result);
    };
    child.on("error", (error) => over({ exitCode: undefined, output: `${output}${error.message}` }));
    child.on("close", (code) => over({ exitCode: code ?? undefined, output }));
  });
}
