import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startEmbedded } from "../../src/embedded/index.js";
import {
  FAST,
  newDataDir,
  nothingRunsIn,
  query,
  scratchFolder,
  scratchInstall,
  startInChild,
  until,
} from "./scratch.js";

describe("making a cluster", () => {
  test("leaves no half cluster when it is killed in between, and the next start makes a whole one", async () => {
    const dataDir = await newDataDir();
    const child = await startInChild({ dataDir, ...FAST });
    await child.loaded;
    await until("initdb is at work", async () => {
      const [unfinished] = (await entries(dataDir)).filter((name) => name.startsWith("unfinished-"));
      return unfinished !== undefined && (await entries(join(dataDir, unfinished, "cluster"))).includes("base");
    });
    await child.kill("SIGKILL");
    expect(await entries(dataDir)).not.toContain("cluster");
    // The initdb that lost its parent ends by itself.
    await nothingRunsIn(dataDir);
    expect(await entries(dataDir)).not.toContain("cluster");

    const server = await startEmbedded({ dataDir, ...FAST });
    expect(await query(server.url, "SELECT current_database() AS name")).toEqual([{ name: "fairmill" }]);
    expect((await entries(dataDir)).sort()).toEqual(["cluster", "connection.json", "server.log"]);
    await server.stop();
  });

  test("that fails tells what initdb said, and leaves nothing", async () => {
    const { root, native } = await scratchInstall("hoisted");
    await writeFile(join(native, "bin/initdb"), "#!/bin/sh\necho creating\necho no room left >&2\nexit 1\n", {
      mode: 0o755,
    });
    const dataDir = await newDataDir();
    const child = await startInChild(
      { dataDir, ...FAST, binaries: "embedded" },
      { install: root, env: { TMPDIR: await scratchFolder() } },
    );
    expect((await child.report).error).toMatchObject({
      name: "EmbeddedStartError",
      code: "FAIRMILL_EMBEDDED_START",
      message: expect.stringMatching(/initdb could not make.*\n[\s\S]*no room left/),
    });
    expect(await entries(dataDir)).toEqual([]);
    await child.kill("SIGKILL");
  });
});

async function entries(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => []);
}
