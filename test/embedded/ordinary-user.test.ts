import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import {
  FAST,
  nothingRunsIn,
  query,
  run,
  scratchFolder,
  scratchInstall,
  startInChild,
  watched,
  weAreRoot,
} from "./scratch.js";

// When the tests run as an ordinary user, every other file tests this already.
const NOBODY = { uid: 65534, gid: 65534 };
const nodeForAll = weAreRoot && spawnSync(process.execPath, ["-e", ""], { ...NOBODY, cwd: "/" }).status === 0;

describe.runIf(nodeForAll)("an ordinary user", () => {
  let install: { root: string; native: string };
  let home: string;
  let temporary: string;

  beforeAll(async () => {
    install = await scratchInstall("hoisted");
    home = await scratchFolder();
    temporary = await scratchFolder();
    await run("chown", [`${NOBODY.uid}:${NOBODY.gid}`, home, temporary]);
    await chmod(home, 0o700);
  });

  test("runs the server as that user in a closed home, from a package without links that the user cannot write to", async () => {
    const dataDir = watched(join(home, "postgres"));
    const child = await startInChild(
      { dataDir, ...FAST, binaries: "embedded" },
      { install: install.root, user: NOBODY, env: { TMPDIR: temporary } },
    );
    const report = await child.report;
    expect(report.error).toBeUndefined();
    expect(report).toMatchObject({ adopted: false, dataDir: join(dataDir, "cluster") });
    expect(await query(report.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    for (const path of [report.dataDir, join(dataDir, "connection.json"), join(report.dataDir, "postmaster.pid")]) {
      expect((await stat(path)).uid).toBe(NOBODY.uid);
    }
    // The links could not be made in the package, so a copy that has them was staged, and nothing half is left beside it.
    expect(report.binDir.startsWith(join(temporary, "fairmill-binaries-"))).toBe(true);
    expect(await readdir(temporary)).toHaveLength(1);
    await child.kill("SIGKILL");
    await nothingRunsIn(dataDir);
  });

  test("is told whose cluster it is when it is another user's", async () => {
    const dataDir = join(home, "postgres");
    await run("chown", ["1:1", join(dataDir, "cluster")]);
    const child = await startInChild({ dataDir, ...FAST }, { install: install.root, user: NOBODY });
    expect((await child.report).error).toMatchObject({
      code: "FAIRMILL_EMBEDDED_START",
      message: expect.stringMatching(/belongs to user id 1, and this process runs as 65534/),
    });
    await child.kill("SIGKILL");
  });

  test("is told when the user may not write to the data folder", async () => {
    const dataDir = join(await scratchFolder(), "postgres");
    await mkdir(dataDir);
    const child = await startInChild({ dataDir, ...FAST }, { install: install.root, user: NOBODY });
    expect((await child.report).error).toMatchObject({
      code: "FAIRMILL_EMBEDDED_START",
      message: expect.stringContaining("EACCES"),
    });
    await child.kill("SIGKILL");
  });
});
