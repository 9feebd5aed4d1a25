// `connection.json` in the data folder: how to reach the server, and which process answers for it. Only its owner may read it,
// for the password is in it.

import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedStartError, systemCode } from "./errors.js";
import type { ProcessMark } from "./process-identity.js";

export interface ConnectionRecord {
  readonly url: string;
  readonly port: number;
  readonly binDir: string;
  readonly version: string;
  /** Where the cluster lies: the URL is true only for a server there. */
  readonly clusterDir: string;
  /** The server's first process; a record for another one is out of date. */
  readonly serverPid: number;
  /** The process whose end stops the server; `null` for a server that was left running on purpose. */
  readonly owner: ProcessMark | null;
  /** The process that stops the server when the owner ends; `null` together with the owner. */
  readonly guardian: ProcessMark | null;
}

export function connectionUrl(password: string, port: number): string {
  return `postgres://fairmill:${password}@127.0.0.1:${port}/fairmill`;
}

export async function readConnection(folder: string): Promise<ConnectionRecord | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, "connection.json"), "utf8")) as ConnectionRecord;
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR" || error instanceof SyntaxError) return undefined;
    throw new EmbeddedStartError(`The connection file in ${folder} cannot be read (${code}).`, {
      advice: "It belongs to the user that started PostgreSQL there: run as that user, or choose another data folder.",
      cause: error,
    });
  }
}

/** Written under another name first: a reader sees the old content or the new one, never a half. */
export async function writeConnection(folder: string, record: ConnectionRecord): Promise<void> {
  const unfinished = join(folder, `connection.json.${randomBytes(6).toString("hex")}`);
  await writeFile(unfinished, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  await rename(unfinished, join(folder, "connection.json"));
}
