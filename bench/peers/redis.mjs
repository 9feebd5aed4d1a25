// A Redis of the benchmark's own, for BullMQ: in a temporary folder, on a free port of loopback, with its log synced every second.
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { now, sleep } from "../statistics.mjs";

const START_MS_MAX = 10_000;

export const hasRedis = () => spawnSync("redis-server", ["--version"]).status === 0;

export class RedisServer {
  #child;
  #folder;
  #connection;

  static async open(bench) {
    const { Redis } = await import("ioredis");
    const server = new RedisServer();
    server.#folder = await mkdtemp(join(tmpdir(), "fairmill-bench-redis-"));
    const port = await freePort();
    const settings = [
      "--appendonly",
      "yes",
      "--appendfsync",
      "everysec",
      "--save",
      "",
      "--maxmemory-policy",
      "noeviction",
    ];
    server.#child = spawn(
      "redis-server",
      ["--port", String(port), "--bind", "127.0.0.1", "--dir", server.#folder, ...settings],
      { stdio: "ignore" },
    );
    bench.children.add(server.#child);
    server.url = `redis://127.0.0.1:${port}`;
    server.#connection = new Redis(server.url, { retryStrategy: () => 50 });
    server.#connection.on("error", () => {});
    const endMs = now() + START_MS_MAX;
    while (server.#connection.status !== "ready") {
      if (now() > endMs) throw new Error("redis-server did not start.");
      await sleep(20);
    }
    return server;
  }

  /** What `Server.withDatabase` does, for a system that keeps its jobs in Redis. */
  async withDatabase(system, settings, work) {
    await this.#connection.flushall();
    await system.adapter.setup({ url: this.url }, settings);
    const ctx = { url: this.url };
    return work({
      ...ctx,
      pending: () => system.adapter.pending(ctx),
      rest: async () => {},
      counters: async () => ({ commits: Number.NaN, walBytes: Number.NaN }),
      countersNow: async () => ({}),
      statements: async () => new Map([["commands", await this.#commands()]]),
    });
  }

  /** Commands so far, of all connections. */
  async #commands() {
    const text = await this.#connection.info("stats");
    return Number(/total_commands_processed:(\d+)/.exec(text)[1]);
  }

  async close() {
    this.#connection.disconnect();
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await ended;
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
