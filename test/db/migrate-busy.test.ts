// Migrations while others work: no deadlock, no worker has to be stopped first, and a session that is in the way for long is named.
// TEST_MIGRATIONS=25 makes more rounds of it.
import { createClient, defineJob } from "fairmill";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { migrate, pendingMigrations } from "../../src/db/migrate/migrate.js";
import type { MigrationWait } from "../../src/db/migrate/migration-locks.js";
import { dice, newSeed } from "../support/dice.js";
import { startWorkerProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";
import { database, open, session } from "./databases.js";
import { laterRelease } from "./older-schema.js";
import { later } from "./releases.js";

const ROUNDS = Number(process.env["TEST_MIGRATIONS"] ?? 3);

/** A session that enqueues, claims, settles and beats by the functions that every release has. */
async function busySession(url: string, worker: string, random: () => number) {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("select fairmill.register_v1($1, '{default}', '1 hour')", [worker]);
  const deadlocks: unknown[] = [];
  let rounds = 0;
  let isOver = false;
  const turn = async () => {
    await client.query("begin");
    for (let n = 0; n < 3; n++)
      await client.query("select fairmill.enqueue_v1('plain', tenant => $1)", [`t${Math.floor(random() * 5)}`]);
    await client.query("commit");
    const { rows } = await client.query("select id, lease_no from fairmill.claim_v1($1, 'default', 5)", [worker]);
    rows.sort((a, b) => Number(a.id) - Number(b.id));
    const [ids, leases] = [rows.map(({ id }) => id), rows.map((row) => row.lease_no)];
    const verdicts = rows.map(() => (random() < 0.7 ? "done" : "release"));
    await client.query("select fairmill.settle_v1($1, $2, $3, $4)", [worker, ids, leases, verdicts]);
    await client.query("select * from fairmill.heartbeat_v1($1, '1 hour', '{}')", [worker]);
    rounds++;
  };
  const loop = (async () => {
    while (!isOver)
      await turn().catch(async (error: { code?: string }) => {
        await client.query("rollback");
        if (error.code === "40P01") deadlocks.push(error);
        // A function that was under way met others of the new release, or one that is gone: its caller comes again, as workers do.
        else if (!["42804", "42883", "XX000"].includes(error.code ?? "")) throw error;
      });
  })();
  let failure: unknown;
  loop.catch((error: unknown) => {
    failure = error;
  });
  return {
    deadlocks,
    /** Turns so far; what has ended them is thrown. */
    get rounds() {
      if (failure) throw failure;
      return rounds;
    },
    end: () => {
      isOver = true;
      return loop;
    },
  };
}

test(
  "under four busy sessions, whose functions it replaces: it gets its tables, none of them meets a deadlock, and all go on",
  async () => {
    const random = dice(newSeed());
    for (let round = 0; round < ROUNDS; round++) {
      const { url } = await database({});
      const shipped = await laterRelease();
      const workers = await Promise.all([1, 2, 3, 4].map((n) => busySession(url, `w${n}`, random)));
      await waitUntil("all are busy", () => workers.every(({ rounds }) => rounds > 20));
      await migrate(open(url), { shipped });
      const before = workers.map(({ rounds }) => rounds);
      await waitUntil("all go on", () => workers.every(({ rounds }, i) => rounds > before[i]! + 20));
      await Promise.all(workers.map((worker) => worker.end()));
      expect(workers.flatMap(({ deadlocks }) => deadlocks)).toEqual([]);
      expect(await pendingMigrations(open(url), { shipped })).toEqual([]);
    }
  },
  60_000 + ROUNDS * 20_000,
);

const quick = defineJob({ kind: "quick" });
const limited = defineJob<{ user: string; ms: number }>({
  kind: "limited",
  key: ({ user }) => user,
  limits: { active: 1 },
});

test(
  "under four busy worker processes, one release after the other: every job is done, by workers that were never stopped",
  async () => {
    const random = dice(newSeed());
    const { url } = await database({});
    const ask = await session(url);
    const client = createClient({ databaseUrl: url });
    const start = () => startWorkerProcess(url, ["quick", "limited"], { concurrency: 10 }, { active: 1 });
    const fleet = await Promise.all([start(), start(), start(), start()]);
    let isOver = false;
    let stored = 0;
    const producing = (async () => {
      while (!isOver) {
        const made = await client.enqueueMany(
          quick,
          Array.from({ length: 200 }, (_, n) => ({ input: {}, tenant: `t${n % 7}`, priority: n % 2 })),
        );
        const keyed = await client.enqueueMany(
          limited,
          Array.from({ length: 50 }, (_, n) => ({ input: { user: `u${n % 10}`, ms: 0 } })),
        );
        stored += made.length + keyed.length;
        await waitUntil("there is not too much to do", async () => (await left()) < 2_000);
      }
    })();
    const left = async () => (await ask.query<{ n: number }>("select count(*)::integer as n from fairmill.job"))[0]!.n;
    const ended = async () =>
      (
        await ask.query<{ n: number }>("select count(*)::integer as n from fairmill.job_history where state = 'done'")
      )[0]!.n;

    const tables = ["job", "worker", "claim_list", "queue", "meter", "limit_setting", "job_history", "key_limit"];
    const migrations: string[] = [];
    for (let round = 1; round <= ROUNDS * 2; round++) {
      const before = await ended();
      await waitUntil("the workers are busy", async () => (await ended()) > before + 100);
      // Each touches many tables, in an order of its own, and rewrites what the workers are busy with.
      const order = tables.toSorted(() => random() - 0.5);
      migrations.push(
        order
          .map((table) => `alter table fairmill.${table} add column novelty_${round} integer default ${round};`)
          .join("\n"),
      );
      const shipped = await later(migrations, {
        functions: {
          wake_v1: `${(await later([])).functions.find(({ name }) => name === "functions/wake_v1")!.text}\n-- ${round}`,
        },
      });
      await migrate(open(url), { shipped });
      const after = await ended();
      await waitUntil("the workers go on", async () => (await ended()) > after + 100);
    }
    isOver = true;
    await producing;
    await waitUntil("every job is done", async () => (await left()) === 0);
    expect(await ended()).toBe(stored);
    const heard = fleet.flatMap(({ messages }) => messages);
    expect(heard.filter(({ unhandled }) => unhandled !== undefined)).toEqual([]);
    expect(heard.filter((message) => JSON.stringify(message).includes("deadlock"))).toEqual([]);
    await Promise.all(fleet.map((worker) => worker.stop()));
    await client.close();
  },
  120_000 + ROUNDS * 20_000,
);

describe("a transaction that is in the way", () => {
  /** It has enqueued, and does not end. */
  async function inTheWay(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url, application_name: "monthly report" });
    client.on("error", () => {});
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("begin");
    await client.query("select fairmill.enqueue_v1('plain')");
    return client;
  }

  test("keeps the migration waiting, which says so, lets others through meanwhile, and goes on by itself", async () => {
    const { url } = await database({});
    const shipped = await later(["alter table fairmill.job add column novelty integer"]);
    const blocker = await inTheWay(url);
    const ask = await session(url);
    const waits: MigrationWait[] = [];
    const migrating = migrate(open(url), { shipped, onWait: (wait) => void waits.push(wait) });
    await waitUntil("it has come in vain three times", () => waits.length >= 3);
    // No session waits behind it for longer than an attempt.
    await ask.query("select fairmill.enqueue_v1('plain')");
    await blocker.query("commit");
    expect(await migrating).toEqual([shipped.migrations.at(-1)!.name]);
    expect(waits[0]).toMatchObject({
      attempts: 1,
      blocker: expect.stringContaining("monthly report, idle in transaction"),
    });
    expect(waits.map(({ attempts }) => attempts)).toEqual(waits.map((_, i) => i + 1));
  });

  test("for longer than a migration waits, it is named by a typed error, and nothing was applied", async () => {
    const { url } = await database({});
    const shipped = await later(["alter table fairmill.job add column novelty integer"]);
    await inTheWay(url);
    const error = await migrate(open(url), { shipped, waitMsMax: 1_000 }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: "FAIRMILL_MIGRATION_BLOCKED",
      message: expect.stringMatching(
        /process \d+ \(monthly report, idle in transaction\), in a transaction for \d+ s\. Nothing was applied/,
      ),
    });
    expect(await pendingMigrations(open(url))).toEqual([]);
  });

  test("vacuums one of the tables: after some attempts one stays until the server has looked for deadlocks, which is when it ends autovacuums", async () => {
    const { url } = await database({});
    const shipped = await later(["alter table fairmill.job add column novelty integer"]);
    const vacuum = await session(url);
    await vacuum.query(`alter database ${new URL(url).pathname.slice(1)} set deadlock_timeout = '3s'`);
    await vacuum.query("begin; lock table fairmill.job in share update exclusive mode");
    const waits: MigrationWait[] = [];
    const migrating = migrate(open(url), { shipped, onWait: (wait) => void waits.push(wait) });
    await waitUntil("it has come in vain", () => waits.length === 4);
    await vacuum.query("commit");
    await migrating;
    expect(waits[3]!.waitedMs - waits[2]!.waitedMs).toBeGreaterThan(3_000);
  });

  test("changes the same function: the migration gives up, and comes again when that is over", async () => {
    const { url } = await database({});
    const other = await session(url);
    const ask = await session(url);
    await other.query("begin");
    await other.query("grant execute on function fairmill.listening_v1(text, boolean) to pg_monitor");
    await ask.query("drop function fairmill.wake_v1(text[], float8)");
    const waits: MigrationWait[] = [];
    const migrating = migrate(open(url), { onWait: (wait) => void waits.push(wait) });
    await waitUntil("it has come in vain", () => waits.length > 0);
    await other.query("commit");
    expect(await migrating).toEqual(["functions/wake_v1"]);
  });

  test("changes the same function and ends while the migration waits for it: PostgreSQL's refusal does not reach the caller", async () => {
    const { url } = await database({});
    const other = await session(url);
    const ask = await session(url);
    await ask.query("drop function fairmill.wake_v1(text[], float8)");
    for (let round = 0; round < 5; round++) {
      await other.query("begin");
      await other.query("grant execute on function fairmill.listening_v1(text, boolean) to pg_monitor");
      await ask.query("drop function if exists fairmill.wake_v1(text[], float8)");
      const migrating = migrate(open(url));
      await waitUntil(
        "it waits for the row",
        async () =>
          (await ask.query("select from pg_locks where locktype = 'transactionid' and not granted")).length > 0,
      );
      await other.query("commit");
      expect(await migrating).toEqual(["functions/wake_v1"]);
    }
  });

  test("is no obstacle where only functions are new", async () => {
    const { url } = await database({});
    await inTheWay(url);
    const shipped = await later([], {
      functions: {
        listening_v1:
          "create or replace function fairmill.listening_v1(worker_id text, wanted boolean) returns void language sql as 'select 1'",
      },
    });
    expect(await migrate(open(url), { shipped, waitMsMax: 0 })).toEqual(["functions/listening_v1"]);
  });
});
