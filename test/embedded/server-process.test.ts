import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { spawnGuarded } from "../../src/embedded/server-process.js";
import { ourselves } from "../../src/embedded/server-user.js";
import { nothingRunsIn, scratchFolder } from "./scratch.js";

test("the guardian repeats its signal to a server that was too young to hear the first one", async () => {
  const folder = await scratchFolder();
  const script = join(folder, "deaf-at-first.mjs");
  await writeFile(
    script,
    "let heard = 0; process.on('SIGINT', () => ++heard === 2 && process.exit()); setInterval(() => {}, 1e9);",
  );
  const log = await open(join(folder, "log"), "a");
  const server = spawnGuarded({
    postgres: process.execPath,
    args: [script],
    user: ourselves(),
    clusterDir: folder,
    logFd: log.fd,
  });
  expect(await server.stop("fast")).toBe(true);
  await server.ended;
  await nothingRunsIn(folder);
  await log.close();
});
