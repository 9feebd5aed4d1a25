import { readdir, readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { readEmbeddedUrl, startEmbedded, stopEmbedded } from "../../src/embedded/index.js";
import { GUARDIAN_NAME } from "../../src/embedded/server-process.js";
import { FAST, newDataDir, nothingRunsIn, processesOf, query, startInChild, until } from "./scratch.js";

// One cluster for the whole file, made by the first test: each test leaves it stopped.
let dataDir: string;
beforeAll(async () => {
  dataDir = await newDataDir();
});

describe("processes that start at the same time in an empty folder", () => {
  test("share one server, and one of them owns it", async () => {
    const racers = await Promise.all([1, 2, 3].map(() => startInChild({ dataDir, ...FAST })));
    const reports = await Promise.all(racers.map((racer) => racer.report));
    expect(reports.map((report) => report.error)).toEqual([undefined, undefined, undefined]);
    expect(new Set(reports.map((report) => report.url)).size).toBe(1);
    expect(reports.filter((report) => !report.adopted)).toHaveLength(1);
    expect(await query(reports[0]?.url ?? "", "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    expect(await claimsIn(dataDir)).toEqual([]);
    for (const racer of racers) await racer.kill("SIGKILL");
    await nothingRunsIn(dataDir);
  });
});

describe("the process that started the server", () => {
  test("takes the server with it when it is killed, and Ctrl-C in its terminal does not", async () => {
    const owner = await startInChild({ dataDir, ...FAST }, { deafToSignals: true });
    const { url, adopted } = await owner.report;
    expect(adopted).toBe(false);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      // The whole group, as a terminal does it.
      process.kill(-(owner.process.pid ?? 0), signal);
    }
    expect(await query(url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await owner.kill("SIGKILL");
    await nothingRunsIn(dataDir);
    expect(await readEmbeddedUrl(dataDir)).toBeUndefined();
    expect(await readFile(join(dataDir, "server.log"), "utf8")).toMatch(
      /received fast shutdown request[\s\S]*is shut down\n$/,
    );
  });

  test("takes the server with it although signals reached the guardian", async () => {
    const owner = await startInChild({ dataDir, ...FAST });
    const { url } = await owner.report;
    const guardian = await guardianOf(dataDir);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const) process.kill(guardian, signal);
    expect(await query(url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await owner.kill("SIGKILL");
    await nothingRunsIn(dataDir);
  });

  test("takes the server with it when it simply ends", async () => {
    const owner = await startInChild({ dataDir, ...FAST });
    await owner.report;
    const ended = new Promise((resolve) => owner.process.once("exit", resolve));
    owner.process.stdin?.end();
    expect(await ended).toBe(0);
    await nothingRunsIn(dataDir);
  });

  test("leaves nothing behind when it is killed while the server starts", async () => {
    const owner = await startInChild({ dataDir, ...FAST });
    await owner.loaded;
    await until("a guardian is there", async () => (await processesOf(dataDir)).length > 0);
    await owner.kill("SIGKILL");
    await nothingRunsIn(dataDir);
    const server = await startEmbedded({ dataDir, ...FAST });
    expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await server.stop();
  });

  test("leaves the server running when asked to, until it is stopped", async () => {
    const owner = await startInChild({ dataDir, ...FAST, keepRunning: true });
    const { url } = await owner.report;
    await owner.kill("SIGKILL");
    expect(await query(url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    const next = await startEmbedded({ dataDir });
    expect(next).toMatchObject({ adopted: true, url });
    await next.stop();
    expect(await readEmbeddedUrl(dataDir)).toBe(url);
    await stopEmbedded(dataDir);
    await nothingRunsIn(dataDir);
  });

  test("stops and restarts a server that it leaves running", async () => {
    const server = await startEmbedded({ dataDir, ...FAST, keepRunning: true });
    await server.restart();
    expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await server.stop();
    await nothingRunsIn(dataDir);
  });

  test("is left by the guardian when the server is gone, however it went", async () => {
    const server = await startEmbedded({ dataDir, ...FAST });
    await stopEmbedded(dataDir);
    await nothingRunsIn(dataDir);
    await server.restart();
    const [first] = (await readFile(join(server.dataDir, "postmaster.pid"), "utf8")).split("\n");
    process.kill(Number(first), "SIGKILL");
    await nothingRunsIn(dataDir);
    await server.stop();
  });

  test("stops the server although its guardian was killed", async () => {
    const server = await startEmbedded({ dataDir, ...FAST });
    process.kill(await guardianOf(dataDir), "SIGKILL");
    await server.stop();
    await nothingRunsIn(dataDir);
  });
});

describe("the next process", () => {
  test("does not adopt a server whose owner was killed a moment ago", async () => {
    const owner = await startInChild({ dataDir, ...FAST });
    const { url } = await owner.report;
    await query(url, "CREATE TABLE kept AS SELECT 42 AS answer");
    const guardian = await guardianOf(dataDir);
    // A guardian that sleeps is the moment between the owner's end and the server's, held still.
    process.kill(guardian, "SIGSTOP");
    await owner.kill("SIGKILL");
    const starting = startEmbedded({ dataDir, ...FAST });
    try {
      await until("the next process waits", async () => (await claimsIn(dataDir)).length === 1);
    } finally {
      process.kill(guardian, "SIGCONT");
    }
    const server = await starting;
    expect(server.adopted).toBe(false);
    expect(await query(server.url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
    await server.stop();
  });

  test("replaces a server whose owner and guardian were both killed", async () => {
    const owner = await startInChild({ dataDir, ...FAST });
    const { url } = await owner.report;
    process.kill(await guardianOf(dataDir), "SIGKILL");
    await owner.kill("SIGKILL");
    expect(await query(url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    const server = await startEmbedded({ dataDir, ...FAST });
    expect(server.adopted).toBe(false);
    expect(await guardianOf(dataDir)).toBeGreaterThan(0);
    await server.stop();
    await nothingRunsIn(dataDir);
  });

  test("adopts only a server that answers", async () => {
    const server = await startEmbedded({ dataDir, ...FAST });
    let asked = 0;
    // Deaf at the first question, PostgreSQL's "no TLS here" at the second.
    const stub = createServer((socket) => {
      asked += 1;
      const deaf = asked === 1;
      socket.on("error", () => {}).on("data", () => (deaf ? socket.destroy() : socket.write("N")));
    });
    await new Promise<void>((resolve) => stub.listen(0, "127.0.0.1", resolve));
    const file = join(dataDir, "connection.json");
    const connection = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...connection, port: (stub.address() as AddressInfo).port }));
    expect(await startEmbedded({ dataDir })).toMatchObject({ adopted: true, url: server.url });
    expect(asked).toBe(2);
    stub.close();
    await server.stop();
  });

  test("is not held up by the claim of a process that ended, even if its id was given to another", async () => {
    // Our own id with a birth that is not ours, and an id that no system gives out.
    await writeFile(join(dataDir, `starting.${process.pid}.${Buffer.from("1").toString("hex")}.00`), "");
    await writeFile(join(dataDir, "starting.999999999..00"), "");
    const server = await startEmbedded({ dataDir, ...FAST });
    expect(await claimsIn(dataDir)).toEqual([]);
    await server.stop();
  });
});

async function guardianOf(dataDir: string): Promise<number> {
  const guardian = (await processesOf(dataDir)).find(({ command }) => command.includes(GUARDIAN_NAME));
  if (guardian === undefined) throw new Error(`No guardian works in ${dataDir}.`);
  return guardian.pid;
}

async function claimsIn(dataDir: string): Promise<string[]> {
  return (await readdir(dataDir)).filter((name) => name.startsWith("starting."));
}
