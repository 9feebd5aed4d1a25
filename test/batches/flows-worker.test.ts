// E1 with workers: nodes that run functions, results that are read by those behind, failures, retries from a node.
import { createClient, createCodec, defineFlow, defineJob, handle, handleFlow, NonRetryableError } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const page = defineJob<{ n: number }>({ kind: "page" });
const mail = defineJob<{ text: string }>({ kind: "mail" });

const over = (client: ReturnType<typeof createClient>, id: string) => client.flows.wait(id, { timeout: "20s" });
const statesOf = (flow: { nodes: readonly { name: string; state: string }[] }) =>
  flow.nodes.map(({ name, state }) => `${name} ${state}`);

test("E1: a function enqueues any number of jobs; the next node starts when all have ended, and reads what they returned", async () => {
  const sums: unknown[] = [];
  const book = defineFlow<{ pages: number }>({ name: "book" }, (flow) => {
    const pages = flow.run("pages", async (ctx) => {
      for (let n = 1; n <= ctx.input.pages; n++) await ctx.batch!.add(page, { n });
      return { pages: ctx.input.pages };
    });
    const bind = flow.run(
      "bind",
      async (ctx) => {
        const told = await ctx.flow!.result(pages);
        const all = await ctx.flow!.results(pages);
        return {
          expected: told!.pages,
          sum: all.reduce<number>((sum, one) => sum + (typeof one === "number" ? one : 0), 0),
        };
      },
      { after: [pages] },
    );
    flow.run("check", async (ctx) => void sums.push(await ctx.flow!.result(bind), await ctx.flow!.result("pages")), {
      after: [bind],
    });
  });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [...handleFlow(book), handle(page, ({ input }) => input.n)]);
  const { id } = await client.flows.start(book, { pages: 40 });
  const flow = await over(client, id);
  expect(statesOf(flow)).toEqual(["pages succeeded", "bind succeeded", "check succeeded"]);
  expect(flow).toMatchObject({ done: 43, dead: 0, live: 0 });
  expect(await client.batches.list({ role: "flow" })).toMatchObject([{ id, done: 43 }]);
  const bound = await client.jobs.list({ batch: flow.nodes[1]!.id });
  expect(bound.map(({ kind, state }) => [kind, state])).toEqual([["book/bind", "done"]]);
  expect(await client.jobs.list({ batch: flow.nodes[0]!.id, kind: "page", limit: 200 })).toHaveLength(40);
  expect(sums).toEqual([{ expected: 40, sum: 820 }, { pages: 40 }]);
});

test("results that cannot be read say why; sealed ones are opened", async () => {
  const codec = createCodec({ keys: { k1: Buffer.alloc(32, 1).toString("base64") }, current: "k1" } as never);
  const told: unknown[] = [];
  const caught = (error: { code: string }) => error.code;
  const flow = defineFlow({ name: "f" }, (f) => {
    const a = f.run("a", () => "secret");
    const b = f.run(
      "b",
      async (ctx) =>
        void told.push(await ctx.flow!.result("c").catch(caught), await ctx.flow!.result("zebra").catch(caught)),
      { after: [a] },
    );
    f.run("c", async (ctx) => void told.push(await ctx.flow!.result(a)), { after: [b] });
  });
  await using client = createClient({ databaseUrl: db.url, codec });
  await using _ = await startWorker(db.url, handleFlow(flow), { codec });
  await over(client, (await client.flows.start(flow, {})).id);
  expect(told).toEqual(["FAIRMILL_NODE_RESULT", "FAIRMILL_NODE_RESULT", "secret"]);
});

test("a failure, what it leaves behind, and the flow run again from there; callbacks once", async () => {
  let broken = true;
  const mails: string[] = [];
  const flow = defineFlow<{ to: string }>(
    {
      name: "order",
      callbacks: ({ to }) => ({
        onSuccess: { job: mail, input: { text: `done ${to}` } },
        onComplete: { job: mail, input: { text: `over ${to}` } },
      }),
    },
    (f) => {
      const pay = f.run("pay", () => {
        if (broken) throw new NonRetryableError("declined");
      });
      f.job("ship", page, () => ({ n: 1 }), { after: [pay] });
      f.job("apologise", mail, ({ to }) => ({ text: `sorry ${to}` }), { after: [pay], when: "failed" });
    },
  );
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    ...handleFlow(flow),
    handle(page, () => {}),
    handle(mail, ({ input }) => void mails.push(input.text)),
  ]);
  const { id } = await client.flows.start(flow, { to: "ann" });
  expect(statesOf(await over(client, id))).toEqual(["pay failed", "ship skipped", "apologise succeeded"]);
  await waitUntil("mails are out", () => mails.length === 2);
  broken = false;
  expect(await client.flows.retry(id, { from: "pay" })).toEqual({ answer: "started", nodes: 3 });
  const again = await waitUntil("the flow has succeeded", async () => {
    const now = await client.flows.get(id);
    return now?.state === "succeeded" ? now : undefined;
  });
  expect(statesOf(again)).toEqual(["pay succeeded", "ship succeeded", "apologise skipped"]);
  await waitUntil("the last mail is out", () => mails.length === 3);
  expect(mails).toEqual(["sorry ann", "over ann", "done ann"]);
  await expect(client.flows.retry("999999")).rejects.toMatchObject({ code: "FAIRMILL_BATCH_NOT_FOUND" });
});

describe("flows inside flows, and several jobs in a node", () => {
  test("run in order, each with its own input", async () => {
    const seen: string[] = [];
    const inner = defineFlow<{ name: string }>({ name: "inner" }, (f) => {
      const x = f.run("x", (ctx) => void seen.push(`x ${ctx.input.name}`));
      f.run("y", (ctx) => void seen.push(`y ${ctx.input.name}`), { after: [x] });
    });
    const outer = defineFlow<{ names: string[] }>({ name: "outer" }, (f) => {
      const pages = f.jobs("pages", page, ({ names }) => names.map((_, n) => ({ n })));
      const nested = f.flow("nested", inner, ({ names }) => ({ name: names[0]! }), { after: [pages] });
      f.run("last", () => void seen.push("last"), { after: [nested] });
    });
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [
      ...handleFlow(outer),
      handle(page, ({ input }) => void seen.push(`page ${input.n}`)),
    ]);
    const { id } = await client.flows.start(outer, { names: ["a", "b", "c"] });
    const flow = await over(client, id);
    expect(statesOf(flow)).toEqual([
      "pages succeeded",
      "nested succeeded",
      "x succeeded",
      "y succeeded",
      "last succeeded",
    ]);
    expect(flow.nodes[2]!.parent).toBe(flow.nodes[1]!.id);
    expect(flow.nodes[4]!.after).toEqual([flow.nodes[1]!.id]);
    expect(seen.slice(0, 3).toSorted()).toEqual(["page 0", "page 1", "page 2"]);
    expect(seen.slice(3)).toEqual(["x a", "y a", "last"]);
  });
});

test("E7: ten thousand children of one node: added by its function, counted, and the next node sees all of them", async () => {
  const seen: number[] = [];
  const wide = defineFlow({ name: "wide" }, (f) => {
    const fan = f.run("fan", async (ctx) => {
      for (let n = 0; n < 10_000; n++) await ctx.batch!.add(page, { n });
    });
    f.run("join", (ctx) => void seen.push(Number(ctx.id)), { after: [fan] });
  });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [...handleFlow(wide), handle(page, () => {})], { concurrency: 500 });
  const { id } = await client.flows.start(wide, {});
  const flow = await over(client, id);
  expect(flow.nodes.map(({ name, done }) => [name, done])).toEqual([
    ["fan", 10_001],
    ["join", 1],
  ]);
  expect(seen).toHaveLength(1);
});

test("cancel a flow", async () => {
  const flow = defineFlow({ name: "f" }, (f) => {
    const a = f.run(
      "a",
      (ctx) => new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason))),
    );
    f.run("b", () => {}, { after: [a] });
  });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, handleFlow(flow));
  const { id } = await client.flows.start(flow, {});
  await waitUntil("a runs", async () => (await client.jobs.list({ state: "running" })).length === 1);
  await client.flows.cancel(id);
  expect(statesOf(await over(client, id))).toEqual(["a cancelled", "b cancelled"]);
});
