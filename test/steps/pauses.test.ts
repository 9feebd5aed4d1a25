// Sleeps and waits in real workers: what frees the slot, what goes on where, and what ends a wait.
import { createClient, defineJob, handle } from "fairmill";
import type { WaitTimeoutError } from "fairmill/errors";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { claimsOf } from "../../src/core/job/lease-no.js";
import { withoutTimersOf } from "../support/clocks.js";
import { useDatabase } from "../support/database.js";
import { endOf, eventOf, inState, startWorker } from "../support/jobs.js";
import { claimNo } from "../support/lease-no.js";
import { waitUntil } from "../support/wait.js";
import { job, type Run, runOne } from "./step-runs.js";

const db = useDatabase();

const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe("a sleep", () => {
  test("frees the slot, spends no attempt and no time limit, and goes on behind its line", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const short = defineJob({ kind: "short", timeout: 250 });
    const order: string[] = [];
    await using _ = await startWorker(
      db.url,
      [
        handle(short, async (ctx) => {
          order.push(`run ${ctx.attempt}`);
          await ctx.sleep("nap", 600);
          order.push("awake");
        }),
        handle(job, () => void order.push("other")),
      ],
      { concurrency: 1 },
    );
    const { id } = await client.enqueue(short, {});
    await inState(client, id, "scheduled");
    await endOf(client, (await client.enqueue(job, {})).id);
    expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1, failures: [] });
    expect(order).toEqual(["run 1", "other", "run 1", "awake"]);
  });

  test("cannot be swallowed: a handler that catches it and goes on has no say, and what it has to clean up is cleaned up", async () => {
    const seen: string[] = [];
    const { state, result } = await runOne(db, async (ctx) => {
      try {
        await ctx.sleep("nap", 100);
      } catch (error) {
        seen.push((error as { code: string }).code, (ctx.signal.reason as { code: string }).code);
        await ctx.step("no", () => seen.push("never")).catch((other) => seen.push(other.code));
        return "swallowed";
      } finally {
        seen.push("cleaned up");
      }
      return "slept";
    });
    expect({ state, result }).toEqual({ state: "done", result: "slept" });
    expect(seen).toEqual(["FAIRMILL_PAUSED", "FAIRMILL_PAUSED", "FAIRMILL_PAUSED", "cleaned up", "cleaned up"]);
  });

  test("beside a step waits for it: its result is kept, and it is not done again", async () => {
    let calls = 0;
    const { result } = await runOne(db, async (ctx) => {
      const [value] = await Promise.all([
        ctx.step("slow", async () => {
          await later(50);
          return ++calls;
        }),
        ctx.sleep("nap", 100),
      ]);
      return value;
    });
    expect([result, calls]).toEqual([1, 1]);
  });

  test("of no time passes at once", async () => {
    const { result, leaseNo } = await runOne(db, async (ctx) => {
      await ctx.sleep("nap", 0);
      return "awake";
    });
    expect({ result, leaseNo }).toEqual({ result: "awake", leaseNo: claimNo(1) });
  });

  test("can be cancelled", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(job, (ctx) => ctx.sleep("nap", "1h"))]);
    const { id } = await client.enqueue(job, {});
    await inState(client, id, "scheduled");
    expect(await client.cancel(id)).toBe("cancelled");
  });
});

describe("a wait", () => {
  const waiting: Run = async (ctx) => ({ got: await ctx.waitFor("go") });

  test("is given the value of the signal, at once when a worker sleeps", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(job, waiting)], { clock: withoutTimersOf(1_000) });
    const { id } = await client.enqueue(job, {});
    await eventOf(worker, "idle", () => true);
    await inState(client, id, "scheduled");
    expect(await client.signal(id, "go", { n: 1 })).toBe("sent");
    expect(await client.result(id)).toEqual({ got: { n: 1 } });
    expect(await client.signal(id, "go", 2)).toBe("ended");
    expect(await client.job(id)).toMatchObject({ attempt: 1, failures: [] });
  });

  test("keeps what was reported right before it: that is what the job asks", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const asking: Run = async (ctx) => {
      ctx.progress({ question: "Go?" });
      return ctx.waitFor("go");
    };
    await using _ = await startWorker(db.url, [handle(job, asking)]);
    const { id } = await client.enqueue(job, {});
    await inState(client, id, "scheduled");
    expect((await client.job(id))?.progress).toEqual({ question: "Go?" });
  });

  test("whose signal came before is over at once", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const { id } = await client.enqueue(job, {});
    expect(await client.signal(id, "go", "early")).toBe("sent");
    await using _ = await startWorker(db.url, [handle(job, waiting)]);
    expect(await client.result(id)).toEqual({ got: "early" });
    expect(await client.job(id)).toMatchObject({ leaseNo: claimNo(1) });
  });

  test("is over with the commit of the transaction that sends the signal", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(job, waiting)]);
    const { id } = await client.enqueue(job, {});
    await inState(client, id, "scheduled");
    const tx = new pg.Client(db.url);
    await tx.connect();
    await tx.query("begin");
    expect(await client.in(tx).signal(id, "go", "from a transaction")).toBe("sent");
    expect((await client.job(id))?.state).toBe("scheduled");
    await tx.query("commit");
    await tx.end();
    expect(await client.result(id)).toEqual({ got: "from a transaction" });
  });

  test("ends by its time with an error that ends the job, now and whenever it is run again", async () => {
    const { state, error, attempt, steps } = await runOne(db, (ctx) => ctx.waitFor("go", { timeout: 100 }));
    expect({ state, attempt, code: error?.code }).toEqual({ state: "dead", attempt: 1, code: "FAIRMILL_WAIT_TIMEOUT" });
    expect(steps).toMatchObject([{ name: "go", kind: "wait", signalledAt: null, finishedAt: expect.any(Date) }]);
  });

  test("whose end the handler catches goes on another way, the same in every run", async () => {
    const { result } = await runOne(db, async (ctx) => {
      const answer = await ctx.waitFor("go", { timeout: 50 }).catch((error: WaitTimeoutError) => error.step);
      await ctx.step("after", () => answer);
      if (ctx.attempt < 3) throw new Error("again");
      return answer;
    });
    expect(result).toBe("go");
  });

  test("two at once: each is given its own, in whatever order they come", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [
      handle(job, (ctx) => Promise.all([ctx.waitFor("a"), ctx.waitFor("b")])),
    ]);
    const { id } = await client.enqueue(job, {});
    await inState(client, id, "scheduled");
    expect(await client.signal(id, "b", 2)).toBe("sent");
    await waitUntil("it waits for the other", async () => {
      const found = await client.job(id);
      return found?.state === "scheduled" && claimsOf(found.leaseNo) === 2;
    });
    expect(await client.signal(id, "a", 1)).toBe("sent");
    expect(await client.result(id)).toEqual([1, 2]);
  });

  test("options that it does not know, names and values that cannot be, are refused", async () => {
    const { failures } = await runOne(db, (ctx) => ctx.waitFor("go", { timeOut: 1 } as object));
    expect(failures[0]?.error?.code).toBe("FAIRMILL_CONFIG");
    await using client = createClient({ databaseUrl: db.url });
    await expect(client.signal("1", "", 1)).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
    await expect(client.signal("1", "go", () => 1)).rejects.toMatchObject({ code: "FAIRMILL_STEP_RESULT" });
    await expect(client.signal("x", "go")).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
    expect(await client.signal("999999999", "go")).toBe("not_found");
  });
});
