// Effects that are refused: the attempt fails with the reason, and no other job is touched.
import { createClient, defineJob, handle } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { endOf, gate, startWorker } from "../../support/jobs.js";
import { openSession } from "../../support/sql/sessions.js";
import { waitUntil } from "../../support/wait.js";
import { child, effectsRig, parent } from "./effects-rig.js";

const db = useDatabase();
const { ended, numbers } = effectsRig(db);

describe("effects that are refused", () => {
  test("fail the attempt with the typed error: it is retried, and settled when there is room", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const paid = defineJob({ kind: "child", queue: "nursery", credits: { account: () => "u1", amount: 1 } });
    await using _ = await startWorker(db.url, [
      handle(parent, async (ctx) => {
        if (ctx.attempt === 2) await client.credits.grant("u1", 1);
        await ctx.enqueue(paid, { n: 1 });
        return ctx.attempt;
      }),
    ]);
    const { id } = await client.enqueue(parent, {});
    const job = await endOf(client, id);
    expect(job).toMatchObject({ state: "done", attempt: 2, result: 2 });
    expect(job.failures.map(({ error }) => error?.code)).toEqual(["FAIRMILL_CREDITS_EXHAUSTED"]);
    expect(await client.credits.balance("u1")).toEqual({ available: 0, reserved: 1 });
  });

  test("concern only the job that asked: neighbours of its group are settled", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await client.kinds.set("child", { rate: { limit: 1, per: "1h", at: "enqueue" } });
    const all = gate();
    let begun = 0;
    const one = defineJob({ kind: "parent", retry: { attempts: 1 } });
    await using _ = await startWorker(db.url, [
      handle(one, async (ctx) => {
        if (++begun === 5) all.open();
        await all.promise;
        await ctx.enqueue(begun > 0 && Number(ctx.id) % 2 === 0 ? child : { ...child, kind: "cousin" }, { n: 1 });
      }),
    ]);
    const jobs = await client.enqueueMany(one, Array(5).fill({ input: {} }));
    const ends = await Promise.all(jobs.map(({ id }) => endOf(client, id)));
    const even = ends.filter(({ id }) => Number(id) % 2 === 0);
    expect(ends.filter((end) => !even.includes(end)).map(({ state }) => state)).toEqual(
      Array(5 - even.length).fill("done"),
    );
    expect(even.map(({ state }) => state).toSorted()).toEqual([...Array(even.length - 1).fill("dead"), "done"]);
    expect(await numbers()).toHaveLength(1);
  });

  test("by the database itself: the attempt fails with its message, and the worker goes on", async () => {
    await db.query(
      `create function public.no_children() returns trigger language plpgsql as $$ begin raise exception 'no child is wanted here'; end $$`,
    );
    await db.query(
      "create trigger no_children before insert on fairmill.job for each row when (new.kind = 'child') execute function public.no_children()",
    );
    try {
      const { state, failures } = await ended(
        (ctx) => ctx.enqueue(child, { n: 1 }),
        {},
        defineJob({ kind: "parent", retry: { attempts: 1 } }),
      );
      expect(state).toBe("dead");
      expect(failures[0]?.error).toMatchObject({
        code: "FAIRMILL_EFFECTS_FAILED",
        message: expect.stringContaining("no child is wanted here"),
      });
    } finally {
      await db.query("drop trigger no_children on fairmill.job");
      await db.query("drop function public.no_children()");
    }
  });

  test("while effects wait for a caller's transaction, plain settles do not", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const plain = defineJob({ kind: "plain" });
    await using _ = await startWorker(db.url, [
      handle(parent, (ctx) => ctx.enqueue(child, { n: 1 }, { idempotencyKey: "k" })),
      handle(plain, () => "done"),
    ]);
    const caller = await openSession(db.url);
    try {
      await caller.query("begin");
      await caller.query(`select fairmill.enqueue_v1('child', '{"n": 0}', queue => 'nursery', idempotency_key => 'k')`);
      // As many as may be on their way at once.
      const ids: string[] = [];
      for (const count of [1, 2]) {
        ids.push((await client.enqueue(parent, {})).id);
        await waitUntil("the settle waits", async () => {
          const rows = await db.query(
            "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%settle_v1%'",
          );
          return rows.length === count;
        });
      }
      const { id: other } = await client.enqueue(plain, {});
      expect(await client.result(other)).toBe("done");
      for (const id of ids) expect((await client.job(id))?.state).toBe("running");
      await caller.query("rollback");
      for (const id of ids) expect((await endOf(client, id)).state).toBe("done");
      expect(await numbers()).toEqual([1]);
    } finally {
      await caller.close();
    }
  });
});
