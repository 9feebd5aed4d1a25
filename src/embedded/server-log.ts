// The server's log file: opened for the server to write, cut when it grew large, and read back when something failed.

import { open, rename, stat } from "node:fs/promises";

const LOG_BYTES_MAX = 10 * 1024 * 1024;
const TAIL_BYTES_MAX = 64 * 1024;
const TAIL_LINES_MAX = 20;

/** An open log. We open it and the server inherits it, so the server's user needs no access to the folder. */
export interface ServerLog {
  readonly fd: number;
  /** What was written since this log was opened. */
  written(): Promise<string>;
  close(): Promise<void>;
}

export async function openServerLog(path: string): Promise<ServerLog> {
  const bytesBefore = await sizeOf(path);
  if (bytesBefore > LOG_BYTES_MAX) await rename(path, `${path}.1`);
  const file = await open(path, "a+", 0o600);
  const start = bytesBefore > LOG_BYTES_MAX ? 0 : bytesBefore;
  return {
    fd: file.fd,
    written: async () => {
      const end = (await file.stat()).size;
      const from = Math.max(start, end - TAIL_BYTES_MAX);
      const buffer = Buffer.alloc(Math.max(0, end - from));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
      return buffer.subarray(0, bytesRead).toString("utf8");
    },
    close: () => file.close(),
  };
}

export function lastLines(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-TAIL_LINES_MAX);
}

async function sizeOf(path: string): Promise<number> {
  return await stat(path).then(
    (found) => found.size,
    () => 0,
  );
}
