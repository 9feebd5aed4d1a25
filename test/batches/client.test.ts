// Batches and flows as they are declared: checked before anything is stored, stored whole or not at all.
import {
  createClient,
  createCodec,
  defineFlow,
  defineJob,
  type FlowBuilder,
  handleFlow,
  type JobContext,
} from "fairmill";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const page = defineJob({ kind: "page", input: z.object({ n: z.number() }) });
const report = defineJob({ kind: "report", input: z.object({ of: z.string() }) });
const count = async (table: string) =>
  (await db.query<{ n: number }>(`select count(*)::integer as n from fairmill.${table}`))[0]!.n;

describe("nothing is stored", () => {
  test("when an input is not valid, or what fills the batch throws", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await expect(
      client.batches.create({}, async (batch) => {
        await batch.add(page, { n: 1 });
        await batch.add(page, { n: "two" as never });
      }),
    ).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
    await expect(
      client.batches.create({}, async (batch) => {
        await batch.add(page, { n: 1 });
        throw new Error("changed my mind");
      }),
    ).rejects.toThrow("changed my mind");
    await expect(
      client.batches.create({ onSuccess: { job: report, input: { of: 1 as never } } }, () => {}),
    ).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
    expect([await count("batch"), await count("job")]).toEqual([0, 0]);
  });

  test.each([
    [{ onSucces: { job: report, input: { of: "x" } } }, 'Did you mean "onSuccess"?'],
    [{ onSuccess: { input: {} } }, "onSuccess must be { job, input }"],
    [{ onSuccess: { job: report, input: { of: "x" }, retry: 3 } }, 'unknown setting "retry"'],
    [{ name: "" }, "name"],
    [{ parent: "first" }, "is not the id of a batch"],
    [null, "pass an object"],
  ])("with settings %o: %s", async (options, message) => {
    await using client = createClient({ databaseUrl: db.url });
    await expect(client.batches.create(options as never, () => {})).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
      message: expect.stringContaining(message),
    });
    await expect(client.batches.open(options as never)).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
    expect(await count("batch")).toBe(0);
  });

  test("with a window that is none", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await expect(client.batches.open({ stability: { stabilityWindow: "soon" as never } })).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
    });
    await expect(client.batches.open({ stability: { window: 1 } as never })).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
    });
  });
});

test("12,000 members: stored in portions, the batch open until the last is there; half of it is cancelled when filling fails", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { id, added } = await client.batches.create({}, async (batch) => {
    for (let n = 0; n < 12_000; n++) await batch.add(page, { n });
  });
  expect(added).toBe(12_000);
  expect(await client.batches.get(id)).toMatchObject({ state: "pending", live: 10_000 });
  expect(await count("batch_hold")).toBe(0);
  await expect(
    client.batches.create({ name: "half" }, async (batch) => {
      for (let n = 0; n < 6_000; n++) await batch.add(page, { n });
      throw new Error("out of paper");
    }),
  ).rejects.toThrow("out of paper");
  expect((await client.batches.list({ limit: 1 }))[0]).toMatchObject({
    name: "half",
    state: "cancelled",
    cancelled: 5_000,
    live: 0,
  });
});

test("F2: in a transaction of the caller a batch and a flow are there when it commits, and never were when it does not", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const flow = defineFlow<{ n: number }>({ name: "f" }, (f) => void f.job("a", page, (input) => input));
  const tx = new pg.Client(db.url);
  await tx.connect();
  for (const end of ["rollback", "commit"]) {
    await tx.query("begin");
    const batch = await client
      .in(tx)
      .batches.create({ onComplete: { job: report, input: { of: "b" } } }, (b) => b.add(page, { n: 1 }));
    const started = await client.in(tx).flows.start(flow, { n: 2 });
    await tx.query(end);
    expect((await client.batches.get(batch.id))?.state).toBe(end === "commit" ? "pending" : undefined);
    expect((await client.flows.get(started.id))?.nodes.map(({ name, state }) => `${name} ${state}`)).toEqual(
      end === "commit" ? ["a pending"] : undefined,
    );
  }
  await tx.end();
  expect(await count("job")).toBe(2);
});

test("F9: members, callbacks and nodes are sealed like any job", async () => {
  const codec = createCodec({ keys: { k1: Buffer.alloc(32, 1).toString("base64") }, current: "k1" } as never);
  await using client = createClient({ databaseUrl: db.url, codec });
  await client.batches.create({ onSuccess: { job: report, input: { of: "secret" } } }, (b) =>
    b.add(page, { n: 77_777 }),
  );
  await client.flows.start(
    defineFlow<{ n: number }>({ name: "f" }, (f) => void f.job("a", page, (input) => input)),
    { n: 77_777 },
  );
  const rows = await db.query(
    "select payload::text as text from fairmill.job union all select callbacks::text from fairmill.batch union all select jobs::text from fairmill.batch",
  );
  const text = rows.map((row) => row["text"]).join();
  expect(text).not.toContain("77777");
  expect(text).not.toContain("secret");
});

test("what is no job, no flow or no function is refused by name, and nothing is stored", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const nothing = undefined as never;
  const refused = (work: Promise<unknown>, setting: string) =>
    expect(work).rejects.toMatchObject({ code: "FAIRMILL_CONFIG", setting });
  await refused(client.batches.create({}, nothing), "fill");
  await refused(
    client.batches.create({}, (batch) => batch.add(nothing, {})),
    "job",
  );
  await refused(
    client.batches.create({}, (batch) => batch.add({} as never, {})),
    "job",
  );
  await refused(client.enqueue(nothing, {}), "job");
  await refused(client.flows.start(nothing, {}), "flow");
  const notAList = defineFlow({ name: "f" }, (f) => void f.jobs("a", page, () => 5 as never));
  await refused(client.flows.start(notAList, {}), "inputs");
  await refused(client.flows.retry("1", { from: 5 as never }), "from");
  await refused(client.batches.list({ state: "bogus" as never }), "state");
  await refused(client.outbox.list({ status: "bogus" as never }), "status");
  await refused(client.outbox.resolve("1", "bogus" as never), "verdict");
  expect([await count("batch"), await count("job")]).toEqual([0, 0]);
});

describe("declaring flows", () => {
  type Build = (flow: FlowBuilder<{ n: number }, JobContext<{ n: number }>>) => void;
  const declare = (build: Build) => () => defineFlow<{ n: number }>({ name: "f" }, build);
  test("what cannot be is refused, by the name of the node", () => {
    expect(declare((f) => void f.job("a", page, () => ({ n: 1 }), { after: [{ name: "b" }] }))).toThrow(
      "is no node of this flow",
    );
    expect(
      declare((f) => {
        f.job("a", page, () => ({ n: 1 }));
        f.job("a", page, () => ({ n: 1 }));
      }),
    ).toThrow("there is another node of this name");
    expect(declare((f) => void f.job("a", page, () => ({ n: 1 }), { when: "never" as never }))).toThrow(
      '"succeeded", "settled", "failed"',
    );
    expect(declare((f) => void f.job("a", page, () => ({ n: 1 }), { onfailure: "skip" } as never))).toThrow(
      'Did you mean "onFailure"?',
    );
    expect(declare((f) => void f.job("a", page, { n: 1 } as never))).toThrow("must be a function");
    expect(declare((f) => void f.job("a", page, () => ({ n: 1 }), { when: "failed" }))).toThrow("needs nodes in after");
    expect(declare((f) => void f.job("a", undefined as never, () => ({ n: 1 })))).toThrow("is no job");
    expect(declare((f) => void f.flow("a", undefined as never, () => ({})))).toThrow("is no flow");
    expect(declare((f) => void f.job("a", page, () => ({ n: 1 }), { after: "b" as never }))).toThrow("must be a list");
    expect(() => handleFlow(undefined as never)).toThrow("is no flow");
    // Its nodes would come after the flow was made, and be missing without a word.
    const slow = async (f: Parameters<Build>[0]) => {
      await null;
      f.job("a", page, () => ({ n: 1 }));
    };
    expect(declare(slow as Build)).toThrow("must not be async");
    expect(() => defineFlow({ name: "" }, () => {})).toThrow("name");
    expect(() => defineFlow(null as never, () => {})).toThrow("pass { name }");
  });

  test("the flow's input is validated, and so is that of every job, before anything is stored", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const flow = defineFlow({ name: "f", input: z.object({ n: z.number() }) }, (f) => {
      f.job("a", page, ({ n }) => ({ n: n === 13 ? ("bad luck" as never) : n }));
    });
    await expect(client.flows.start(flow, { n: "1" as never })).rejects.toMatchObject({
      code: "FAIRMILL_INPUT_INVALID",
    });
    await expect(client.flows.start(flow, { n: 13 })).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
    await expect(client.flows.start(flow, { n: 1 }, { tenat: "acme" } as never)).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
    });
    expect(await count("batch")).toBe(0);
    const { id } = await client.flows.start(flow, { n: 1 }, { tenant: "acme", priority: 5 });
    expect(await client.jobs.list()).toMatchObject([
      { tenant: "acme", priority: 5, batch: (await client.flows.get(id))!.nodes[0]!.id },
    ]);
  });
});
