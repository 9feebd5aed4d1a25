// A job that is settled inside a transaction of its handler: what the handler wrote and the end of the job commit together.
import {
  createClient,
  createCodec,
  defineJob,
  fixed,
  handle,
  type JobContext,
  LeaseLostError,
  type Queryable,
  type WorkerOptions,
} from "fairmill";
import { JobCompletedError } from "fairmill/errors";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimsOf } from "../../../src/core/job/lease-no.js";
import { useDatabase } from "../../support/database.js";
import { endOf, eventOf, gate, inState, keepingLogger, startWorker } from "../../support/jobs.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const job = defineJob({ kind: "booked", retry: { attempts: 2, backoff: fixed(0) } });
const child = defineJob<{ n: number }>({ kind: "child", queue: "nursery" });

let pool: pg.Pool;
beforeEach(async () => {
  await db.query("create table public.booking (job bigint not null, attempt integer not null)");
  pool = new pg.Pool({ connectionString: db.url, application_name: "application" });
});
afterEach(async () => {
  await pool.end();
  await db.query("drop table public.booking");
});

type Options = Omit<WorkerOptions, "handlers" | "databaseUrl">;

async function ended(run: (ctx: JobContext) => unknown, options: Options = {}, definition = job) {
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [handle(definition, run)], options);
  const { id } = await client.enqueue(definition, {});
  return await endOf(client, id);
}

/** A transaction of the application. */
async function transaction(work: (tx: pg.PoolClient) => Promise<unknown>, begin = "begin"): Promise<void> {
  const tx = await pool.connect();
  try {
    await tx.query(begin);
    await work(tx);
    await tx.query("commit");
  } catch (error) {
    await tx.query("rollback");
    throw error;
  } finally {
    tx.release();
  }
}

const book = (tx: Queryable, ctx: JobContext) =>
  tx.query("insert into public.booking (job, attempt) values ($1, $2)", [ctx.id, ctx.attempt]);
const bookings = () => db.query("select job, attempt from public.booking order by attempt");
const children = async () => (await db.query("select from fairmill.job where kind = 'child'")).length;

describe("ctx.complete(tx)", () => {
  test("whatever comes after it rejects, and does not throw where a promise was promised", async () => {
    const told: unknown[] = [];
    const { state } = await ended(async (ctx) => {
      await transaction((tx) => ctx.complete(tx));
      const calls = [
        () => ctx.complete(pool),
        () => ctx.step("late", () => 1),
        () => ctx.sleep("late", 1),
        () => ctx.waitFor("late"),
        () => ctx.enqueue(child, { n: 1 }),
        () => ctx.publish("late", {}),
      ];
      const promises = calls.map((call) => call());
      // This one is not awaited: that must not end the process.
      void ctx.complete(pool);
      told.push(...(await Promise.allSettled(promises)).map(({ status, ...rest }) => [status, rest]));
    });
    expect(state).toBe("done");
    expect(told).toEqual(Array.from({ length: 6 }, () => ["rejected", { reason: expect.any(JobCompletedError) }]));
  });

  test("settles the job with the transaction: result, effects and credits", async () => {
    const paid = defineJob({ kind: "booked", credits: { account: () => "u1", amount: 2 } });
    await using client = createClient({ databaseUrl: db.url });
    await client.credits.grant("u1", 5);
    let during: unknown;
    const { id, state, result, attempt } = await ended(
      async (ctx) => {
        await ctx.enqueue(child, { n: 1 });
        await transaction(async (tx) => {
          await book(tx, ctx);
          await ctx.complete(tx, { booked: true });
          during = [(await client.job(ctx.id))?.state, await children()];
        });
        return "is not the result";
      },
      {},
      paid,
    );
    expect({ state, result, attempt, during }).toEqual({
      state: "done",
      result: { booked: true },
      attempt: 1,
      during: ["running", 0],
    });
    expect(await bookings()).toEqual([{ job: id, attempt: 1 }]);
    expect(await children()).toBe(1);
    expect(await client.credits.balance("u1")).toEqual({ available: 3, reserved: 0 });
  });

  test("a transaction that was rolled back, or never committed, fails the attempt; the next one books", async () => {
    for (const end of ["rollback", "nothing"]) {
      const { id, state, failures } = await ended(async (ctx) => {
        const tx = await pool.connect();
        await tx.query("begin");
        await book(tx, ctx);
        await ctx.enqueue(child, { n: 1 });
        await ctx.complete(tx);
        if (ctx.attempt === 2) await tx.query("commit");
        else if (end === "rollback") await tx.query("rollback");
        else void ctxOver(ctx).then(() => tx.query("rollback").then(() => tx.release()));
        if (end === "rollback" || ctx.attempt === 2) tx.release();
      });
      expect(state).toBe("done");
      expect(failures.map(({ error }) => error?.code)).toEqual(["FAIRMILL_NOT_COMMITTED"]);
      expect(await bookings()).toContainEqual({ job: id, attempt: 2 });
    }
    expect(await bookings()).toHaveLength(2);
    expect(await children()).toBe(2);
  });

  test("a handler that throws after the commit: the job is done, and a warning says so", async () => {
    const logger = keepingLogger();
    const { id, state, failures } = await ended(
      async (ctx) => {
        await transaction(async (tx) => {
          await book(tx, ctx);
          await ctx.complete(tx);
        });
        throw new Error("too late");
      },
      { logger },
    );
    expect({ state, failures }).toEqual({ state: "done", failures: [] });
    expect(await bookings()).toEqual([{ job: id, attempt: 1 }]);
    expect(logger.lines).toContainEqual(
      expect.objectContaining({ level: "warn", facts: expect.objectContaining({ job: id, error: "too late" }) }),
    );
  });

  test("a handler that throws before the commit has failed with its own error", async () => {
    const { state, failures } = await ended((ctx) =>
      transaction(async (tx) => {
        await book(tx, ctx);
        await ctx.complete(tx);
        if (ctx.attempt === 1) throw new Error("second thoughts");
      }),
    );
    expect(state).toBe("done");
    expect(failures.map(({ error }) => error?.message)).toEqual(["second thoughts"]);
    expect(await bookings()).toMatchObject([{ attempt: 2 }]);
  });

  test("P3: with a lost lease it throws LeaseLostError, and nothing is booked", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const stuck = gate();
    const thrown: unknown[] = [];
    await using worker = await startWorker(db.url, [
      handle(job, async (ctx) => {
        if (claimsOf(ctx.leaseNo) === 1) await stuck.promise;
        await transaction(async (tx) => {
          await book(tx, ctx);
          await ctx.complete(tx);
        }).catch((error: unknown) => {
          thrown.push(error);
          throw error;
        });
      }),
    ]);
    const { id } = await client.enqueue(job, {});
    await inState(client, id, "running");
    const refused = eventOf(worker, "refused");
    await db.query(
      "update fairmill.job set lease_no = lease_no + 1, worker = null, started_at = null, state = 'scheduled', aside = 'scheduled', run_at = now() + interval '1 hour' where id = $1",
      [id],
    );
    stuck.open();
    await refused;
    expect(thrown).toEqual([expect.any(LeaseLostError)]);
    expect(await bookings()).toEqual([]);
    await client.retry(id);
    expect((await endOf(client, id)).state).toBe("done");
    expect(await bookings()).toHaveLength(1);
  });

  test("afterwards nothing more can be said of the job", async () => {
    const errors: unknown[] = [];
    const { state } = await ended(async (ctx) => {
      const tries = [
        () => ctx.enqueue(child, { n: 1 }),
        () => ctx.publish("telegram", {}),
        () => ctx.step("a", () => 1),
        () => ctx.sleep("b", 1),
        () => ctx.waitFor("c"),
        () => ctx.progress(1),
        () => ctx.complete(pool),
      ];
      await transaction(async (tx) => {
        await ctx.complete(tx);
        for (const attempt of tries) await (async () => attempt())().catch((error: unknown) => errors.push(error));
      });
    });
    expect(state).toBe("done");
    expect(errors).toEqual(Array(7).fill(expect.any(JobCompletedError)));
    expect(await children()).toBe(0);
  });

  test("effects that are refused: a typed error, the transaction rolls back, the attempt has failed whatever is caught", async () => {
    const paid = defineJob({ kind: "child", credits: { account: () => "poor", amount: 1 } });
    const { state, failures } = await ended(async (ctx) => {
      await ctx.enqueue(paid, {});
      await transaction(async (tx) => {
        await book(tx, ctx);
        await ctx.complete(tx);
      }).catch(() => {});
    });
    expect(state).toBe("dead");
    expect(failures.map(({ error }) => error?.code)).toEqual(Array(2).fill("FAIRMILL_CREDITS_EXHAUSTED"));
    expect(await bookings()).toEqual([]);
  });

  test.each(["repeatable read", "serializable"])(
    "in a %s transaction: a typed error, and no second try",
    async (level) => {
      const { state, attempt, failures } = await ended((ctx) =>
        // Caught or not: a handler that goes on has not done what it said.
        transaction((tx) => ctx.complete(tx), `begin isolation level ${level}`).catch(() => {}),
      );
      expect({ state, attempt }).toEqual({ state: "dead", attempt: 1 });
      expect(failures[0]?.error?.code).toBe("FAIRMILL_ISOLATION");
    },
  );

  test("may be tried again in another transaction where it failed", async () => {
    const { id, state, attempt } = await ended(async (ctx) => {
      const tries = ["begin isolation level serializable", "begin"];
      for (const begin of tries)
        await transaction(async (tx) => {
          await book(tx, ctx);
          await ctx.complete(tx);
        }, begin).catch(() => {});
    });
    expect({ state, attempt }).toEqual({ state: "done", attempt: 1 });
    expect(await bookings()).toEqual([{ job: id, attempt: 1 }]);
  });

  test("without a transaction of its own it counts at once", async () => {
    const { state, result } = await ended((ctx) => ctx.complete(pool, 7));
    expect({ state, result }).toEqual({ state: "done", result: 7 });
  });

  test("something that is no transaction is refused with the names of the adapters", async () => {
    const { failures } = await ended((ctx) => ctx.complete({} as Queryable));
    expect(failures[0]?.error).toMatchObject({ code: "FAIRMILL_CONFIG", message: expect.stringContaining("adapters") });
  });

  test("S14: seals the result", async () => {
    const codec = createCodec({ keys: { a: Buffer.alloc(32).toString("base64") }, current: "a" });
    await using client = createClient({ databaseUrl: db.url, codec });
    await using _ = await startWorker(db.url, [handle(job, (ctx) => ctx.complete(pool, "hidden"))], { codec });
    const { id } = await client.enqueue(job, {});
    expect(await client.result(id)).toBe("hidden");
    const rows = await db.query("select result from fairmill.job_history");
    expect(JSON.stringify(rows)).not.toContain("hidden");
  });

  test("while the transaction is open, progress and settles of other jobs do not wait for it", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const other = defineJob({ kind: "other", retry: { attempts: 1 } });
    const open = gate();
    const begun = gate();
    const completed = gate();
    await using _ = await startWorker(db.url, [
      handle(job, async (ctx) => {
        await begun.promise;
        // What both report would be written together.
        ctx.progress("half");
        await transaction(async (tx) => {
          await ctx.complete(tx);
          completed.open();
          await open.promise;
        });
      }),
      handle(other, async (ctx) => {
        begun.open();
        await completed.promise;
        ctx.progress("here");
        await waitUntil("the progress is kept", async () => (await client.job(ctx.id))?.progress === "here");
        return "done";
      }),
    ]);
    const { id } = await client.enqueue(job, {});
    const { id: beside } = await client.enqueue(other, {});
    expect(await client.result(beside)).toBe("done");
    open.open();
    expect((await endOf(client, id)).state).toBe("done");
  });

  test("the worker goes on: it tells that the job is settled, and finds what was enqueued", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const next = defineJob({ kind: "next" });
    await using worker = await startWorker(
      db.url,
      [
        handle(job, async (ctx) => {
          await ctx.enqueue(next, {}, { tenant: "new" });
          await transaction((tx) => ctx.complete(tx));
        }),
        handle(next, () => "found"),
      ],
      { poll: "1h", concurrency: 1 },
    );
    const settled = eventOf(worker, "settled");
    const { id } = await client.enqueue(job, {});
    expect((await settled).ids).toEqual([id]);
    const [row] = await waitUntil("the next is done", async () => {
      const rows = await db.query<{ id: string }>("select id from fairmill.job_history where kind = 'next'");
      return rows.length > 0 ? rows : undefined;
    });
    expect(await client.result(row!.id)).toBe("found");
  });
});

/** Resolves when the run of this context was given up or has ended: its attempt failed, says the database, or waits to say so. */
async function ctxOver(ctx: JobContext): Promise<void> {
  await waitUntil("the settle waits for the open transaction", async () => {
    const rows = await db.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%settle_v1%'",
    );
    return rows.length > 0 || ctx.signal.aborted;
  });
}
