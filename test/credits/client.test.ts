// Credits through the client: grants, balances and statements, and what becomes of enqueues that cannot be paid for.
import { type Client, ConfigError, CreditsExhaustedError, createClient, defineJob, RateLimitError } from "fairmill";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claim, register, settle } from "../support/sql/calls.js";

const db = useDatabase();
let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

const draw = defineJob<{ user: string; size?: number }>({
  kind: "draw",
  credits: { account: ({ user }) => user, amount: ({ size }) => size ?? 1 },
});

/** What the promise is rejected with. */
const reasonOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => Promise.reject(new Error("It was not rejected.")),
    (error: Error) => error,
  );

describe("grant, balance, statement", () => {
  test("an account is made by its first grant, and one that was never made has nothing", async () => {
    expect(await client.credits.balance("ann")).toEqual({ available: 0, reserved: 0 });
    expect(await client.credits.statement("ann")).toEqual([]);
    expect(await client.credits.grant("ann", 10, { reason: "welcome" })).toEqual({ available: 10, granted: true });
    expect(await client.credits.grant("ann", 5, { idempotencyKey: "order-1" })).toEqual({
      available: 15,
      granted: true,
    });
    expect(await client.credits.grant("ann", 5, { idempotencyKey: "order-1" })).toEqual({
      available: 15,
      granted: false,
    });
    expect(await client.credits.balance("ann")).toEqual({ available: 15, reserved: 0 });
  });

  test("the statement is newest first and comes in pages", async () => {
    await client.credits.grant("ann", 10, { reason: "welcome" });
    const { id } = await client.enqueue(draw, { user: "ann", size: 4 });
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "done");
    const entries = await client.credits.statement("ann");
    expect(entries.map(({ kind, amount, jobId, reason }) => ({ kind, amount, jobId, reason }))).toEqual([
      { kind: "capture", amount: 4, jobId: id, reason: null },
      { kind: "reservation", amount: 4, jobId: id, reason: null },
      { kind: "grant", amount: 10, jobId: null, reason: "welcome" },
    ]);
    expect(entries[0]!.createdAt).toBeInstanceOf(Date);
    const first = await client.credits.statement("ann", { limit: 2 });
    expect([...first, ...(await client.credits.statement("ann", { limit: 2, before: first.at(-1)!.id }))]).toEqual(
      entries,
    );
  });

  test("inside a transaction of the caller: all of it or nothing", async () => {
    const tx = new pg.Client(db.url);
    await tx.connect();
    try {
      for (const end of ["rollback", "commit"]) {
        await tx.query("begin");
        expect(await client.in(tx).credits.grant("ann", 3, { idempotencyKey: "k" })).toEqual({
          available: 3,
          granted: true,
        });
        await client.in(tx).enqueue(draw, { user: "ann", size: 2 });
        expect(await client.in(tx).credits.balance("ann")).toEqual({ available: 1, reserved: 2 });
        const error = await reasonOf(client.in(tx).enqueue(draw, { user: "ann", size: 2 }));
        expect(error).toBeInstanceOf(CreditsExhaustedError);
        await tx.query(end);
        expect(await client.credits.balance("ann")).toEqual(
          end === "commit" ? { available: 1, reserved: 2 } : { available: 0, reserved: 0 },
        );
      }
    } finally {
      await tx.end();
    }
  });

  test.each<[what: string, call: (client: Client) => Promise<unknown>, setting: string]>([
    ["an empty name", (c) => c.credits.grant("", 1), "account"],
    ["a name that is too long", (c) => c.credits.balance("ä".repeat(101)), "account"],
    ["a name that is none", (c) => c.credits.statement(17 as unknown as string), "account"],
    ["nothing", (c) => c.credits.grant("ann", 0), "amount"],
    ["less than nothing", (c) => c.credits.grant("ann", -1), "amount"],
    ["a part", (c) => c.credits.grant("ann", 0.5), "amount"],
    ["too much", (c) => c.credits.grant("ann", 1e13), "amount"],
    ["a text", (c) => c.credits.grant("ann", "1" as unknown as number), "amount"],
    ["a key that is none", (c) => c.credits.grant("ann", 1, { idempotencyKey: "" }), "idempotencyKey"],
    ["a reason that is none", (c) => c.credits.grant("ann", 1, { reason: "\0" }), "reason"],
    ["an unknown option", (c) => c.credits.grant("ann", 1, { resaon: "x" } as object), "resaon"],
    ["an unknown option of a page", (c) => c.credits.statement("ann", { after: "1" } as object), "after"],
    ["a place that is none", (c) => c.credits.statement("ann", { before: "x" }), "before"],
  ])("%s is refused by name", async (_, call, setting) => {
    const error = await reasonOf(call(client));
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).setting).toBe(setting);
    expect(await db.query("select from fairmill.account")).toEqual([]);
  });
});

describe("enqueue", () => {
  test("A6: holds the units, and says so of the job until its end", async () => {
    await client.credits.grant("ann", 10);
    const { id } = await client.enqueue(draw, { user: "ann", size: 4 });
    expect((await client.job(id))!.credits).toEqual({ account: "ann", amount: 4, state: "reserved" });
    expect((await client.jobs.list())[0]!.credits).toEqual({ account: "ann", amount: 4, state: "reserved" });
    const other = await client.enqueue(draw, { user: "ann" });
    await client.cancel(other.id);
    expect((await client.job(other.id))!.credits).toEqual({ account: "ann", amount: 1, state: "released" });
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "done");
    expect((await client.job(id))!.credits).toEqual({ account: "ann", amount: 4, state: "captured" });
    expect(await client.credits.balance("ann")).toEqual({ available: 6, reserved: 0 });
    const free = await client.enqueue(defineJob({ kind: "free" }), {});
    expect((await client.job(free.id))!.credits).toBeNull();
  });

  test("without enough is a CreditsExhaustedError that says how many there are", async () => {
    await client.credits.grant("ann", 3);
    const error = await reasonOf(client.enqueue(draw, { user: "ann", size: 4 }));
    expect(error).toBeInstanceOf(CreditsExhaustedError);
    expect(error).toMatchObject({ code: "FAIRMILL_CREDITS_EXHAUSTED", account: "ann", amount: 4, available: 3 });
    expect(error.message).toContain('client.credits.grant("ann", …)');
  });

  test("calls that leave together fail alone", async () => {
    await client.credits.grant("ann", 5);
    const answers = await Promise.allSettled(
      [1, 7, 2, 9, 2].map((size) => client.enqueue(draw, { user: "ann", size })),
    );
    expect(answers.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(await client.credits.balance("ann")).toEqual({ available: 0, reserved: 5 });
  });

  test("a call is not refused for what a neighbour would have held that a limit refused", async () => {
    await client.credits.grant("ann", 1);
    await client.tenants.set("full", { rate: { limit: 1, per: "1h", at: "enqueue" } });
    await client.enqueue(defineJob({ kind: "free" }), {}, { tenant: "full" });
    const answers = await Promise.allSettled([
      client.enqueue(draw, { user: "ann" }, { tenant: "full" }),
      client.enqueue(draw, { user: "ann" }),
    ]);
    expect(answers).toMatchObject([
      { status: "rejected", reason: expect.any(RateLimitError) },
      { status: "fulfilled", value: { created: true } },
    ]);
  });

  test("a list is stored whole or not at all, with an error that names the first that did not fit", async () => {
    await client.credits.grant("ann", 5);
    const items = [2, 4, 1].map((size) => ({ input: { user: "ann", size } }));
    expect(await reasonOf(client.enqueueMany(draw, items))).toMatchObject({ amount: 4, available: 3 });
    expect(await client.credits.balance("ann")).toEqual({ available: 5, reserved: 0 });
    expect(await client.jobs.list()).toEqual([]);
    expect(await client.enqueueMany(draw, items.slice(1))).toHaveLength(2);
  });

  test("calls with the same idempotency key that leave together hold once, or are refused both", async () => {
    const twice = () =>
      Promise.allSettled([1, 2].map(() => client.enqueue(draw, { user: "ann", size: 2 }, { idempotencyKey: "once" })));
    expect((await twice()).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await client.credits.grant("ann", 3);
    expect((await twice()).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    expect(await client.credits.balance("ann")).toEqual({ available: 1, reserved: 2 });
  });

  test.each<[what: string, input: { user: string; size?: number }, setting: string]>([
    ["no account", { user: "" }, "credits.account"],
    ["no whole amount", { user: "ann", size: 1.5 }, "credits.amount"],
    ["an amount below one", { user: "ann", size: 0 }, "credits.amount"],
  ])("an input that makes %s is refused", async (_, input, setting) => {
    expect(await reasonOf(client.enqueue(draw, input))).toMatchObject({ code: "FAIRMILL_CONFIG", setting });
  });
});

test("retry of a job whose credits were spent meanwhile answers no_credits", async () => {
  await client.credits.grant("ann", 1);
  const { id } = await client.enqueue(draw, { user: "ann" });
  await client.cancel(id);
  const other = await client.enqueue(draw, { user: "ann" });
  expect(await client.retry(id)).toBe("no_credits");
  await client.cancel(other.id);
  expect(await client.retry(id)).toBe("ready");
});
