// How a failure ends a command: which exit code, which code for programs, which one or two lines for people.
import { FairmillError } from "../model/errors.js";
import { NotSentError } from "../store/database.js";
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
  // PostgreSQL answered, and would not let us in: its own reason says what to do.
  if (thrown instanceof NotSentError && isFromPostgres(thrown.cause) && thrown.cause.code in ADVICE)
    return explain(thrown.cause);
  if (thrown instanceof FairmillError) return { code: thrown.code, message: thrown.message };
  if (isFromPostgres(thrown))
    return {
      code: "FAIRMILL_DATABASE",
      message: `PostgreSQL refused: ${thrown.message} (${thrown.code}). ${ADVICE[thrown.code] ?? "Its log may say more."}`,
    };
  const message = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  return {
    code: "FAIRMILL_UNEXPECTED",
    message: `${message}${/[.!?]$/.test(message) ? "" : "."} Set FAIRMILL_LOG_LEVEL=debug to see where it comes from.`,
  };
}

/** What to do about the refusals that people meet first. */
const ADVICE: Readonly<Record<string, string>> = {
  "28P01": "Check user and password in the database URL.",
  "28000": "Check the user in the database URL, and who may connect in pg_hba.conf.",
  "3D000": "Create the database first, or correct its name in the database URL.",
  "42501": "Connect as a role that owns the schema, or ask its owner for the right.",
  "53300": "Close some connections or raise max_connections.",
};

const isFromPostgres = (thrown: unknown): thrown is Error & { code: string } =>
  thrown instanceof Error && "severity" in thrown && "code" in thrown && typeof thrown.code === "string";

function stackOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const cause = thrown.cause === undefined ? "" : `\nCaused by: ${stackOf(thrown.cause)}`;
  return `${thrown.stack ?? thrown.message}${cause}`;
}
