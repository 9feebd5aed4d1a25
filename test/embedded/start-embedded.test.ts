import { type ChildProcess, spawn } from "node:child_process";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigError } from "../../src/base/errors.js";
import { type EmbeddedPostgres, readEmbeddedUrl, startEmbedded, stopEmbedded } from "../../src/embedded/index.js";
import { FAST, newDataDir, nothingRunsIn, processesOf, query, startInChild, until } from "./scratch.js";

// One cluster for the whole file: each group of tests leaves it stopped.
let dataDir: string;
beforeAll(async () => {
  dataDir = await newDataDir();
});

describe("a fresh data folder", () => {
  let server: EmbeddedPostgres;

  beforeAll(async () => {
    server = await startEmbedded({ dataDir, ...FAST, settings: { ...FAST.settings, work_mem: "7MB" } });
  });
  afterAll(async () => {
    await server.stop();
  });

  test("gets a database that answers, in UTF8 and locale C", async () => {
    const [row] = await query(
      server.url,
      `SELECT current_database() AS name, pg_encoding_to_char(encoding) AS encoding, datcollate, datctype
       FROM pg_database WHERE datname = current_database()`,
    );
    expect(row).toEqual({ name: "fairmill", encoding: "UTF8", datcollate: "C", datctype: "C" });
    expect(server.adopted).toBe(false);
    expect(server.url).toMatch(/^postgres:\/\/fairmill:[\w-]{32}@127\.0\.0\.1:\d+\/fairmill$/);
    const [{ server_version }] = (await query(server.url, "SHOW server_version")) as [{ server_version: string }];
    expect(server_version.split(" ")[0]).toBe(server.version);
  });

  test("makes an application's tables in public, also beside a schema with the name of its role", async () => {
    await query(server.url, "CREATE SCHEMA fairmill; CREATE TABLE person (email text)");
    expect(
      await query(
        server.url,
        "SELECT relnamespace::regnamespace::text AS schema FROM pg_class WHERE relname = 'person'",
      ),
    ).toEqual([{ schema: "public" }]);
    await query(server.url, "DROP TABLE public.person; DROP SCHEMA fairmill");
  });

  test("asks for the password, and keeps it as SCRAM", async () => {
    const without = server.url.replace(/:[^:@]+@/, "@");
    const wrong = server.url.replace(/:[^:@]+@/, ":wrong@");
    await expect(query(without, "SELECT 1")).rejects.toThrow();
    await expect(query(wrong, "SELECT 1")).rejects.toThrow(/password authentication failed/);
    const secrets = await query(server.url, "SELECT rolpassword FROM pg_authid WHERE rolpassword IS NOT NULL");
    expect(secrets).toHaveLength(1);
    expect(secrets[0]?.["rolpassword"]).toMatch(/^SCRAM-SHA-256\$/);
    const methods = await query(server.url, "SELECT DISTINCT auth_method FROM pg_hba_file_rules");
    expect(methods).toEqual([{ auth_method: "scram-sha-256" }]);
  });

  test("lets no other user read the password, the data and the log", async () => {
    const mode = async (path: string) => ((await stat(join(dataDir, path))).mode & 0o777).toString(8);
    expect(await mode("connection.json")).toBe("600");
    expect(await mode("cluster/fairmill.password")).toBe("600");
    expect(await mode("cluster")).toBe("700");
    expect(await mode("server.log")).toBe("600");
  });

  test("does not show the password to those who list processes", async () => {
    const password = new URL(server.url).password;
    for (const { command } of await processesOf(dataDir)) expect(command).not.toContain(password);
  });

  test("is reached on 127.0.0.1 only, with sensible settings and those of the caller", async () => {
    const settings = await query(
      server.url,
      `SELECT name, current_setting(name) AS value FROM pg_settings WHERE name IN
         ('listen_addresses', 'unix_socket_directories', 'max_connections', 'shared_buffers', 'work_mem', 'fsync')`,
    );
    expect(Object.fromEntries(settings.map(({ name, value }) => [name, value]))).toEqual({
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: "200",
      shared_buffers: "128MB",
      work_mem: "7MB",
      fsync: "off",
    });
  });

  test("tells its URL to other processes while it runs", async () => {
    expect(await readEmbeddedUrl(dataDir)).toBe(server.url);
    expect(await readEmbeddedUrl(join(dataDir, "nowhere"))).toBeUndefined();
  });

  test("is adopted by a second process, whose stop leaves it running", async () => {
    const second = await startInChild({ dataDir });
    const report = await second.report;
    expect(report).toMatchObject({ adopted: true, url: server.url, version: server.version, dataDir: server.dataDir });
    await second.order("stop");
    expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await second.kill("SIGKILL");
    expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("is adopted by a second call of the same process, which cannot restart it", async () => {
    const second = await startEmbedded({ dataDir });
    expect(second).toMatchObject({ adopted: true, url: server.url });
    await expect(second.restart()).rejects.toMatchObject({ code: "FAIRMILL_EMBEDDED_START" });
    await second.stop();
    expect(await readEmbeddedUrl(dataDir)).toBe(server.url);
  });
});

describe("an existing cluster", () => {
  test("keeps committed data and the URL over a crash and a restart", async () => {
    const server = await startEmbedded({ dataDir });
    await query(server.url, "CREATE TABLE kept AS SELECT 42 AS answer");
    await server.stop("immediate");
    expect(await readEmbeddedUrl(dataDir)).toBeUndefined();
    await expect(query(server.url, "SELECT 1")).rejects.toThrow(/ECONNREFUSED/);
    await server.restart();
    expect(await query(server.url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
    expect(await readFile(join(dataDir, "server.log"), "utf8")).toContain("was not properly shut down");
    await server.stop();
    await nothingRunsIn(dataDir);
  });

  test("starts again although a killed server left its lock and its memory, and keeps committed data", async () => {
    const server = await startEmbedded({ dataDir });
    await query(server.url, "CREATE TABLE also_kept AS SELECT 42 AS answer");
    process.kill(await serverPid(server), "SIGKILL");
    await server.restart();
    expect(await query(server.url, "SELECT answer FROM also_kept")).toEqual([{ answer: 42 }]);
    await server.stop();
  });

  test("waits for a backend that outlives its killed server and still holds the shared memory", async () => {
    const server = await startEmbedded({ dataDir, ...FAST, keepRunning: true });
    const client = new pg.Client({ connectionString: server.url });
    client.on("error", () => {});
    await client.connect();
    const backendPid = (await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid as number;
    process.kill(backendPid, "SIGSTOP");
    process.kill(await serverPid(server), "SIGKILL");
    const restarted = server.restart();
    await until("the first attempt failed", async () =>
      (await readFile(join(dataDir, "server.log"), "utf8")).includes("pre-existing shared memory block"),
    );
    process.kill(backendPid, "SIGCONT");
    await restarted;
    expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await server.stop();
  });

  test("may be stopped and restarted in any order, twice and at once", async () => {
    const server = await startEmbedded({ dataDir, ...FAST });
    await server.restart();
    expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await Promise.all([server.stop(), server.stop("immediate")]);
    await server.stop();
    await nothingRunsIn(dataDir);
    const [, , last] = await Promise.all([server.restart(), server.stop(), server.restart()]);
    expect(last).toBeUndefined();
    expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await server.stop();
    await nothingRunsIn(dataDir);
  });

  test("starts at its old port, at another when that is taken, and a restart waits for its port", async () => {
    const first = await startEmbedded({ dataDir, ...FAST });
    await first.stop();
    const second = await startEmbedded({ dataDir, ...FAST });
    expect(second.url).toBe(first.url);
    await second.stop();
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(Number(new URL(first.url).port), "127.0.0.1", resolve));
    const third = await startEmbedded({ dataDir, ...FAST });
    expect(third.url).not.toBe(first.url);
    await third.stop();
    const restarted = second.restart();
    await until("the first attempt failed", async () =>
      (await readFile(join(dataDir, "server.log"), "utf8")).includes("Address already in use"),
    );
    blocker.close();
    await restarted;
    expect(await query(second.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await second.stop();
  });
});

describe("a postmaster.pid that was left behind", () => {
  let stranger: ChildProcess;
  afterAll(() => {
    stranger?.kill("SIGKILL");
  });

  test("is ignored when its process id belongs to an unrelated process, which is left alone", async () => {
    const server = await startEmbedded({ dataDir, ...FAST });
    const pidFile = join(server.dataDir, "postmaster.pid");
    const leftBehind = await readFile(pidFile, "utf8");
    const { uid, gid } = await stat(pidFile);
    await server.stop();
    // The same user as the server's: PostgreSQL itself takes this process for a living server and refuses to start.
    stranger = spawn("sleep", ["600"], { uid, gid });
    await writeFile(pidFile, leftBehind.replace(/^\d+/, String(stranger.pid)), { mode: 0o600 });

    expect(await readEmbeddedUrl(dataDir)).toBeUndefined();
    await stopEmbedded(dataDir);
    const again = await startEmbedded({ dataDir, ...FAST });
    expect(again.adopted).toBe(false);
    expect(await query(again.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await again.stop();
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
  });
});

describe("a start that cannot succeed", () => {
  test("says that Windows is not supported", async () => {
    const platform = process.platform;
    Object.defineProperty(process, "platform", { value: "win32" });
    try {
      await expect(startEmbedded({ dataDir })).rejects.toMatchObject({
        code: "FAIRMILL_EMBEDDED_MISSING",
        message: expect.stringMatching(/Windows.*DATABASE_URL/),
      });
    } finally {
      Object.defineProperty(process, "platform", { value: platform });
    }
  });

  test("names the failing setting from the server's log, and leaves nothing running", async () => {
    const failed = startEmbedded({ dataDir, durable: false, settings: { shared_buffers: "a lot" } });
    await expect(failed).rejects.toMatchObject({
      name: "EmbeddedStartError",
      code: "FAIRMILL_EMBEDDED_START",
      message: expect.stringMatching(/did not start.*server\.log[\s\S]*shared_buffers/),
      logLines: expect.arrayContaining([expect.stringContaining("shared_buffers")]),
    });
    await nothingRunsIn(dataDir);
    const server = await startEmbedded({ dataDir, ...FAST });
    await server.stop();
  });

  test("refuses settings that the launcher decides, by name", async () => {
    await expect(startEmbedded({ dataDir, settings: { port: "1" } })).rejects.toThrow(ConfigError);
    await expect(startEmbedded({ dataDir, settings: { "a b": "1" } })).rejects.toThrow(/"a b" is not the name/);
  });

  test("says which folder cannot be used", async () => {
    const file = join(dataDir, "file");
    await writeFile(file, "");
    await expect(startEmbedded({ dataDir: join(file, "below") })).rejects.toMatchObject({
      code: "FAIRMILL_EMBEDDED_START",
      message: expect.stringContaining(join(file, "below")),
    });
  });
});

async function serverPid(server: EmbeddedPostgres): Promise<number> {
  return Number.parseInt(await readFile(join(server.dataDir, "postmaster.pid"), "utf8"), 10);
}
