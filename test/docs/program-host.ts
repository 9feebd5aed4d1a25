// Runs the programs of the documents to their end, each as if in a process of its own.
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { cp } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Ended } from "../cli/cli.js";
import { endAfterFile } from "../support/leftovers.js";

const script = fileURLToPath(new URL("program-host.mjs", import.meta.url));

let host: ChildProcess | undefined;
let copies = 0;

endAfterFile(async () => endHost());

/** Runs a compiled program to its end, one at a time. */
export async function runProgram(file: string, cwd: string, env: Record<string, string>): Promise<Ended> {
  // A copy of its folder: in one process a module that two programs import would be run once.
  const folder = `${dirname(file)}~${copies++}`;
  await cp(dirname(file), folder, { recursive: true });
  host ??= await startHost();
  const child = host;
  const mark = `<${randomUUID()}>`;
  const output = Promise.all([untilMark(child.stdout!, mark), untilMark(child.stderr!, mark)]);
  const { PATH, HOME } = process.env;
  child.send({ file: pathToFileURL(join(folder, basename(file))).href, cwd, env: { PATH, HOME, ...env }, mark });
  const { code, isSpoilt } = await answer(child, file);
  const [stdout, stderr] = await output;
  if (isSpoilt) await endHost();
  return { code, stdout, stderr };
}

function answer(child: ChildProcess, file: string): Promise<{ code: number; isSpoilt: boolean }> {
  return new Promise((resolve, reject) => {
    const answered = (ended: unknown) => {
      child.off("exit", exited);
      resolve(ended as { code: number; isSpoilt: boolean });
    };
    const exited = () => {
      host = undefined;
      child.off("message", answered);
      reject(new Error(`The process that runs programs ended at ${file}.`));
    };
    child.once("message", answered).once("exit", exited);
  });
}

async function startHost(): Promise<ChildProcess> {
  const child = fork(script, { execArgv: [], stdio: ["ignore", "pipe", "pipe", "ipc"] });
  child.stdout!.setEncoding("utf8");
  child.stderr!.setEncoding("utf8");
  // One that ends between two programs is not asked again.
  child.once("exit", () => {
    if (host === child) host = undefined;
  });
  await once(child, "message");
  return child;
}

async function endHost(): Promise<void> {
  const child = host;
  host = undefined;
  if (!child) return;
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** What comes before the mark; what a program left behind may write something after it. */
function untilMark(stream: NodeJS.ReadableStream, mark: string): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const gather = (chunk: string) => {
      text += chunk;
      const end = text.indexOf(mark);
      if (end < 0) return;
      stream.off("data", gather);
      resolve(text.slice(0, end));
    };
    stream.on("data", gather);
  });
}
