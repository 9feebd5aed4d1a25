// PostgreSQL itself crashes under load. Its own cluster, durable, so that the crash means something.
import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, defineJob } from "fairmill";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbedded } from "../../dist/embedded/index.js";
import { checkInvariants } from "../support/invariants.js";
import { openPool } from "../support/open-pool.js";
import { startWorkerProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";

const quick = defineJob({ kind: "quick" });
let folder: string;
let server: EmbeddedPostgres;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairmill-crash-"));
  await chmod(folder, 0o711);
  server = await startEmbedded({ dataDir: join(folder, "postgres"), durable: true });
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

test("P1: PostgreSQL crashed three times under load loses no acknowledged job, and the workers go on by themselves", async () => {
  const client = createClient({ databaseUrl: server.url });
  await client.migrate();
  const acknowledged = new Set<string>();
  let unknown = 0;
  let isFeeding = true;
  const feed = async () => {
    while (isFeeding) {
      try {
        const stored = await client.enqueueMany(
          quick,
          Array.from({ length: 50 }, (_, n) => ({ input: { n }, tenant: `t${n % 5}` })),
        );
        for (const { id } of stored) acknowledged.add(id);
      } catch {
        unknown++;
      }
    }
  };
  const workers = await Promise.all(
    [1, 2].map(() => startWorkerProcess(server.url, ["quick"], { lease: "2s", concurrency: 20 })),
  );
  const feeding = Promise.all([feed(), feed()]);

  for (let crash = 0; crash < 3; crash++) {
    const before = acknowledged.size;
    await waitUntil("more jobs were acknowledged", () => acknowledged.size > before + 500);
    await server.stop("immediate");
    await server.restart();
  }
  const before = acknowledged.size;
  await waitUntil("enqueuing goes on after the last crash", () => acknowledged.size > before + 500);
  isFeeding = false;
  await feeding;

  const pool = openPool({ connectionString: server.url });
  const count = async (text: string) => Number((await pool.query<{ n: string }>(text)).rows[0]!.n);
  await waitUntil(
    "everything is done",
    async () => (await count("select count(*) as n from fairmill.job")) === 0,
    60_000,
  );
  const { rows } = await pool.query<{ id: string }>("select id from fairmill.job_history where state = 'done'");
  const done = new Set(rows.map((row) => row.id));
  expect([...acknowledged].filter((id) => !done.has(id))).toEqual([]);
  // Jobs whose acknowledgement was lost may exist, never more than were sent.
  expect(done.size - acknowledged.size).toBeLessThanOrEqual(unknown * 50);
  await checkInvariants(pool);
  await pool.end();
  await Promise.all(workers.map((worker) => worker.stop()));
  await client.close();
});

test("a worker that is alone in its process stays alive while PostgreSQL is away, and goes on when it is back", async () => {
  const client = createClient({ databaseUrl: server.url });
  await client.migrate();
  const lonely = spawn(process.execPath, [fileURLToPath(new URL("../support/lonely-worker.mjs", import.meta.url))], {
    env: { ...process.env, DATABASE_URL: server.url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const lines: string[] = [];
    lonely.stdout.on("data", (data: Buffer) => lines.push(...data.toString().split("\n")));
    await waitUntil("the worker has started", () => lines.includes("started"));
    await server.stop("immediate");
    await waitUntil("the worker has noticed", () => lines.filter((line) => line === "trouble").length > 5);
    await server.restart();
    const { id } = await client.enqueue(quick, {});
    await client.result(id);
    lonely.kill("SIGTERM");
    // Nothing keeps the process alive once its worker has stopped.
    expect(await new Promise((resolve) => lonely.on("exit", resolve))).toBe(0);
  } finally {
    lonely.kill("SIGKILL");
    await client.close();
  }
});
