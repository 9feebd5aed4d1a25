// What may be said about a job when it is enqueued, and what is refused without a trace.
import { createClient, defineJob, type EnqueueOptions, FairmillError, type Job } from "fairmill";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";

const db = useDatabase();
const plain = defineJob<object>({ kind: "plain" });
let client: ReturnType<typeof createClient>;
beforeAll(() => {
  client = createClient({ db: db.pool });
});

const stored = async (options: EnqueueOptions, definition = plain): Promise<Job> =>
  (await client.job((await client.enqueue(definition, {}, options)).id))!;
const count = async () => Number((await db.query("select count(*) as n from fairmill.job"))[0]!["n"]);

test("without options a job is ready at once in the default lane", async () => {
  const before = Date.now();
  const { id, created } = await client.enqueue(plain, { a: 1 });
  expect(created).toBe(true);
  expect(await client.job(id)).toMatchObject({
    id,
    state: "ready",
    kind: "plain",
    queue: "default",
    tenant: "default",
    priority: 0,
    key: null,
    attempt: 0,
    crashes: 0,
    maxAttempts: 3,
    leaseNo: claimNo(0),
    worker: null,
    runAt: null,
    expireAt: null,
    startedAt: null,
    endedAt: null,
    payload: { a: 1 },
    result: null,
    error: null,
    failures: [],
  });
  // A3: recorded by the database's clock, which on one machine is ours.
  const { createdAt } = (await client.job(id))!;
  expect(createdAt.getTime()).toBeGreaterThan(before - 1_000);
  expect(createdAt.getTime()).toBeLessThan(Date.now() + 1_000);
});

test("tenant, priority and key are kept; the key comes from the definition unless it is given", async () => {
  expect(await stored({ tenant: "acme", priority: 7, key: "user-1" })).toMatchObject({
    tenant: "acme",
    priority: 7,
    key: "user-1",
  });
  const keyed = defineJob<{ user?: string }>({ kind: "keyed", key: (input) => input.user ?? "nobody" });
  const { id } = await client.enqueue(keyed, { user: "ann" });
  expect((await client.job(id))!.key).toBe("ann");
  expect((await stored({ key: "bob" }, keyed)).key).toBe("bob");
});

test("a delay schedules the job that long after now, by the database's clock", async () => {
  const job = await stored({ delay: "90s" });
  expect(job.state).toBe("scheduled");
  expect(job.runAt!.getTime() - job.createdAt.getTime()).toBe(90_000);
  expect((await stored({ delay: 0 })).state).toBe("ready");
});

test.each([
  ["a date", (at: Date) => at],
  ["a text", (at: Date) => at.toISOString()],
  ["a number", (at: Date) => at.getTime()],
])("runAt may be %s", async (_, form) => {
  const at = new Date(Date.now() + 3_600_000);
  expect(await stored({ runAt: form(at) })).toMatchObject({ state: "scheduled", runAt: at });
});

test("a moment that has passed is now", async () => {
  expect((await stored({ runAt: new Date(0) })).state).toBe("ready");
  expect((await stored({ runAt: "1066-10-14T09:00:00Z" })).state).toBe("ready");
});

test("B6: the time to live counts from the moment the job is due", async () => {
  const mortal = defineJob<object>({ kind: "mortal", expire: "10s" });
  const now = await stored({}, mortal);
  expect(now.expireAt!.getTime() - now.createdAt.getTime()).toBe(10_000);
  const later = await stored({ delay: "1m" }, mortal);
  expect(later.expireAt!.getTime() - later.runAt!.getTime()).toBe(10_000);
});

describe("idempotency keys", () => {
  test("enqueuing again with the same key returns the first job and makes no second one", async () => {
    const first = await client.enqueue(plain, { n: 1 }, { idempotencyKey: "order-1" });
    const second = await client.enqueue(plain, { n: 2 }, { idempotencyKey: "order-1" });
    expect([first.created, second]).toEqual([true, { id: first.id, created: false }]);
    expect((await client.job(first.id))!.payload).toEqual({ n: 1 });
    expect(await count()).toBe(1);
  });

  test("belong to a tenant and a kind", async () => {
    const other = defineJob<object>({ kind: "other" });
    await client.enqueue(plain, {}, { idempotencyKey: "k" });
    expect((await client.enqueue(plain, {}, { idempotencyKey: "k", tenant: "acme" })).created).toBe(true);
    expect((await client.enqueue(other, {}, { idempotencyKey: "k" })).created).toBe(true);
  });

  test("are known after the job has ended", async () => {
    const first = await client.enqueue(plain, {}, { idempotencyKey: "k" });
    await client.cancel(first.id);
    expect(await client.enqueue(plain, {}, { idempotencyKey: "k" })).toEqual({ id: first.id, created: false });
  });

  test("used by fifty callers at once make one job", async () => {
    const clients = Array.from({ length: 5 }, () => createClient({ databaseUrl: db.url, connectionsMax: 2 }));
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, i) => clients[i % 5]!.enqueue(plain, { i }, { idempotencyKey: "race" })),
    );
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(all.filter(({ created }) => created)).toHaveLength(1);
    expect(await count()).toBe(1);
    await Promise.all(clients.map((each) => each.close()));
  });

  test("repeated within one call make one job", async () => {
    const all = await client.enqueueMany(
      plain,
      [1, 2, 1, 1].map((n) => ({ input: { n }, idempotencyKey: `k${n}` })),
    );
    expect(all.map(({ created }) => created)).toEqual([true, true, false, false]);
    expect(all[2]!.id).toBe(all[0]!.id);
    expect(await count()).toBe(2);
  });
});

const strict = defineJob({ kind: "strict", input: z.object({ n: z.number() }) });
const longText = "a".repeat(501);

test.each<[string, string, EnqueueOptions]>([
  ["an empty tenant", "tenant", { tenant: "" }],
  ["a tenant of 201 bytes", "tenant", { tenant: "a".repeat(201) }],
  ["a tenant of 101 letters of two bytes", "tenant", { tenant: "ü".repeat(101) }],
  ["a tenant with NUL", "tenant", { tenant: "a\0" }],
  ["a tenant that is no text", "tenant", { tenant: 5 as never }],
  ["a tenant that is null", "tenant", { tenant: null as never }],
  ["half a priority", "priority", { priority: 0.5 }],
  ["a priority above 1000", "priority", { priority: 1001 }],
  ["a priority that is a text", "priority", { priority: "high" as never }],
  ["a negative delay", "delay", { delay: -1 }],
  ["a delay without a unit", "delay", { delay: "5" as never }],
  ["a delay of a thousand years", "delay", { delay: "365000d" }],
  ["runAt and delay", "delay", { runAt: new Date(), delay: 5 }],
  ["a runAt that is no moment", "runAt", { runAt: "tomorrow" }],
  ["a runAt that Date.parse takes for May 2001", "runAt", { runAt: "tomorrow 5" }],
  ["a runAt without a zone", "runAt", { runAt: "2100-01-01T09:00:00" }],
  ["a runAt on the 30th of February", "runAt", { runAt: "2100-02-30T09:00:00Z" }],
  ["a runAt that is no date", "runAt", { runAt: new Date(Number.NaN) }],
  ["a runAt in the year 20000", "runAt", { runAt: new Date(Date.UTC(20_000, 0)) }],
  ["a runAt before Christ", "runAt", { runAt: new Date(Date.UTC(-100, 0)) }],
  ["a runAt in the year that never was", "runAt", { runAt: "0000-06-01T00:00:00Z" }],
  ["a runAt that is null", "runAt", { runAt: null as never }],
  ["an empty idempotency key", "idempotencyKey", { idempotencyKey: "" }],
  ["an idempotency key of 501 letters", "idempotencyKey", { idempotencyKey: longText }],
  ["an idempotency key with half a pair", "idempotencyKey", { idempotencyKey: "\ud800" }],
  ["an empty key", "key", { key: "" }],
  ["an unknown option", "dealy", { dealy: 5 } as EnqueueOptions],
])("%s is refused by name, and nothing is stored", async (_, setting, options) => {
  const refusal = expect.objectContaining({ code: "FAIRMILL_CONFIG", setting });
  await expect(client.enqueue(plain, {}, options)).rejects.toEqual(refusal);
  await expect(client.enqueueMany(plain, [{ input: {} }, { input: {}, ...options }])).rejects.toEqual(refusal);
  expect(await count()).toBe(0);
});

test("a key function that makes no name is refused", async () => {
  const keyed = defineJob<object>({ kind: "keyed", key: () => 5 as never });
  await expect(client.enqueue(keyed, {})).rejects.toMatchObject({ code: "FAIRMILL_CONFIG", setting: "key" });
});

test("F1: an input that does not fit is refused with the path, and nothing is stored", async () => {
  await expect(client.enqueue(strict, { n: "1" } as never)).rejects.toMatchObject({
    code: "FAIRMILL_INPUT_INVALID",
    issues: [{ path: "n" }],
  });
  await expect(client.enqueue(plain, { text: "a\0" })).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
  await expect(client.enqueue(plain, { text: "a".repeat(2 ** 20) })).rejects.toMatchObject({
    code: "FAIRMILL_PAYLOAD_TOO_LARGE",
  });
  expect(await count()).toBe(0);
});

test("F1: what is stored is what was given, not what the schema made of it", async () => {
  const dated = defineJob({ kind: "dated", input: z.object({ at: z.string().transform((text) => new Date(text)) }) });
  const { id } = await client.enqueue(dated, { at: "1970-01-01T00:00:00Z" });
  expect((await client.job(id))!.payload).toEqual({ at: "1970-01-01T00:00:00Z" });
});

test("F1: an asynchronous schema is awaited, alone, in lists and in transactions", async () => {
  const known = defineJob({
    kind: "known",
    input: z.object({ user: z.string().refine(async (user) => user !== "bob", "unknown user") }),
  });
  expect((await client.enqueue(known, { user: "ann" })).created).toBe(true);
  expect(await client.enqueueMany(known, [{ input: { user: "ann" } }, { input: { user: "eve" } }])).toHaveLength(2);
  const before = await count();
  await expect(client.enqueue(known, { user: "bob" })).rejects.toMatchObject({ issues: [{ message: "unknown user" }] });
  await expect(
    client.enqueueMany(known, [{ input: { user: "ann" } }, { input: { user: "bob" } }]),
  ).rejects.toBeInstanceOf(FairmillError);
  await expect(client.in(db.pool).enqueue(known, { user: "bob" })).rejects.toBeInstanceOf(FairmillError);
  expect(await count()).toBe(before);
});

test("F1: what an asynchronous schema refuses is told to the caller alone, also while the database is told of the limits", async () => {
  const limited = defineJob({
    kind: "limited and known",
    input: z.object({ user: z.string().refine(async (user) => user !== "bob", "unknown user") }),
    key: ({ user }) => user,
    limits: { active: 1 },
  });
  const unheard: unknown[] = [];
  const hear = (reason: unknown) => void unheard.push(reason);
  process.on("unhandledRejection", hear);
  await expect(client.enqueue(limited, { user: "bob" })).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
  process.off("unhandledRejection", hear);
  expect(unheard).toEqual([]);
});

test("an unknown setting of the client is refused with the one that was meant", () => {
  expect(() => createClient({ databaseURL: "x" } as never)).toThrow(/Did you mean "databaseUrl"/);
  expect(() => createClient({ databaseUrl: db.url, db: db.pool })).toThrow(/either databaseUrl or db/);
});

test("a number of connections that is none is refused by name", () => {
  for (const connectionsMax of [-3, 0, 1.5, "x"])
    expect(() => createClient({ databaseUrl: db.url, connectionsMax: connectionsMax as never })).toThrow(
      expect.objectContaining({ code: "FAIRMILL_CONFIG", setting: "connectionsMax" }),
    );
  for (const options of ["x", null, 5])
    expect(() => createClient(options as never)).toThrow(expect.objectContaining({ code: "FAIRMILL_CONFIG" }));
});

test("questions with what is unknown are refused, not answered with nothing", async () => {
  await expect(client.jobs.list({ state: "x" as never })).rejects.toMatchObject({
    code: "FAIRMILL_CONFIG",
    message: expect.stringMatching(/^jobs\.list: state: "x" is not one of "scheduled", "ready"/),
  });
  await expect(client.result("1", { timout: 1 } as never)).rejects.toMatchObject({
    code: "FAIRMILL_CONFIG",
    message: expect.stringContaining('Did you mean "timeout"?'),
  });
});

test("a job id that is none is refused before the database is asked", async () => {
  for (const id of ["", "abc", "1; drop table job", "-1", "9".repeat(19), 1.5 as never, undefined as never])
    await expect((async () => client.job(id))()).rejects.toMatchObject({ code: "FAIRMILL_CONFIG", setting: "id" });
  expect(await client.job("999999999999")).toBeUndefined();
  expect(await client.cancel("999999999999")).toBe("not_found");
  expect(await client.retry("999999999999")).toBe("not_found");
});
