// client.in(tx) needs no connection but the caller's: a pool may be full of transactions that enqueue, and none of them waits for another.
import {
  type Client,
  createClient,
  defineChannel,
  defineFlow,
  defineJob,
  handle,
  type TransactionClient,
} from "fairmill";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { IN_TRANSACTION, knock } from "../support/doors.js";
import { startWorker } from "../support/jobs.js";
import { openPool } from "../support/open-pool.js";
import { call, setRule, tick } from "../support/sql/calls.js";
import { useSessions } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const open = useSessions(db);

interface User {
  readonly user: string;
}
const limits = { active: 1 } as const;
const key = ({ user }: User) => user;
const limited = defineJob<User>({ kind: "limited", key, limits });
const capped = defineJob<User>({ kind: "capped", key, limits: { active: 3, per: "kind" } });
const refusing = defineJob<User>({ kind: "refusing", key, limits: { active: 1, whenActive: "refuse" } });
const rated = defineJob<User>({ kind: "rated", key, limits: { rate: { limit: 1, per: "1h", at: "enqueue" } } });
const paid = defineJob<User>({ kind: "paid", key, limits, credits: { account: key } });
const single = defineJob<User>({ kind: "single", key, limits, unique: { by: key, onConflict: "replace" } });
const member = defineJob<User>({ kind: "member", key, limits });
const called = defineJob<User>({ kind: "called", key, limits });
const node = defineJob<User>({ kind: "node", key, limits });
const flow = defineFlow<User>({ name: "flow", callbacks: (input) => ({ onComplete: { job: called, input } }) }, (f) => {
  f.job("first", node, (input) => input);
});
const channel = defineChannel<User>({ name: "mail", receiver: "neither", send: () => {}, limits });

/** Calls of a transaction client, with definitions that the database knows nothing of. All of its calls are in the list of doors. */
const CALLS: Record<string, (tx: TransactionClient, user: string) => Promise<unknown>> = {
  enqueue: async (tx, user) => {
    await tx.credits.grant(user, 5);
    for (const job of [limited, capped, refusing, rated, paid, single, single]) await tx.enqueue(job, { user });
  },
  enqueueMany: (tx, user) => tx.enqueueMany(limited, [{ input: { user } }, { input: { user } }]),
  "batches.create": (tx, user) =>
    tx.batches.create({ onSuccess: { job: called, input: { user } } }, async (batch) => {
      await batch.add(member, { user });
    }),
  "flows.start": (tx, user) => tx.flows.start(flow, { user }),
  publish: (tx, user) => tx.publish(channel, { user }, { idempotencyKey: user, orderKey: user }),
  signal: (tx) => tx.signal("1", "go"),
  "schedules.set": (tx, user) => tx.schedules.set(user, { cron: "0 3 * * *", job: limited, input: { user } }),
  "credits.grant": (tx, user) => tx.credits.grant(user, 1),
  "credits.balance": (tx, user) => tx.credits.balance(user),
};
const METHODS = Object.keys(CALLS);

describe("a pool of the caller's that has no connection left", () => {
  let client: Client;
  beforeEach(() => {
    const none = async () => {
      throw new Error("A connection besides the caller's was asked for.");
    };
    client = createClient({ db: { query: none, connect: none } });
  });
  afterEach(() => client.close());

  test.each(METHODS)("F2: client.in(tx).%s asks it for none", async (method) => {
    const session = await open();
    const tx = client.in({ query: async (text, values) => ({ rows: await session.query(text, values) }) });
    await session.query("begin");
    await CALLS[method]!(tx, "ann");
    await session.query("commit");
  });

  test.each(Object.entries(IN_TRANSACTION))("F2: client.in(tx).%s asks it for none", async (way, args) => {
    const session = await open();
    const tx = client.in({ query: async (text, values) => ({ rows: await session.query(text, values) }) });
    await session.query("begin");
    const error = await Promise.resolve(knock(tx, way, args)).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    // What is not there is said in words of ours; a connection that was asked for is not.
    if (error !== undefined)
      expect(error).toMatchObject({ code: expect.stringMatching(/^FAIRMILL_.*(NOT_FOUND|REFUND|ENDED)$/) });
    await session.query("rollback");
  });
});

test.each([1, 3])(
  "F2: %i transactions that fill the pool enqueue at once what the database knows no limits of",
  async (max) => {
    // The time-out is what a failure comes to: without it the calls would hang for ever.
    const pool = openPool({ connectionString: db.url, max, connectionTimeoutMillis: 10_000 });
    const client = createClient({ db: pool });
    onTestFinished(async () => {
      await client.close();
      await pool.end();
    });
    const transactions = await Promise.all(Array.from({ length: max }, () => pool.connect()));
    await Promise.all(
      transactions.map(async (tx, i) => {
        try {
          await tx.query("begin");
          for (const method of METHODS) await CALLS[method]!(client.in(tx), `user-${i}`);
          await tx.query("commit");
        } finally {
          tx.release();
        }
      }),
    );
    const jobs = await client.jobs.list({ kind: "limited" });
    expect(jobs).toHaveLength(3 * max);
    // They wait for upkeep to give out the slots: it takes the rules over first.
    const report = await waitUntil("upkeep has taken over all rules", async () => {
      await tick(db);
      const [left] = await db.query("select count(*)::integer as n from fairmill.key_limit_report where not adopted");
      return left!["n"] === 0;
    });
    expect(report).toBe(true);
    await tick(db);
    const states = (await client.jobs.list({ kind: "limited" })).map(({ state }) => state);
    expect(states.filter((state) => state === "ready")).toHaveLength(max);
    expect(states.filter((state) => state === "blocked")).toHaveLength(2 * max);
  },
);

describe("a rule that a transaction tells", () => {
  let client: Client;
  beforeEach(() => {
    client = createClient({ databaseUrl: db.url });
  });
  afterEach(() => client.close());
  const begun = async () => {
    const session = await open();
    await session.query("begin");
    return {
      session,
      tx: { query: async (text: string, values?: unknown[]) => ({ rows: await session.query(text, values) }) },
    };
  };
  const ruleOf = async (kind: string) =>
    (await db.query("select max_running, rate_limit from fairmill.key_limit where kind = $1", [kind]))[0];
  const takeOver = () => waitUntil("nothing is left to take over", async () => !(await call(db, "adopt_key_limits()")));

  test("makes no session wait: neither transactions that report it, too, nor other calls, nor workers", async () => {
    const other = createClient({ databaseUrl: db.url });
    const first = await begun();
    await client.in(first.tx).enqueue(limited, { user: "ann" });
    await client.in(first.tx).enqueue(capped, { user: "ann" });
    const second = await begun();
    await second.session.query("set local lock_timeout = '1ms'");
    await other.in(second.tx).enqueue(limited, { user: "bob" });
    await other.in(second.tx).enqueue(capped, { user: "bob" });
    await second.session.query("commit");
    await other.enqueue(limited, { user: "eve" });
    await other.enqueue(capped, { user: "eve" });
    const ran = new Set<string>();
    const run = (ctx: { readonly input: User }) => void ran.add(ctx.input.user);
    const worker = await startWorker(db.url, [handle(limited, run), handle(capped, run)]);
    try {
      await waitUntil("the jobs of those that committed have run", () => ran.size === 2);
      expect([...ran].toSorted()).toEqual(["bob", "eve"]);
      await first.session.query("commit");
      await waitUntil("and then those of the first", () => ran.has("ann"));
    } finally {
      await worker.stop();
      await other.close();
    }
  });

  test("holds for the jobs of that transaction at once, and for nothing when it is rolled back", async () => {
    const { session, tx } = await begun();
    await client.in(tx).enqueue(refusing, { user: "ann" });
    await expect(client.in(tx).enqueue(refusing, { user: "ann" })).rejects.toMatchObject({
      code: "FAIRMILL_ACTIVE_LIMIT",
    });
    await client.in(tx).enqueue(rated, { user: "ann" });
    await expect(client.in(tx).enqueue(rated, { user: "ann" })).rejects.toMatchObject({ code: "FAIRMILL_RATE_LIMIT" });
    await session.query("rollback");
    await takeOver();
    expect(await db.query("select kind from fairmill.key_limit_in_force")).toEqual([]);
    // The client knows that it was not told: the next one tells it again.
    const again = await begun();
    await client.in(again.tx).enqueue(refusing, { user: "ann" });
    await again.session.query("commit");
    await takeOver();
    expect(await ruleOf("refusing")).toMatchObject({ max_running: 1 });
  });

  test("that is in force already writes nothing, and is not told again", async () => {
    await client.enqueue(limited, { user: "ann" });
    const other = createClient({ databaseUrl: db.url });
    const { session, tx } = await begun();
    const texts: string[] = [];
    const heard = {
      query: (text: string, values?: unknown[]) => {
        texts.push(text);
        return tx.query(text, values);
      },
    };
    await other.in(heard).enqueue(limited, { user: "ann" });
    await other.in(heard).enqueue(limited, { user: "ann" });
    expect(texts.filter((text) => text.includes("report_key_limits_v1"))).toHaveLength(1);
    expect(await session.query("select id from fairmill.key_limit_report where not adopted")).toEqual([]);
    await session.query("commit");
    await other.close();
  });

  test("was told before another one: the later one stays, whichever commits first", async () => {
    const { session, tx } = await begun();
    await client.in(tx).enqueue(limited, { user: "ann" });
    await setRule(db, { max_running: 7 }, "limited");
    await session.query("commit");
    await takeOver();
    expect(await ruleOf("limited")).toMatchObject({ max_running: 7 });
    // Also when the client tells it once more, because its transaction was rolled back.
    const next = await begun();
    await client.in(next.tx).enqueue(limited, { user: "ann" });
    await next.session.query("commit");
    await takeOver();
    expect(await ruleOf("limited")).toMatchObject({ max_running: 7 });
  });

  test("was told after another one: it stays, and so does a limit that was taken away since", async () => {
    await setRule(db, { max_running: 7 }, "limited");
    const { session, tx } = await begun();
    await client.in(tx).enqueue(limited, { user: "ann" });
    await session.query("commit");
    await takeOver();
    expect(await ruleOf("limited")).toMatchObject({ max_running: 1 });
    const late = await begun();
    await createdAndClosed((other) => other.in(late.tx).enqueue(refusing, { user: "ann" }));
    await setRule(db, { max_running: 2 }, "refusing");
    await setRule(db, null, "refusing");
    await late.session.query("commit");
    await takeOver();
    expect(await ruleOf("refusing")).toBeUndefined();
  });

  const createdAndClosed = async (work: (other: Client) => Promise<unknown>) => {
    const other = createClient({ databaseUrl: db.url });
    await work(other).finally(() => other.close());
  };
});
