// What handlers ask for while they run: stored with the settle of a run that returned, once, and with no other.
import { cancel, createClient, createCodec, defineJob, handle, LeaseLostError, snooze } from "fairmill";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { claimsOf } from "../../../src/core/job/lease-no.js";
import { useDatabase } from "../../support/database.js";
import { endOf, eventOf, gate, inState, startWorker, untilAborted } from "../../support/jobs.js";
import { waitUntil } from "../../support/wait.js";
import { child, effectsRig, parent, type Run } from "./effects-rig.js";

const db = useDatabase();
const { ended, children, numbers } = effectsRig(db);

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
