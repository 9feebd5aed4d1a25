import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { decideHome } from "../../src/embedded/data-home.js";
import { readEmbeddedUrl, removeEmbedded, startEmbedded } from "../../src/embedded/index.js";
import { chooseServerUser } from "../../src/embedded/server-user.js";
import { stageHome } from "../../src/embedded/staged-home.js";
import { isSafeBase } from "../../src/embedded/staging-folder.js";
import { copyOf, FAST, newDataDir, query, run, scratchFolder, watched, weAreRoot } from "./scratch.js";

const NOBODY = 65534;
const TMPDIR = process.env["TMPDIR"];

describe.runIf(weAreRoot)("as root, a data folder that the server's user can enter", () => {
  let stopped: string;
  beforeAll(async () => {
    stopped = await newDataDir();
  });

  test("holds the cluster, which belongs to that user, while the password file is ours", async () => {
    const server = await startEmbedded({ dataDir: stopped, ...FAST });
    expect(server.dataDir).toBe(join(stopped, "cluster"));
    expect((await stat(server.dataDir)).uid).not.toBe(0);
    expect((await stat(join(stopped, "connection.json"))).uid).toBe(0);
    await server.stop();
  });

  test("is opened for passing when only itself is closed, as mkdtemp leaves it, and stays so otherwise", async () => {
    const dataDir = await scratchFolder();
    await chmod(dataDir, 0o700);
    expect(await decideHome(dataDir, false)).toMatchObject({ home: dataDir, isNew: true });
    expect((await stat(dataDir)).mode & 0o777).toBe(0o711);
    // Another user's files are in it: its mode is theirs to choose.
    await chmod(dataDir, 0o700);
    await writeFile(join(dataDir, "diary"), "");
    const { home } = await decideHome(dataDir, false);
    expect(home).not.toBe(dataDir);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    await rm(home, { recursive: true });
  });

  test("may hold a cluster that root copied: it is given back to the server's user", async () => {
    const dataDir = await copyOf(stopped);
    await run("chown", ["-R", "0:0", join(dataDir, "cluster")]);
    const server = await startEmbedded({ dataDir, ...FAST });
    expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    expect((await stat(join(server.dataDir, "base"))).uid).not.toBe(0);
    await server.stop();
  });

  test("may hold a cluster of another user: it is run as that user", async () => {
    const dataDir = await copyOf(stopped);
    await run("chown", ["-R", `${NOBODY}:${NOBODY}`, join(dataDir, "cluster")]);
    const server = await startEmbedded({ dataDir, ...FAST });
    expect((await stat(join(server.dataDir, "postmaster.pid"))).uid).toBe(NOBODY);
    await server.stop();
  });

  test("says so when the cluster became unreachable for its user", async () => {
    await chmod(join(stopped, ".."), 0o700);
    await expect(startEmbedded({ dataDir: stopped, ...FAST })).rejects.toThrow(/cannot enter that folder/);
  });
});

describe.runIf(weAreRoot)("as root, a data folder under a closed one", () => {
  let temporary: string;
  let dataDir: string;

  beforeEach(async () => {
    const home = await scratchFolder();
    await chmod(home, 0o700);
    dataDir = watched(join(home, "project", ".fairmill", "postgres"));
    temporary = await scratchFolder();
    process.env["TMPDIR"] = temporary;
    return () => {
      if (TMPDIR === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = TMPDIR;
    };
  });

  test("has its cluster in a temporary place, and finds it again", async () => {
    const server = await startEmbedded({ dataDir, ...FAST });
    await query(server.url, "CREATE TABLE kept AS SELECT 42 AS answer");
    const home = join(server.dataDir, "..");
    expect(home.startsWith(join(temporary, "fairmill-postgres-"))).toBe(true);
    expect((await readFile(join(dataDir, "location"), "utf8")).trim()).toBe(home);
    expect((await stat(join(dataDir, "connection.json"))).mode & 0o777).toBe(0o600);
    expect(await readEmbeddedUrl(dataDir)).toBe(server.url);
    expect(await startEmbedded({ dataDir })).toMatchObject({ adopted: true, dataDir: server.dataDir });
    await server.stop();

    const again = await startEmbedded({ dataDir, ...FAST });
    expect(again.dataDir).toBe(server.dataDir);
    expect(await query(again.url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
    await again.stop();

    await chown(home, NOBODY, NOBODY);
    await expect(startEmbedded({ dataDir, ...FAST })).rejects.toThrow(/belongs to another user/);
    await chown(home, 0, 0);
    await chmod(home, 0o777);
    await expect(startEmbedded({ dataDir, ...FAST })).rejects.toThrow(/open to others/);
    await chmod(home, 0o711);

    await removeEmbedded(dataDir);
    // Binaries may be staged there too, for any data folder.
    expect((await readdir(temporary)).filter((name) => !name.startsWith("fairmill-binaries-"))).toEqual([]);
    await expect(stat(dataDir)).rejects.toThrow(/ENOENT/);
    await removeEmbedded(dataDir);
  });

  test("has a new one when the pointer was removed; the old cluster is not destroyed while a server may run on it", async () => {
    await mkdir(dataDir, { recursive: true });
    const { home } = await decideHome(dataDir, false);
    // An interrupted first start comes back to the same folder.
    expect((await decideHome(dataDir, false)).home).toBe(home);
    await mkdir(join(home, "cluster"));
    await writeFile(join(home, "cluster", "postmaster.pid"), "");
    const next = await decideHome(dataDir, false);
    expect(next).toMatchObject({ isNew: true, home: expect.stringMatching(new RegExp(`^${home}-[0-9a-f]+$`)) });
    expect(await readdir(home)).toContain("cluster");
  });

  test.each([
    { durable: false, removed: "the pointer", left: 1 },
    { durable: false, removed: "the whole folder", left: 1 },
    { durable: true, removed: "the pointer", left: 1 },
    // Perhaps it was moved, and its owner will miss the data.
    { durable: true, removed: "the whole folder", left: 2 },
  ])(
    "starts afresh without $removed (durable: $durable), with $left home(s) left",
    async ({ durable, removed, left }) => {
      const user = await chooseServerUser(undefined);
      await mkdir(dataDir, { recursive: true });
      const first = await stageHome(dataDir, durable, user);
      const homes = async () =>
        (await readdir(join(first, "..")))
          .filter((name) => name.startsWith(basename(first)))
          .map((name) => join(first, "..", name));
      onTestFinished(async () => {
        for (const home of await homes()) await rm(home, { recursive: true });
      });
      await mkdir(join(first, "cluster"));
      if (removed === "the whole folder") {
        await rename(dataDir, `${dataDir}.moved`);
        await mkdir(dataDir);
      }
      const second = await stageHome(dataDir, durable, user);
      await mkdir(join(second, "cluster"));
      expect((await homes()).length).toBe(left);
    },
  );

  test("misses durable data aloud when the temporary place was cleaned, and makes a test's cluster anew", async () => {
    await mkdir(dataDir, { recursive: true });
    const { home } = await decideHome(dataDir, false);
    await run("sh", ["-c", 'echo "$1" > "$2"', "sh", home, join(dataDir, "location")]);
    await rm(home, { recursive: true });
    await expect(startEmbedded({ dataDir })).rejects.toMatchObject({
      code: "FAIRMILL_EMBEDDED_START",
      message: expect.stringMatching(/is gone[\s\S]*Remove .*location to begin with an empty database/),
    });
    expect(await decideHome(dataDir, false)).toMatchObject({ isNew: true, home });
  });

  test("does not use a folder that a stranger put there", async () => {
    await mkdir(dataDir, { recursive: true });
    const { home: predictable } = await decideHome(dataDir, false);
    await chown(predictable, NOBODY, NOBODY);
    expect((await decideHome(dataDir, false)).home.startsWith(`${predictable}-`)).toBe(true);
    expect(await readdir(predictable)).toEqual(["serves.json"]);
  });

  test("is swept with its home when it is gone, but only if the data is not needed any more", async () => {
    const abandoned = async (durable: boolean) => {
      const folder = join(dataDir, String(durable));
      await mkdir(folder, { recursive: true });
      const home = await stageHome(folder, durable, await chooseServerUser(undefined));
      await rm(folder, { recursive: true });
      return home;
    };
    const durable = await abandoned(true);
    onTestFinished(() => rm(durable, { recursive: true }));
    const forTests = await abandoned(false);
    await mkdir(join(forTests, "cluster"));
    await writeFile(join(forTests, "cluster", "postmaster.pid"), "");

    await mkdir(dataDir, { recursive: true });
    const user = await chooseServerUser(undefined);
    const ours = await stageHome(dataDir, false, user);
    await stageHome(dataDir, true, user).then((home) => rm(home, { recursive: true }));
    expect((await readdir(temporary)).sort()).toEqual([ours, forTests].map((home) => basename(home)).sort());
    expect((await stat(durable)).isDirectory()).toBe(true);
    await rm(join(forTests, "cluster", "postmaster.pid"));
    await stageHome(dataDir, false, user);
    expect(await readdir(temporary)).toEqual([basename(ours)]);
  });

  test("does not use a temporary place where other users may replace our folder", async () => {
    expect(await isSafeBase(temporary)).toBe(true);
    await chmod(temporary, 0o777);
    expect(await isSafeBase(temporary)).toBe(false);
    await chmod(temporary, 0o1777);
    expect(await isSafeBase(temporary)).toBe(true);
    expect(await isSafeBase(join(temporary, "nowhere"))).toBe(false);
  });
});
