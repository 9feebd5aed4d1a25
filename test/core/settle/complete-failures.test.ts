// ctx.complete(tx) where something fails: the transaction, the handler, the lease, or what was asked for.
import { createClient, defineJob, handle, LeaseLostError, type Queryable } from "fairmill";
import { describe, expect, test } from "vitest";
import { claimsOf } from "../../../src/core/job/lease-no.js";
import { useDatabase } from "../../support/database.js";
import { endOf, eventOf, gate, inState, keepingLogger, startWorker } from "../../support/jobs.js";
import { book, child, completeRig, job } from "./complete-rig.js";

const db = useDatabase();
const { application, ended, ctxOver, transaction, bookings, children } = completeRig(db);

describe("ctx.complete(tx)", () => {
  test("a transaction that was rolled back, or never committed, fails the attempt; the next one books", async () => {
    for (const end of ["rollback", "nothing"]) {
      const { id, state, failures } = await ended(async (ctx) => {
        const tx = await application().connect();
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

  test("something that is no transaction is refused with the names of the adapters", async () => {
    const { failures } = await ended((ctx) => ctx.complete({} as Queryable));
    expect(failures[0]?.error).toMatchObject({ code: "FAIRMILL_CONFIG", message: expect.stringContaining("adapters") });
  });
});
