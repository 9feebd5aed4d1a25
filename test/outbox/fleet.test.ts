// The outbox under a fleet that is killed at random, on a PostgreSQL that crashes: what receivers got is what was published, and nothing that
// may have arrived goes out again unless the receiver knows its key. The sizes of the full programme are in the environment:
//   OUTBOX_MESSAGES=5000 OUTBOX_KILLS=200 OUTBOX_CRASHES=10 npm test -- test/outbox/fleet.test.ts
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Published } from "fairmill";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbedded } from "../../dist/embedded/index.js";
import { dice, newSeed } from "../support/dice.js";
import { DUPLICATES, duplicatesIn } from "../support/duplicates.js";
import { checkInvariants } from "../support/invariants.js";
import { openPool } from "../support/open-pool.js";
import { startWorkerProcess, type WorkerProcess } from "../support/processes.js";
import { startReceiver } from "../support/receiver.js";
import { waitUntil } from "../support/wait.js";

const sizeOf = (name: string, usual: number) => Number(process.env[name] ?? usual);
const MESSAGES = sizeOf("OUTBOX_MESSAGES", 900);
const KILLS = sizeOf("OUTBOX_KILLS", 20);
const CRASHES = sizeOf("OUTBOX_CRASHES", 1);
const WORKERS = 4;
const CHANNELS = ["keyed", "asked", "bare"] as const;
const DEADLINE_MS = 60_000 + KILLS * 3_000 + CRASHES * 20_000 + MESSAGES * 20;

let folder: string;
let server: EmbeddedPostgres;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairmill-outbox-"));
  await chmod(folder, 0o711);
  server = await startEmbedded({ dataDir: join(folder, "postgres"), durable: true });
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Row {
  readonly channel: (typeof CHANNELS)[number];
  readonly key: string;
  readonly status: string;
  readonly body: { n: number };
  readonly attempts: readonly { readonly outcome?: string }[];
}

/** Looks for a key of which two deliveries are on record, over a connection of its own, until it is stopped; a crash of the server interrupts it. */
function watchForDuplicates() {
  let looks = 0;
  let isStopped = false;
  const seen: unknown[] = [];
  const look = async () => {
    while (!isStopped) {
      const observer = new pg.Client({ connectionString: server.url, application_name: "observer" });
      observer.on("error", () => {});
      try {
        await observer.connect();
        while (!isStopped) {
          const { rows } = await observer.query(DUPLICATES);
          seen.push(...rows);
          looks++;
          // Many looks within each send, and time for those who send.
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await observer.end().catch(() => {});
    }
  };
  const looking = look();
  return {
    async stop() {
      isStopped = true;
      await looking;
      return { looks, seen };
    },
  };
}

test("C7 C8 P5 I4: four workers killed at random and PostgreSQL crashed while messages go out: each key is applied once, and the observer sees none twice", async () => {
  const seed = newSeed();
  const random = dice(seed);
  await using client = createClient({ databaseUrl: server.url });
  await client.migrate();
  const receiver = await startReceiver(dice(seed + 1));
  const start = () =>
    startWorkerProcess(server.url, [], { lease: 1_500, concurrency: 8, crashesMax: 1_000 }, undefined, receiver);
  // Who was killed is replaced while the next one dies.
  const fleet: Promise<WorkerProcess>[] = Array.from({ length: WORKERS }, start);
  await Promise.all(fleet);
  const observing = watchForDuplicates();
  const pool = openPool({ connectionString: server.url, max: 2 });
  const count = async (where: string) =>
    Number((await pool.query<{ n: string }>(`select count(*) as n from fairmill.outbox where ${where}`)).rows[0]!.n);

  // Publishers try until they are answered, some of them twice: the key makes that safe.
  let published = 0;
  const publishOne = async (n: number): Promise<Published> => {
    for (;;) {
      try {
        return await client.publish(CHANNELS[n % 3]!, { n }, { idempotencyKey: `k${n}`, tenant: `t${n % 5}` });
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
  let spread = 0;
  const publishing = (async () => {
    for (let n = 0; n < MESSAGES; n += 10) {
      // Spread over the time of the kills, so that there is always something under way.
      await waitUntil("the faults keep pace", () => spread >= (n / MESSAGES) * (KILLS + CRASHES) - 3, DEADLINE_MS);
      const part = Array.from({ length: Math.min(10, MESSAGES - n) }, (_, i) => n + i);
      const ids = await Promise.all(part.map(publishOne));
      const again = await Promise.all(part.filter((m) => m % 7 === 0).map(publishOne));
      for (const { id, created } of again) expect([created, ids.some((one) => one.id === id)]).toEqual([false, true]);
      published += part.length;
    }
  })();
  let failure: unknown;
  publishing.catch((error) => (failure = error));

  let crashes = 0;
  for (let kills = 0; kills < KILLS && failure === undefined; kills++, spread++) {
    if (crashes < CRASHES && kills >= ((crashes + 0.5) * KILLS) / CRASHES) {
      // A worker cannot start without the database, but goes on without it.
      await Promise.all(fleet);
      await server.stop("immediate");
      await server.restart();
      crashes++;
      spread++;
    }
    // Best in the middle of several sends; where there are none for a moment, in between.
    const latestMs = performance.now() + 500;
    await waitUntil("messages are under way", () => receiver.unanswered >= 6 || performance.now() > latestMs);
    const victim = Math.floor(random() * WORKERS);
    await (await fleet[victim]!).kill();
    fleet[victim] = start();
  }
  spread = Number.POSITIVE_INFINITY;
  await publishing;
  await waitUntil(
    "all messages have their end",
    async () => (await count("ended_at is null").catch(() => 1)) === 0,
    90_000,
  );
  await Promise.all(fleet.map(async (worker) => (await worker).stop()));
  const { looks, seen } = await observing.stop();
  await checkInvariants(pool);
  const { rows } = await pool.query<Row>(
    "select channel, idempotency_key as key, status, payload as body, attempts from fairmill.outbox order by id",
  );
  const applied = await duplicatesIn(pool, receiver);
  await pool.end();
  await receiver.close();

  const statuses = Object.fromEntries(
    CHANNELS.map((channel) => {
      const own = rows.filter((row) => row.channel === channel);
      const names = [...new Set(own.map(({ status }) => status))].toSorted();
      return [
        channel,
        names.map((status) => `${status} ${own.filter((row) => row.status === status).length}`).join(", "),
      ];
    }),
  );
  const takes = (row: Row) => receiver.taken.get(row.channel)?.get(row.key)?.bodies ?? [];
  const repeats = rows.filter((row) => takes(row).length > 1).length;
  const doubts = rows.filter(({ attempts }) =>
    attempts.some(({ outcome }) => outcome === undefined || outcome === "uncertain"),
  );
  console.log(
    `messages ${published}, kills ${KILLS}, crashes ${crashes}, refused ${receiver.refused}, hung up ${receiver.hungUp}, in doubt ${doubts.length}, sent again to the one that takes keys ${repeats}, looks ${looks};`,
    statuses,
  );

  expect(seen).toEqual([]);
  expect(applied).toEqual([]);
  expect(rows).toHaveLength(MESSAGES);
  // What came is what was published: no other key, no other body, however often.
  const strange = [...receiver.taken].flatMap(([channel, keys]) =>
    [...keys.keys()].filter((key) => !rows.some((row) => row.channel === channel && row.key === key)),
  );
  expect(strange).toEqual([]);
  expect(rows.filter((row) => takes(row).some((body) => body !== JSON.stringify(row.body)))).toEqual([]);
  for (const channel of ["keyed", "asked"]) {
    const own = rows.filter((row) => row.channel === channel);
    expect(own.filter(({ status }) => status !== "sent")).toEqual([]);
    expect(own.filter((row) => takes(row).length === 0)).toEqual([]);
  }
  // Who can be asked, and who is neither, got nothing twice.
  expect(rows.filter((row) => row.channel !== "keyed" && takes(row).length > 1)).toEqual([]);
  const bare = rows.filter((row) => row.channel === "bare");
  for (const row of bare) {
    const isSure = row.attempts.every(
      ({ outcome }, i) => outcome === (i < row.attempts.length - 1 ? "refused" : "sent"),
    );
    expect([row.key, row.status]).toEqual([row.key, isSure ? "sent" : "unknown"]);
    if (isSure) expect(takes(row)).toHaveLength(1);
  }
  expect(crashes).toBe(CRASHES);
  expect(doubts.length).toBeGreaterThan(0);
}, 3_600_000);
