// How a failure ends a command: which exit code, which code for programs, which one or two lines for people.
import { FairmillError } from "../base/errors.js";
import type { Output } from "./output.js";
import { manyLines } from "./text.js";

export type ExitCode = 0 | 1 | 2;

/** The command was called in a way that cannot work: exit code 2. */
export class UsageError extends FairmillError {
  override readonly name = "UsageError";
  constructor(message: string) {
    super("FAIRMILL_USAGE", message);
  }
}

/** `help` is the command line that shows how to do it right. */
export function reportFailure(thrown: unknown, out: Output, help: string): ExitCode {
  const { code, message } = explain(thrown);
  const isUsage = thrown instanceof UsageError;
  const hint = isUsage ? `\nSee "${help}".` : "";
  out.failure({ code, message }, `error: ${manyLines(message)}${hint}`);
  if (process.env["FAIRMILL_LOG_LEVEL"] === "debug") process.stderr.write(`${manyLines(stackOf(thrown))}\n`);
  return isUsage ? 2 : 1;
}

function explain(thrown: unknown): { code: string; message: string } {
  if (thrown instanceof FairmillError) return { code: thrown.code, message: thrown.message };
  const message = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  return {
    code: "FAIRMILL_UNEXPECTED",
    message: `${message}${/[.!?]$/.test(message) ? "" : "."} Set FAIRMILL_LOG_LEVEL=debug to see where it comes from.`,
  };
}

function stackOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const cause = thrown.cause === undefined ? "" : `\nCaused by: ${stackOf(thrown.cause)}`;
  return `${thrown.stack ?? thrown.message}${cause}`;
}
