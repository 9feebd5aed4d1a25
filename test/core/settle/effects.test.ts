// What handlers ask for while they run: stored with the settle of a run that returned, once, and with no other.
import {
  cancel,
  createClient,
  createCodec,
  defineJob,
  fixed,
  handle,
  type JobContext,
  LeaseLostError,
  snooze,
  type WorkerOptions,
} from "fairmill";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { claimsOf } from "../../../src/core/job/lease-no.js";
import { useDatabase } from "../../support/database.js";
import { endOf, eventOf, gate, inState, startWorker, untilAborted } from "../../support/jobs.js";
import { openSession } from "../../support/sql/sessions.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const parent = defineJob({ kind: "parent", retry: { attempts: 3, backoff: fixed(0) } });
/** In a queue without a worker, so that the children stay. */
const child = defineJob<{ n: number }>({ kind: "child", queue: "nursery" });

type Run = (ctx: JobContext) => unknown;
type Options = Omit<WorkerOptions, "handlers" | "databaseUrl">;

/** Runs one job with this handler until it has ended. */
async function ended(run: Run, options: Options = {}, definition = parent) {
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [handle(definition, run)], options);
  const { id } = await client.enqueue(definition, {}, { tenant: "acme" });
  return await endOf(client, id);
}

interface Row {
  readonly n: number;
  readonly tenant: string;
  readonly state: string;
}
const children = () =>
  db.query<Row & Record<string, unknown>>(
    "select (payload ->> 'n')::integer as n, tenant, state from fairmill.job where kind = 'child' order by id",
  );
const numbers = async () => (await children()).map(({ n }) => n);

describe("ctx.enqueue", () => {
  test("stores the jobs with the settle, in the tenant of the job unless told otherwise", async () => {
    const before: number[] = [];
    const { state } = await ended(async (ctx) => {
      expect(await ctx.enqueue(child, { n: 1 })).toBeUndefined();
      await ctx.enqueue(child, { n: 2 }, { tenant: "other", delay: "1h" });
      before.push(...(await numbers()));
    });
    expect({ state, before }).toEqual({ state: "done", before: [] });
    expect(await children()).toEqual([
      { n: 1, tenant: "acme", state: "ready" },
      { n: 2, tenant: "other", state: "scheduled" },
    ]);
  });

  test("counts when the handler returned cancel or snooze, each time", async () => {
    await ended((ctx) => {
      const run = claimsOf(ctx.leaseNo);
      ctx.enqueue(child, { n: run });
      return run < 3 ? snooze(0) : cancel();
    });
    expect(await numbers()).toEqual([1, 2, 3]);
  });

  test("is dropped with an attempt that threw; the one that returned counts", async () => {
    const { attempt } = await ended(async (ctx) => {
      await ctx.enqueue(child, { n: ctx.attempt });
      if (ctx.attempt < 3) throw new Error("not yet");
    });
    expect(attempt).toBe(3);
    expect(await numbers()).toEqual([3]);
  });

  test("is dropped when the time is over", async () => {
    const short = defineJob({ kind: "parent", timeout: 100, retry: { attempts: 1 } });
    const { state } = await ended(
      async (ctx) => {
        await ctx.enqueue(child, { n: 1 });
        await untilAborted(ctx.signal);
      },
      {},
      short,
    );
    expect(state).toBe("dead");
    expect(await numbers()).toEqual([]);
  });

  test("is asked for once where the run slept: the one that returns", async () => {
    await ended(async (ctx) => {
      await ctx.enqueue(child, { n: 1 });
      await ctx.sleep("a moment", 1);
      await ctx.enqueue(child, { n: 2 });
    });
    expect(await numbers()).toEqual([1, 2]);
  });

  test("P3: is not stored when the lease was lost, and stored once by who has it", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const stuck = gate();
    await using worker = await startWorker(db.url, [
      handle(parent, async (ctx) => {
        await ctx.enqueue(child, { n: 1 });
        if (claimsOf(ctx.leaseNo) === 1) await stuck.promise;
      }),
    ]);
    const { id } = await client.enqueue(parent, {});
    await inState(client, id, "running");
    const refused = eventOf(worker, "refused");
    // Taken away, as by a recovery, and kept from running again for now.
    await db.query(
      "update fairmill.job set lease_no = lease_no + 1, worker = null, started_at = null, state = 'scheduled', aside = 'scheduled', run_at = now() + interval '1 hour' where id = $1",
      [id],
    );
    stuck.open();
    await refused;
    expect(await numbers()).toEqual([]);
    await client.retry(id);
    await endOf(client, id);
    expect(await numbers()).toEqual([1]);
  });

  test("validates like a client; a call that is refused fails the attempt, awaited or not, caught or not", async () => {
    const strict = defineJob({ kind: "strict", input: z.object({ n: z.number() }), queue: "nursery" });
    const slow = defineJob({
      kind: "strict",
      queue: "nursery",
      input: z.object({ n: z.number() }).refine(async () => true),
    });
    const wrong = { n: "x" } as unknown as { n: number };
    const runs: Run[] = [
      (ctx) => ctx.enqueue(strict, wrong),
      (ctx) => void ctx.enqueue(strict, wrong),
      (ctx) => void ctx.enqueue(slow, wrong),
      (ctx) => ctx.enqueue(strict, wrong).catch(() => {}),
    ];
    for (const run of runs) {
      const { state, failures } = await ended(run, {}, defineJob({ kind: "parent", retry: { attempts: 1 } }));
      expect(state).toBe("dead");
      expect(failures[0]?.error?.code).toBe("FAIRMILL_INPUT_INVALID");
    }
    const { failures } = await ended((ctx) => ctx.enqueue(strict, { n: 1 }, { tenat: "x" } as object));
    expect(failures[0]?.error?.code).toBe("FAIRMILL_CONFIG");
    await ended((ctx) => void ctx.enqueue(slow, { n: 7 }));
    expect(await db.query("select payload from fairmill.job where kind = 'strict'")).toEqual([{ payload: { n: 7 } }]);
  });

  test("is bounded in number and in size", async () => {
    const many = await ended(
      async (ctx) => {
        for (let n = 0; n < 4; n++) await ctx.enqueue(child, { n });
      },
      { effectsMax: 3 },
    );
    const large = await ended((ctx) => ctx.enqueue(child, { n: 1, text: "x".repeat(100) } as { n: number }), {
      effectsBytesMax: 100,
    });
    for (const { state, attempt, failures } of [many, large]) {
      expect({ state, attempt }).toEqual({ state: "dead", attempt: 1 });
      expect(failures[0]?.error?.code).toBe("FAIRMILL_EFFECTS_LIMIT");
    }
    expect(await numbers()).toEqual([]);
  });

  test("S14: seals the payload", async () => {
    const codec = createCodec({ keys: { a: Buffer.alloc(32).toString("base64") }, current: "a" });
    await using client = createClient({ databaseUrl: db.url, codec });
    const secret = defineJob<{ text: string }>({ kind: "secret" });
    await using _ = await startWorker(
      db.url,
      [handle(parent, (ctx) => ctx.enqueue(secret, { text: "hidden" })), handle(secret, (ctx) => ctx.input.text)],
      { codec },
    );
    await client.enqueue(parent, {});
    const [row] = await waitUntil("the child is done", async () => {
      const rows = await db.query<{ id: string; payload: unknown }>(
        "select id, payload from fairmill.job_history where kind = 'secret'",
      );
      return rows.length > 0 ? rows : undefined;
    });
    expect(JSON.stringify(row!.payload)).not.toContain("hidden");
    expect(await client.result(row!.id)).toBe("hidden");
  });

  test("a new lane is found by this worker at once, without a poll", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const near = defineJob<{ left: number }>({ kind: "near", queue: "near" });
    let ran = 0;
    await using _ = await startWorker(
      db.url,
      [
        handle(near, (ctx) => {
          ran++;
          const { left } = ctx.input;
          if (left > 0) return ctx.enqueue(near, { left: left - 1 }, { tenant: `t${left}`, priority: left });
        }),
      ],
      { poll: "1h" },
    );
    await client.enqueue(near, { left: 10 });
    await waitUntil("the last has run", () => ran === 11);
  });

  test("tells the database the limits of a kind that no worker here handles", async () => {
    const single = defineJob({ kind: "single", queue: "nursery", limits: { active: 1, whenActive: "refuse" } });
    const { state, failures } = await ended(async (ctx) => {
      await ctx.enqueue(single, {});
      await ctx.enqueue(single, {});
    });
    expect(state).toBe("dead");
    expect(failures.map(({ error }) => error?.code)).toEqual(Array(3).fill("FAIRMILL_ACTIVE_LIMIT"));
    expect(await db.query("select from fairmill.job where kind = 'single'")).toEqual([]);
  });

  test("a handler that goes on after its run was decided is told so", async () => {
    const late = gate<unknown>();
    const { state } = await ended(
      async (ctx) => {
        await untilAborted(ctx.signal).catch(() => {});
        await waitUntil("it was given up", async () => (await db.query("select from fairmill.job")).length === 0);
        late.open(await ctx.enqueue(child, { n: 1 }).catch((error: unknown) => error));
      },
      { abortGrace: 1 },
      defineJob({ kind: "parent", timeout: 50, retry: { attempts: 1 } }),
    );
    expect(state).toBe("dead");
    expect(await late.promise).toBeInstanceOf(LeaseLostError);
    expect(await numbers()).toEqual([]);
  });
});

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

describe("ctx.publish", () => {
  const messages = () =>
    db.query(
      "select channel, tenant, idempotency_key as key, order_key, payload, status from fairmill.outbox order by id",
    );

  test("stores the message with the settle, under a key that belongs to the job and the call", async () => {
    const { id } = await ended(async (ctx) => {
      await ctx.publish("telegram", { text: `attempt ${ctx.attempt}` });
      await ctx.publish("telegram", { text: "named" }, { idempotencyKey: "mine", tenant: "other", orderKey: "chat" });
      if (ctx.attempt === 1) throw new Error("not yet");
    });
    expect(await messages()).toEqual([
      {
        channel: "telegram",
        tenant: "acme",
        key: `job-${id}-1`,
        order_key: null,
        payload: { text: "attempt 2" },
        status: "pending",
      },
      {
        channel: "telegram",
        tenant: "other",
        key: "mine",
        order_key: "chat",
        payload: { text: "named" },
        status: "pending",
      },
    ]);
  });

  test("a run that is settled later publishes the same message once", async () => {
    await ended(async (ctx) => {
      const run = claimsOf(ctx.leaseNo);
      await ctx.publish("telegram", { run });
      if (run === 1) return snooze(0);
    });
    expect(await messages()).toMatchObject([{ payload: { run: 1 } }]);
  });

  test("options and payloads that cannot be are refused", async () => {
    for (const run of [
      (ctx: JobContext) => ctx.publish("", {}),
      (ctx: JobContext) => ctx.publish("telegram", {}, { chat: 7 } as object),
      (ctx: JobContext) => ctx.publish("telegram", {}, { runAt: new Date(), delay: 1 }),
      (ctx: JobContext) => ctx.publish("telegram", {}, { idempotencyKey: "" }),
    ])
      expect((await ended(run)).failures[0]?.error?.code).toBe("FAIRMILL_CONFIG");
    expect((await ended((ctx) => ctx.publish("telegram", () => 1))).failures[0]?.error?.code).toBe(
      "FAIRMILL_INPUT_INVALID",
    );
    expect(await messages()).toEqual([]);
  });

  test("a limit of its channel that refuses at enqueue fails the attempt", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await client.kinds.set("fairmill.deliver.telegram", { rate: { limit: 1, per: "1h", at: "enqueue" } });
    const { state, failures } = await ended(async (ctx) => {
      await ctx.publish("telegram", { n: 1 });
      await ctx.publish("telegram", { n: 2 });
    });
    expect(state).toBe("dead");
    expect(failures[0]?.error?.code).toBe("FAIRMILL_RATE_LIMIT");
    expect(await messages()).toEqual([]);
  });
});
