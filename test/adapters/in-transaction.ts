// What `client.in(tx)` promises, asked of each library's transactions: the same tests for all of them.
import { type Client, createClient, defineJob, fixed, handle, type Queryable } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endOf, eventOf, startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
import { type Connected, failed, plain } from "./adapted.js";
import { describeFailures } from "./in-transaction-failures.js";

/** A transaction of a library, with the adapter around it. */
const refusing = defineJob<{ user: string }>({
  kind: "refusing",
  key: (input) => input.user,
  limits: { active: 1, whenActive: "refuse" },
});
const rated = defineJob<{ user: string }>({
  kind: "rated",
  key: (input) => input.user,
  limits: { rate: { limit: 1, per: "1h", at: "enqueue" } },
});
const single = defineJob<{ user: string }>({
  kind: "single",
  unique: { by: (input) => input.user, onConflict: "refuse" },
});
const latest = defineJob<{ user: string; n: number }>({
  kind: "latest",
  unique: { by: (input) => input.user, onConflict: "replace" },
});

/** What a text on its way through a library may be mistaken for. */
const AWKWARD = {
  quotes: `it's "quoted" \\ and \\\\ and \\u0041 and '; drop table person; --`,
  parameters: "$1 $2 $$ ? :name {x} %s {0}",
  unicode: "Ünïcödé 漢字 🦊 \u202e \u2028 \ud83d\udc68\u200d\ud83d\udc69",
  controls: "line\nfeed\ttab\r\u0001\u007f",
  json: '{"a":[1]}',
  array: "{1,2,3}",
  empty: "",
  date: "2030-01-31T09:00:00Z",
  number: "9007199254740993",
  null: null,
  numbers: [0, -1.5, 1e21, 9007199254740991],
  booleans: [true, false],
  nested: { camelCase: { snake_case: [{ $type: "x" }, []] } },
};

export function describeAdapter(library: string, connect: (url: string) => Connected): void {
  describe(`F2: client.in(tx) with a transaction of ${library}`, () => {
    const db = useDatabase();
    let client: Client;
    let connected: Connected;
    beforeEach(() => {
      client = createClient({ databaseUrl: db.url });
      connected = connect(db.url);
    });
    afterEach(async () => {
      await connected.close();
      await client.close();
    });
    const count = async () => (await db.query("select count(*)::integer as n from fairmill.job"))[0]!["n"] as number;

    test("stores a job and its options: it is there at the commit, not before", async () => {
      const runAt = new Date("2099-01-31T09:00:00.123Z");
      const { id, created } = await connected.transaction(async ({ tx }) => {
        const stored = await client.in(tx).enqueue(plain, { n: 1 }, { tenant: "acme", priority: -5, key: "k", runAt });
        expect(await client.job(stored.id)).toBeUndefined();
        return stored;
      });
      expect(id).toMatch(/^\d+$/);
      expect(created).toBe(true);
      const job = { tenant: "acme", priority: -5, key: "k", runAt, payload: { n: 1 }, state: "scheduled" };
      expect(await client.job(id)).toMatchObject(job);
    });

    test("removes the job with everything else when it is rolled back", async () => {
      const boom = new Error("boom");
      let id = "";
      await db.query("create table if not exists public.person (email text primary key)");
      const error = await failed(
        connected.transaction(async ({ tx, run }) => {
          await run("insert into public.person (email) values ('ann@example.com')");
          id = (await client.in(tx).enqueue(plain, { n: 1 }, { idempotencyKey: "k" })).id;
          throw boom;
        }),
      );
      expect(error).toBe(boom);
      expect(id).toMatch(/^\d+$/);
      expect(await count()).toBe(0);
      expect(await db.query("select * from public.person")).toEqual([]);
      expect(await client.enqueue(plain, { n: 1 }, { idempotencyKey: "k" })).toMatchObject({ created: true });
    });

    test("keeps every payload as it is", async () => {
      const { id } = await connected.transaction(({ tx }) => client.in(tx).enqueue(plain, AWKWARD));
      expect((await client.job(id))?.payload).toEqual(AWKWARD);
      const tenant = `O'Brien "& Söhne" $1`;
      const many = await connected.transaction(({ tx }) =>
        client.in(tx).enqueueMany(
          plain,
          Object.values(AWKWARD).map((value) => ({ input: { value }, tenant })),
        ),
      );
      for (const [i, value] of Object.values(AWKWARD).entries())
        expect(await client.job(many[i]!.id)).toMatchObject({ payload: { value }, tenant });
    });

    test("publishes a message with its delivery job, as it is, once per key; a limit that refuses it is an error of ours", async () => {
      const options = { idempotencyKey: `O'Brien "$1"`, orderKey: "{1}", tenant: "acme" };
      const [first, again] = await connected.transaction(async ({ tx }) => [
        await client.in(tx).publish("mail", AWKWARD, options),
        await client.in(tx).publish("mail", {}, options),
      ]);
      expect(first).toEqual({ id: expect.stringMatching(/^\d+$/), created: true });
      expect(again).toEqual({ id: first!.id, created: false });
      expect(await client.outbox.get(first!.id)).toMatchObject({ payload: AWKWARD, ...options, status: "pending" });
      await client.tenants.set("slow", { rate: { limit: 1, per: "1h", at: "enqueue" } });
      const publish = (idempotencyKey: string) =>
        connected.transaction(({ tx }) => client.in(tx).publish("mail", {}, { idempotencyKey, tenant: "slow" }));
      expect(await publish("1")).toMatchObject({ created: true });
      expect(await failed(publish("2"))).toMatchObject({ code: "FAIRMILL_RATE_LIMIT" });
      expect(await client.outbox.list({ tenant: "slow" })).toHaveLength(1);
    });

    test("everything that writes is there at the commit, and answers as it does outside", async () => {
      const { id } = await client.enqueue(plain, AWKWARD, { tenant: "acme", delay: "1h" });
      const cron = { cron: "0 3 * * *", timezone: "Europe/Madrid", job: plain, input: { n: 1 } } as const;
      const work = async (tx: Queryable) => {
        const inside = client.in(tx);
        const answers = {
          schedule: await inside.schedules.set("nightly", cron),
          ran: await inside.schedules.run("nightly"),
          tenant: await inside.tenants.set("acme", { weight: 2, rate: { limit: 5, per: "1m" } }),
          paused: await inside.pause({ queue: "slow" }),
          granted: await inside.credits.grant("ann", 5, { reason: `it's "$1"` }),
          cancelled: await inside.cancel(id),
          retried: await inside.retry(id, { fromStart: true }),
          batch: await inside.batches.create({ name: "b" }, (batch) => batch.add(plain, { n: 2 })),
        };
        // What it wrote, the transaction sees, in the same types as outside.
        expect(await inside.job(id)).toMatchObject({ state: "ready", payload: AWKWARD, createdAt: expect.any(Date) });
        expect(await inside.schedules.get("nightly")).toMatchObject({ timezone: "Europe/Madrid", pausedAt: null });
        expect(await inside.credits.statement("ann")).toMatchObject([{ amount: 5, reason: `it's "$1"` }]);
        expect(await inside.tenants.get("acme")).toMatchObject({ weight: 2, rate: { limit: 5, per: 60_000 } });
        expect(await inside.jobs.list({ tenant: "acme", limit: 1 })).toMatchObject([{ id, state: "ready" }]);
        return answers;
      };
      const boom = new Error("boom");
      const undone = connected.transaction(async ({ tx }) => {
        await work(tx);
        throw boom;
      });
      expect(await failed(undone)).toBe(boom);
      expect(await client.schedules.get("nightly")).toBeUndefined();
      expect(await client.job(id)).toMatchObject({ state: "scheduled" });
      expect(await client.tenants.get("acme")).toBeUndefined();
      expect(await client.batches.list()).toEqual([]);

      const answers = await connected.transaction(({ tx }) => work(tx));
      expect(answers).toMatchObject({
        schedule: { outcome: "created", nextRun: expect.any(Date) },
        ran: { id: expect.stringMatching(/^\d+$/), created: true },
        granted: { available: 5, granted: true },
        cancelled: "cancelled",
        retried: "ready",
        batch: { id: expect.stringMatching(/^\d+$/), added: 1 },
      });
      expect(await client.schedules.get("nightly")).toMatchObject({ nextRun: answers.schedule.nextRun });
      expect(await client.queues.get("slow")).toMatchObject({ pausedAt: expect.any(Date) });
      expect(await client.batches.get(answers.batch.id)).toMatchObject({ name: "b", live: 1 });
    });

    test("stores many, in order, also more than one statement carries", async () => {
      const items = Array.from({ length: 6_000 }, (_, n) => ({ input: { n }, tenant: `t${n % 3}` }));
      const stored = await connected.transaction(({ tx }) => client.in(tx).enqueueMany(plain, items));
      expect(stored).toHaveLength(6_000);
      const rows = await db.query("select id::text, (payload ->> 'n')::integer as n from fairmill.job");
      const numberOf = new Map(rows.map((row) => [row["id"], row["n"]]));
      expect(stored.map(({ id }) => numberOf.get(id))).toEqual(items.map(({ input }) => input.n));
      expect(await connected.transaction(({ tx }) => client.in(tx).enqueueMany(plain, []))).toEqual([]);
    });

    test("knows idempotency keys, those of the same transaction and those of others", async () => {
      const before = await client.enqueue(plain, { n: 0 }, { idempotencyKey: "before" });
      await connected.transaction(async ({ tx }) => {
        const first = await client.in(tx).enqueue(plain, { n: 1 }, { idempotencyKey: "k" });
        expect(first.created).toBe(true);
        expect(await client.in(tx).enqueue(plain, { n: 2 }, { idempotencyKey: "k" })).toEqual({
          id: first.id,
          created: false,
        });
        const both = await client.in(tx).enqueueMany(plain, [
          { input: { n: 3 }, idempotencyKey: "before" },
          { input: { n: 4 }, idempotencyKey: "new" },
        ]);
        expect(both[0]).toEqual({ id: before.id, created: false });
        expect(both[1]!.created).toBe(true);
      });
      expect(await count()).toBe(3);
    });

    test("is refused by a limit with its error, and stays usable", async () => {
      const first = await client.enqueue(refusing, { user: "ann" });
      await client.enqueue(rated, { user: "ann" });
      await connected.transaction(async ({ tx }) => {
        const active = await failed(client.in(tx).enqueue(refusing, { user: "ann" }));
        expect(active).toMatchObject({ name: "ActiveLimitError", code: "FAIRMILL_ACTIVE_LIMIT", limit: 1 });
        expect(active).toMatchObject({ jobIds: [first.id] });
        const rate = await failed(client.in(tx).enqueue(rated, { user: "ann" }));
        expect(rate).toMatchObject({ name: "RateLimitError", code: "FAIRMILL_RATE_LIMIT", scope: "key" });
        expect((rate as { retryAt: Date }).retryAt.getTime()).toBeGreaterThan(Date.now());
        await client.in(tx).enqueue(refusing, { user: "bob" });
      });
      expect(await count()).toBe(3);
    });

    test("is refused by a unique key with the id of its holder, and stays usable; another replaces", async () => {
      const first = await client.enqueue(single, { user: "ann" });
      const waiting = await client.enqueue(latest, { user: "ann", n: 1 });
      await connected.transaction(async ({ tx }) => {
        const duplicate = { name: "DuplicateJobError", code: "FAIRMILL_DUPLICATE_JOB", jobId: first.id };
        expect(await failed(client.in(tx).enqueue(single, { user: "ann" }))).toMatchObject(duplicate);
        const list = [{ input: { user: "cleo" } }, { input: { user: "ann" } }];
        expect(await failed(client.in(tx).enqueueMany(single, list))).toMatchObject(duplicate);
        expect(await client.in(tx).enqueue(latest, { user: "ann", n: 2 })).toEqual({
          id: waiting.id,
          created: false,
          replaced: true,
        });
        await client.in(tx).enqueue(single, { user: "bob" });
      });
      expect((await client.job(waiting.id))?.payload).toEqual({ user: "ann", n: 2 });
      expect(await count()).toBe(3);
    });

    test("refuses a bad input before anything is sent, and stays usable", async () => {
      await connected.transaction(async ({ tx }) => {
        const error = await failed(client.in(tx).enqueue(plain, { n: Number.NaN }));
        expect(error).toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
        await client.in(tx).enqueue(plain, { n: 1 });
      });
      expect(await count()).toBe(1);
    });

    test("wakes a sleeping worker with its commit", async () => {
      // It asks by itself so rarely that only a notification can be in time.
      const worker = await startWorker(db.url, [handle(plain, () => {})], { poll: "1h" });
      try {
        const asleep = "select from fairmill.worker where state = 'alive' and listening";
        await waitUntil("the worker sleeps", async () => (await db.query(asleep)).length === 1);
        const settled = eventOf(worker, "settled");
        const { id } = await connected.transaction(({ tx }) => client.in(tx).enqueue(plain, { n: 1 }));
        expect((await settled).ids).toEqual([id]);
        expect(await client.job(id)).toMatchObject({ state: "done" });
      } finally {
        await worker.stop();
      }
    });

    test("ctx.complete(tx): the end of the job and what its handler wrote commit together, or neither does", async () => {
      await db.query("create table if not exists public.person (email text primary key)");
      const booked = defineJob({ kind: "booked", retry: { attempts: 2, backoff: fixed(0) } });
      const child = defineJob({ kind: "child", queue: "nursery" });
      await using _ = await startWorker(db.url, [
        handle(booked, async (ctx) => {
          await ctx.enqueue(child, { attempt: ctx.attempt });
          await connected.transaction(async ({ tx, run }) => {
            await run(`insert into public.person (email) values ('attempt ${ctx.attempt}')`);
            await ctx.complete(tx, AWKWARD);
            if (ctx.attempt === 1) throw new Error("second thoughts");
          });
        }),
      ]);
      const { id } = await client.enqueue(booked, {});
      expect(await client.result(id)).toEqual(AWKWARD);
      expect((await client.job(id))?.failures.map(({ error }) => error?.message)).toEqual(["second thoughts"]);
      expect(await db.query("select email from public.person")).toEqual([{ email: "attempt 2" }]);
      expect(await db.query("select payload from fairmill.job")).toEqual([{ payload: { attempt: 2 } }]);
      await db.query("drop table public.person");
    });

    test("ctx.complete(tx): what does not let its effects in has the same error as everywhere", async () => {
      const paid = defineJob({ kind: "paid", credits: { account: () => "poor", amount: 2 } });
      const booked = defineJob({ kind: "booked", retry: { attempts: 1 } });
      await client.credits.grant("poor", 1);
      await using _ = await startWorker(db.url, [
        handle(booked, async (ctx) => {
          await ctx.enqueue(paid, {});
          await connected.transaction(({ tx }) => ctx.complete(tx));
        }),
      ]);
      const { id } = await client.enqueue(booked, {});
      const { failures } = await endOf(client, id);
      expect(failures[0]?.error).toMatchObject({ code: "FAIRMILL_CREDITS_EXHAUSTED" });
      expect(await client.credits.balance("poor")).toEqual({ available: 1, reserved: 0 });
    });
    describeFailures({ db, client: () => client, connected: () => connected, connect });
  });
}
