import { appendFile, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lastLines, openServerLog } from "../../src/embedded/server-log.js";
import { scratchFolder } from "./scratch.js";

test("the log gives back only what was written since it was opened", async () => {
  const path = join(await scratchFolder(), "server.log");
  await writeFile(path, "old\n");
  const log = await openServerLog(path);
  await appendFile(path, "new\n\nnewer\n");
  expect(lastLines(await log.written())).toEqual(["new", "newer"]);
  await log.close();
  expect(await readFile(path, "utf8")).toBe("old\nnew\n\nnewer\n");
});

test("a log that grew too large is put aside, and only its predecessor is kept", async () => {
  const path = join(await scratchFolder(), "server.log");
  await writeFile(`${path}.1`, "ancient");
  await writeFile(path, Buffer.alloc(10 * 1024 * 1024 + 1, "x"));
  const log = await openServerLog(path);
  expect((await stat(path)).size).toBe(0);
  expect((await stat(`${path}.1`)).size).toBe(10 * 1024 * 1024 + 1);
  await appendFile(path, "FATAL: no\n");
  expect(lastLines(await log.written())).toEqual(["FATAL: no"]);
  await log.close();
});
