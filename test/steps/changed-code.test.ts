// Steps of a job whose code was changed meanwhile: noticed by name and place, and told.
import { type Client, createClient, handle, type JobContext } from "fairmill";
import { describe, expect, test } from "vitest";
import { claimsOf } from "../../src/core/job/lease-no.js";
import { useDatabase } from "../support/database.js";
import { eventOf, inState, startWorker } from "../support/jobs.js";
import { job, type Run } from "./step-runs.js";

const db = useDatabase();

/** Works with this handler until the job is in the state. */
async function work(client: Client, id: string, run: Run, state: Parameters<typeof inState>[2]) {
  await using _ = await startWorker(db.url, [handle(job, run)]);
  return await inState(client, id, state);
}

describe("changed code", () => {
  const paid: string[] = [];
  const pay = (ctx: JobContext, ...names: string[]) =>
    names.reduce<Promise<unknown>>(
      (before, name) => before.then(() => ctx.step(name, () => paid.push(name))),
      Promise.resolve(),
    );
  /** Runs a job over these steps, lets it fail behind them, and goes on with other code. */
  async function changed(before: Run, after: Run) {
    await using client = createClient({ databaseUrl: db.url });
    const { id } = await client.enqueue(job, {});
    const first = await startWorker(db.url, [
      handle(job, async (ctx) => {
        await before(ctx);
        if (claimsOf(ctx.leaseNo) === 1) throw Object.assign(new Error("deploy"), { retryable: false });
      }),
    ]);
    await inState(client, id, "dead");
    await first.stop();
    paid.length = 0;
    await client.retry(id);
    await using second = await startWorker(db.url, [handle(job, after)]);
    const { verdict } = await eventOf(second, "ended");
    return verdict;
  }

  test.each<[string, Run, Run, RegExp]>([
    ["a step left out", (c) => pay(c, "a", "b"), (c) => pay(c, "b", "c"), /Step "b": as number 1 .* came to "a"/],
    ["a step left out behind others", (c) => pay(c, "a", "b"), (c) => pay(c, "a", "c"), /as number 2 .* came to "b"/],
    ["a step put in between", (c) => pay(c, "a", "b"), (c) => pay(c, "a", "x", "b"), /as number 2 .* came to "b"/],
    ["steps in another order", (c) => pay(c, "a", "b"), (c) => pay(c, "b", "a"), /as number 1 .* came to "a"/],
    ["a step that became a sleep", (c) => pay(c, "a"), (c) => c.sleep("a", 1), /it was a run and is a sleep now/],
    ["a step that became a wait", (c) => pay(c, "a"), (c) => c.waitFor("a"), /it was a run and is a wait now/],
    ["a name that comes twice", (c) => pay(c, "a"), (c) => pay(c, "a", "a"), /this run came to it twice/],
    [
      "old code behind a new version",
      (c) => pay(c, "a", "b@2"),
      (c) => pay(c, "a", "b"),
      /as number 2 .* came to "b@2"/,
    ],
    [
      "a handler that catches everything",
      (c) => pay(c, "a", "b"),
      async (c) => {
        await c.step("b", () => paid.push("b")).catch(() => {});
        await c.step("c", () => paid.push("c")).catch(() => {});
        return "fine";
      },
      /as number 1 .* came to "a"/,
    ],
  ])(
    "%s is noticed before anything is paid, and tried again when the right code may be there",
    async (_, before, after, message) => {
      const verdict = await changed(before, after);
      expect(verdict).toMatchObject({ verdict: "retry", error: { code: "FAIRMILL_STEP_CHANGED" } });
      expect(verdict).toMatchObject({ error: { message: expect.stringMatching(message) } });
      expect((verdict as { delayMs: number }).delayMs).toBeGreaterThanOrEqual(60_000);
      expect(paid).toEqual([]);
    },
  );

  test.each<[string, Run, Run, string[]]>([
    ["more steps at the end", (c) => pay(c, "a"), (c) => pay(c, "a", "b"), ["b"]],
    ["a new version of a step", (c) => pay(c, "a", "b"), (c) => pay(c, "a", "b@2", "c"), ["b@2", "c"]],
    ["a later version", (c) => pay(c, "a@9"), (c) => pay(c, "a@10"), ["a@10"]],
  ])("%s is allowed", async (_, before, after, expected) => {
    expect(await changed(before, after)).toMatchObject({ verdict: "done" });
    expect(paid).toEqual(expected);
  });

  test("from the start: everything is forgotten, and a job that is done keeps its steps", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const { id } = await client.enqueue(job, {});
    const bad = await work(client, id, (ctx) => pay(ctx, "a").then(() => Promise.reject(hopeless())), "dead");
    expect(bad.state).toBe("dead");
    expect(await client.retry(id, { fromStart: true })).toBe("ready");
    expect(await client.jobs.steps(id)).toEqual([]);
    await work(client, id, (ctx) => pay(ctx, "x", "y"), "done");
    expect(await client.retry(id, { fromStart: true })).toBe("done");
    expect((await client.jobs.steps(id)).map(({ name }) => name)).toEqual(["x", "y"]);
  });

  const hopeless = () => Object.assign(new Error("no"), { retryable: false });
});
