// Steps in real workers: what is kept, what is done again, and what ends a run.
import { createClient, handle, LeaseLostError } from "fairmill";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endOf, eventOf, gate, startWorker } from "../support/jobs.js";
import { openPool } from "../support/open-pool.js";
import { openSession } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";
import { job, runOne } from "./step-runs.js";

const db = useDatabase();
const sum = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);

describe("a step", () => {
  test("B22: that succeeded is not done again when the job is; one that failed is", async () => {
    const calls: string[] = [];
    const { state, result, attempt, steps } = await runOne(db, async (ctx) => {
      const a = await ctx.step("a", () => calls.push("a"));
      const b = await ctx.step("b", async () => {
        calls.push("b");
        if (ctx.attempt === 1) throw new Error("not yet");
        return { b: true };
      });
      if (ctx.attempt === 2) throw new Error("again");
      return { a, b };
    });
    expect({ state, attempt, result }).toEqual({ state: "done", attempt: 3, result: { a: 1, b: { b: true } } });
    expect(calls).toEqual(["a", "b", "b"]);
    expect(steps).toMatchObject([
      { name: "a", kind: "run", position: 0, attempt: 1, result: 1 },
      { name: "b", kind: "run", position: 1, attempt: 2, result: { b: true } },
    ]);
  });

  test.each<[string, unknown, unknown]>([
    ["an object with a date", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["nothing", undefined, undefined],
    ["null", null, null],
    ["no number", Number.NaN, null],
    ["text that PostgreSQL refuses", "x\0\ud800", "x\ufffd\ufffd"],
    ["false", false, false],
  ])("gives the same in its own run and in the next: %s", async (_, value, given) => {
    const seen: unknown[] = [];
    await runOne(db, async (ctx) => {
      seen.push(await ctx.step("a", () => value));
      if (ctx.attempt === 1) throw new Error("again");
    });
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[1]).toEqual(given);
  });

  test.each<[string, () => unknown, RegExp]>([
    ["a function", () => () => 1, /a function is not JSON/],
    ["two megabytes", () => "a".repeat(2 ** 21), /more than 1048576 bytes/],
    ["a bigint", () => 5n, /BigInt/],
  ])("that returns %s ends the job: doing it again would cost again and not help", async (_, make, problem) => {
    const { state, attempt, error } = await runOne(db, (ctx) => ctx.step("a", make));
    expect({ state, attempt, code: error?.code }).toEqual({ state: "dead", attempt: 1, code: "FAIRMILL_STEP_RESULT" });
    expect(error?.message).toMatch(problem);
  });

  test("one more than a job may have is not begun", async () => {
    let calls = 0;
    const { error, steps } = await runOne(
      db,
      async (ctx) => {
        for (let n = 0; n < 4; n++) await ctx.step(`n${n}`, () => ++calls);
      },
      { stepsMax: 3 },
    );
    expect(error?.code).toBe("FAIRMILL_STEP_LIMIT");
    expect([calls, steps.length]).toEqual([3, 3]);
  });

  test("results that are larger together than they may be end the job", async () => {
    const { error, steps } = await runOne(
      db,
      async (ctx) => {
        for (let n = 0; n < 4; n++) await ctx.step(`n${n}`, () => "x".repeat(400));
      },
      { stepsBytesMax: 1_000 },
    );
    expect(error?.code).toBe("FAIRMILL_STEP_LIMIT");
    expect(steps).toHaveLength(2);
  });

  test.each(["", "ä".repeat(101), "a\0", 5 as unknown as string])("with the name %j is refused", async (name) => {
    const { failures } = await runOne(db, (ctx) => ctx.step(name, () => 1));
    expect(failures[0]?.error?.code).toBe("FAIRMILL_CONFIG");
  });

  test("that is not awaited is kept before the job ends; nothing is begun behind the end of the handler", async () => {
    const [begun, end, over] = [gate(), gate(), gate()];
    const outcome = gate<unknown>();
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [
      handle(job, async (ctx) => {
        ctx
          .step("stray", async () => {
            begun.open();
            await end.promise;
            return "paid";
          })
          .then(() => ctx.step("more", () => "never"))
          .catch(outcome.open);
        await begun.promise;
        setImmediate(over.open);
      }),
    ]);
    const { id } = await client.enqueue(job, {});
    await over.promise;
    expect((await client.job(id))?.state).toBe("running");
    end.open();
    expect(await outcome.promise).toBeInstanceOf(LeaseLostError);
    await endOf(client, id);
    expect(await client.jobs.steps(id)).toMatchObject([{ name: "stray", result: "paid" }]);
  });

  test("beside one that failed is kept, although the handler has ended", async () => {
    const counts = new Map<string, number>();
    const { attempt } = await runOne(db, async (ctx) => {
      const failed = gate();
      await Promise.all([
        ctx.step("paid", async () => {
          sum(counts, "paid");
          await failed.promise;
        }),
        ctx.step("failing", async () => {
          sum(counts, "failing");
          setImmediate(failed.open);
          if (ctx.attempt === 1) throw new Error("not yet");
        }),
      ]);
    });
    expect(attempt).toBe(2);
    expect(Object.fromEntries(counts)).toEqual({ paid: 1, failing: 2 });
  });

  test("nothing is read for a first run, and once for all steps of a later one", async () => {
    const reads: string[] = [];
    class Spied extends pg.Client {
      override query(...args: unknown[]) {
        const { text } = args[0] as { text?: string };
        if (text !== undefined && /from fairmill\.step /.test(text)) reads.push(text);
        return (super.query as (...args: unknown[]) => never).apply(this, args);
      }
    }
    const pool = openPool({ connectionString: db.url, application_name: "fairmill spied", Client: Spied });
    const client = createClient({ databaseUrl: db.url });
    const counts: number[] = [];
    const { createWorker, silentLogger } = await import("fairmill");
    const worker = await createWorker({
      db: pool,
      logger: silentLogger,
      handlers: [
        handle(job, async (ctx) => {
          for (const name of ["a", "b", "c"]) await ctx.step(name, () => name);
          counts.push(reads.length);
          if (ctx.attempt === 1) throw new Error("again");
        }),
      ],
    }).start();
    await endOf(client, (await client.enqueue(job, {})).id);
    await worker.stop();
    await client.close();
    await pool.end();
    expect(counts).toEqual([0, 1]);
  });

  test("P3: whose lease was lost is not kept; the signal aborts, and the run elsewhere stands", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const [begun, end] = [gate(), gate()];
    const seen = gate<unknown[]>();
    let runs = 0;
    await using worker = await startWorker(
      db.url,
      [
        handle(job, async (ctx) => {
          if (++runs > 1) return ctx.step("a", () => "second");
          try {
            await ctx.step("a", async () => {
              begun.open();
              await end.promise;
              return "first";
            });
          } catch (error) {
            seen.open([error, ctx.signal.reason]);
            throw error;
          }
          return undefined;
        }),
      ],
      { poll: "100ms" },
    );
    const { id } = await client.enqueue(job, {});
    await begun.promise;
    // Taken away behind its back, as after a lease that was lost and found.
    await db.query(
      "update fairmill.job set state = 'ready', worker = null, started_at = null, lease_no = lease_no + 1 where id = $1",
      [id],
    );
    const refused = eventOf(worker, "refused");
    end.open();
    for (const reason of await seen.promise) expect(reason).toBeInstanceOf(LeaseLostError);
    await refused;
    expect(await client.result(id)).toBe("second");
    expect(await client.jobs.steps(id)).toMatchObject([{ name: "a", result: "second" }]);
  });

  test("whose connection breaks while it is written is written again, once", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const begun = gate();
    const end = gate();
    let calls = 0;
    await using worker = await startWorker(db.url, [
      handle(job, (ctx) =>
        ctx.step("a", async () => {
          begun.open();
          await end.promise;
          return ++calls;
        }),
      ),
    ]);
    const { id } = await client.enqueue(job, {});
    await begun.promise;
    const holder = await openSession(db.url);
    await holder.query("begin");
    await holder.query("select from fairmill.job where id = $1 for update", [id]);
    const trouble = eventOf(worker, "trouble", ({ doing }) => doing === "keeping steps");
    end.open();
    await waitUntil("the write was cut off", async () => {
      const [row] = await db.query<{ n: number }>(
        `select count(pg_terminate_backend(pid))::integer as n from pg_stat_activity
         where datname = current_database() and query like '%store_step_v1%' and pid <> pg_backend_pid() and wait_event_type = 'Lock'`,
      );
      return row!.n > 0;
    });
    await trouble;
    await holder.query("rollback");
    await holder.close();
    expect(await client.result(id)).toBe(1);
    expect(await client.job(id)).toMatchObject({ attempt: 1, failures: [] });
  });

  test("is not begun in a run that was told to stop; what was being done is kept", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const begun = gate();
    const calls: string[] = [];
    await using _ = await startWorker(db.url, [
      handle(job, async (ctx) => {
        await ctx.step("a", async () => {
          begun.open();
          await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
          return calls.push("a");
        });
        await ctx.step("b", () => calls.push("b"));
      }),
    ]);
    const { id } = await client.enqueue(job, {});
    await begun.promise;
    await client.cancel(id);
    expect(await endOf(client, id)).toMatchObject({ state: "cancelled" });
    expect(calls).toEqual(["a"]);
    expect(await client.jobs.steps(id)).toMatchObject([{ name: "a" }]);
  });
});
