// `why` of jobs of a flow, of messages and of jobs with credits, and what the question costs among 100,000 jobs.
import { type Client, createClient, defineFlow, defineJob, type JobOptions, type Why } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { explainEverything, plansOf, readersOf } from "../db/plans/plan-reader.js";
import { useDatabase } from "../support/database.js";
import { claim, fill, register, settle } from "../support/sql/calls.js";
import { openSession } from "../support/sql/sessions.js";

const db = useDatabase();
const work = defineJob<object>({ kind: "work" });
const limited = (options: Partial<JobOptions<undefined, { user: string }>>) =>
  defineJob<{ user: string }>({ kind: "limited", key: ({ user }) => user, ...options });

let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

const why = async (id: string): Promise<Why> => (await client.why(id))!;
const checkOf = ({ checks }: Why, name: string) => checks.find((one) => one.check === name);

describe("a node of a flow", () => {
  test("waits for the nodes before it, which are named, then has jobs, then is over", async () => {
    await register(db, "w");
    const album = defineFlow({ name: "album" }, (flow) => {
      const cut = flow.job("cut", work, () => ({}));
      const scan = flow.job("scan", work, () => ({}));
      flow.job("print", work, () => ({}), { after: [cut, scan] });
    });
    const { id } = await client.flows.start(album, {});
    const nodes = await db.query<{ id: string; name: string }>(
      "select id, name from fairmill.batch where role = 'node'",
    );
    const idOf = (name: string) => nodes.find((node) => node.name === name)!.id;
    const print = idOf("print");
    const told = (await client.why({ node: print }))!;
    expect(told).toMatchObject({
      id: print,
      state: "waiting",
      reason: 'It waits for 2 nodes before it: "cut" (pending), "scan" (pending).',
    });
    expect(told.checks[1]).toMatchObject({
      check: "dependency",
      passed: false,
      detail: { waits: 2, before: [{ name: "cut" }, { name: "scan" }] },
    });
    expect((await client.why({ node: idOf("cut") }))!.reason).toMatch(/^1 of its jobs has not ended, job \d+\.$/);
    for (const expected of [2, 1]) {
      const claims = await claim(db, "w", 10);
      expect(claims).toHaveLength(expected);
      await settle(db, "w", claims, "done");
      if (expected === 2) expect((await client.why({ node: print }))!).toMatchObject({ state: "pending" });
    }
    expect((await client.why({ node: print }))!.reason).toMatch(/^The node is over: it is succeeded since /);
    expect(await client.why({ node: id })).toBeUndefined();
  });
});

describe("a message", () => {
  test("waits for the head of its order key, and then for whatever its delivery job waits for", async () => {
    const publish = (n: number) =>
      client.publish("mail", { n }, { idempotencyKey: `m${n}`, orderKey: "ann" }).then(({ id }) => id);
    const [first, second, third] = [await publish(1), await publish(2), await publish(3)];
    await db.query("select fairmill.tick_upkeep_v1()");
    const { jobId } = (await client.outbox.get(first!))!;
    expect(await client.why({ message: third! })).toMatchObject({
      state: "pending",
      reason: `Message ${first} of its order key "ann" goes first: it is pending, and job ${jobId} delivers it; 1 more waits before this one.`,
    });
    expect((await client.why({ message: second! }))!.checks[1]).toMatchObject({
      check: "order",
      passed: false,
      detail: { orderKey: "ann", head: first, headJob: jobId, ahead: 0 },
    });
    const told = (await client.why({ message: first! }))!;
    expect(told.checks.map((one) => one.check).slice(0, 2)).toEqual(["state", "order"]);
    expect(told.reason).toBe("No worker is alive.");
    expect(await client.why({ message: "999999" })).toBeUndefined();
    await client.cancel(jobId!);
    expect((await client.why({ message: first! }))!.reason).toMatch(/^The message is /);
    await db.query("delete from fairmill.job");
    await db.query("delete from fairmill.outbox");
  });
});

test("credits: what it holds, and that a retry would be refused", async () => {
  const paid = defineJob<object>({ kind: "paid", credits: { account: () => "acme", amount: 5 } });
  await client.credits.grant("acme", 5);
  const { id } = await client.enqueue(paid, {});
  expect(checkOf(await why(id), "credits")).toMatchObject({
    passed: true,
    reason: 'It has reserved 5 of the account "acme".',
    detail: { account: "acme", amount: 5, balance: 0 },
  });
  await client.cancel(id);
  expect(checkOf(await why(id), "credits")).toMatchObject({ passed: true });
  await client.enqueue(paid, {});
  expect(checkOf(await why(id), "credits")).toMatchObject({
    passed: false,
    reason: 'A retry needs 5 of the account "acme", which has 0: it is refused until there are enough.',
  });
});

test("stays cheap with 100,000 jobs waiting in its lane, its key and beside it, and changes nothing", async () => {
  await register(db, "w");
  await client.enqueue(limited({ limits: { active: 1, rate: { limit: 5, per: "1h" } } }), { user: "ann" });
  await client.tenants.set("default", { maxRunning: 50, rate: { limit: 100, per: "1h" } });
  await client.kinds.set("limited", { maxRunning: 50 });
  await fill(db, 1);
  await claim(db, "w", 2);
  await db.query(
    `insert into fairmill.job (kind, queue, tenant, key, state, aside, payload, limit_key)
     select 'limited', 'default', 'default', 'ann', 'blocked', 'blocked', '{}', '["limited", "default", "ann"]' from generate_series(1, 50000)`,
  );
  await fill(db, 50_000);
  await db.query(
    "insert into fairmill.job (kind, queue, tenant, state, payload) select 'work', 'default', 't' || n, 'ready', '{}' from generate_series(1, 3000) n",
  );
  const [last] = await db.query<{ blocked: string; ready: string }>(
    "select max(id) filter (where state = 'blocked') as blocked, max(id) filter (where state = 'ready' and tenant = 'default') as ready from fairmill.job",
  );
  expect((await why(last!.blocked)).reason).toMatch(/; 1000 or more wait before it\.$/);
  expect((await why(last!.ready)).reason).toMatch(
    /: 1000 or more earlier jobs of its tenant go before it, \d+ or more other tenants wait/,
  );
  const session = await openSession(db.url);
  try {
    await explainEverything(session);
    for (const id of [last!.blocked, last!.ready]) {
      const plans = await plansOf(session, "select * from fairmill.why_v1($1)", [id]);
      const readers = readersOf(plans, "job");
      expect(readers.filter(({ type }) => type === "Seq Scan")).toEqual([]);
      expect(readers.every(({ rowsInVain }) => rowsInVain <= 200)).toBe(true);
      expect(readers.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThan(8_000);
    }
    // Refused if anything in it wrote.
    await session.query("set default_transaction_read_only = on");
    await session.query("select * from fairmill.why_v1($1)", [last!.ready]);
  } finally {
    await session.close();
  }
});
