// Checks whether a process id still means the expected process: ids are reused, so an id alone proves nothing.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { systemCode } from "./errors.js";

const execFileText = promisify(execFile);

/** A process as it can be written down: the id, and a text that differs when the id is given to another one. */
export interface ProcessMark {
  readonly pid: number;
  /** Empty when the system hides it. */
  readonly birth: string;
}

export async function markProcess(pid: number): Promise<ProcessMark> {
  return { pid, birth: (await processState(pid))?.birth ?? "" };
}

/** True while exactly the marked process lives. Where the process table is hidden, the id alone decides. */
export async function stillLives(mark: ProcessMark): Promise<boolean> {
  if (!idTaken(mark.pid)) return false;
  const state = await processState(mark.pid);
  if (state === undefined) return idTaken(mark.pid);
  // A container without an init process keeps the dead in its table for ever.
  if (state.zombie) return false;
  return mark.birth === "" || state.birth === "" || mark.birth === state.birth;
}

/** The command line of a process, words separated by a space; `undefined` when it is gone or hidden. */
export async function processCommand(pid: number): Promise<string | undefined> {
  if (process.platform !== "linux") return await askPs(pid, "command=");
  try {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8");
    return command === "" ? undefined : command.replace(/\0$/, "").replaceAll("\0", " ");
  } catch {
    return undefined;
  }
}

/** True when any process has this id, whichever user owns it. */
function idTaken(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === "EPERM";
  }
}

async function processState(pid: number): Promise<{ birth: string; zombie: boolean } | undefined> {
  if (process.platform !== "linux") {
    const [birth, state] = [await askPs(pid, "lstart="), await askPs(pid, "state=")];
    return birth === undefined ? undefined : { birth, zombie: state?.startsWith("Z") ?? false };
  }
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name in brackets may hold spaces and brackets: count from its end. State is field 3, the start time field 22.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { birth: fields[19] ?? "", zombie: fields[0] === "Z" || fields[0] === "X" };
  } catch {
    return undefined;
  }
}

async function askPs(pid: number, format: string): Promise<string | undefined> {
  try {
    const { stdout } = await execFileText("ps", ["-ww", "-o", format, "-p", String(pid)]);
    const answer = stdout.trim();
    return answer === "" ? undefined : answer;
  } catch {
    return undefined;
  }
}
