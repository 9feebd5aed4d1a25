// F11: the test kit that users get: one attempt at a time, drains, time that passes when told, and assertions that say what was there.
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { defineChannel, defineJob, handle, snooze } from "../../src/index.js";
import { createTestKit, type TestKit } from "../../src/testing/index.js";

const greet = defineJob<{ name: string }, { greeting: string }>({ kind: "greet" });
const remind = defineJob<{ name: string; days: number }>({ kind: "remind" });
const flaky = defineJob<{ failures: number }, string>({ kind: "flaky", retry: { attempts: 3, backoff: () => 60_000 } });
const patient = defineJob<{ orderId: string }, string>({ kind: "patient" });
const endless = defineJob<object>({ kind: "endless" });
const unhandled = defineJob<object>({ kind: "unhandled" });

const mail = defineChannel({ name: "mail", receiver: "takes-key", send: async () => ({ accepted: true }) });

const handlers = [
  handle(greet, async (ctx) => {
    ctx.log.info({ to: ctx.input.name }, "greeting");
    const greeting = await ctx.step("word", async () => `Hello, ${ctx.input.name}!`);
    ctx.enqueue(remind, { name: ctx.input.name, days: 2 }, { delay: "2d", tenant: "acme" });
    ctx.publish("mail", { to: ctx.input.name, text: greeting }, { idempotencyKey: `greet-${ctx.id}` });
    return { greeting };
  }),
  handle(remind, async () => {}),
  handle(flaky, async (ctx) => {
    if (ctx.attempt <= ctx.input.failures) throw new Error(`failure ${ctx.attempt}`);
    return "at last";
  }),
  handle(patient, async (ctx) => {
    await ctx.sleep("a day", "1d");
    return (await ctx.waitFor<string>("answer", { timeout: "1h" }).catch(() => undefined)) ?? "no answer";
  }),
  handle(endless, async (ctx) => {
    ctx.enqueue(endless, {});
  }),
];

let kit: TestKit;
beforeAll(async () => {
  kit = await createTestKit({ databaseUrl: inject("serverUrl"), handlers, channels: [mail] });
});
afterEach(() => kit.clear());
afterAll(() => kit.close());

describe("run", () => {
  test("shows result, steps, logs, jobs and messages of one attempt, and runs nothing else", async () => {
    const seen = await kit.run(greet, { name: "Ann" }, { tenant: "acme" });
    expect(seen).toMatchObject({ state: "done", attempt: 1, result: { greeting: "Hello, Ann!" }, error: undefined });
    expect(seen.steps).toMatchObject([{ name: "word", result: "Hello, Ann!" }]);
    expect(seen.logs).toMatchObject([{ message: "greeting", fields: { to: "Ann" } }]);
    expect(seen.enqueued).toMatchObject([{ kind: "remind", input: { name: "Ann", days: 2 }, state: "scheduled" }]);
    expect(seen.published).toMatchObject([{ channel: "mail", payload: { text: "Hello, Ann!" }, status: "pending" }]);
  });

  test("does not run another job of the same kind that waited before", async () => {
    const { id } = await kit.client.enqueue(flaky, { failures: 0 });
    const seen = await kit.run(flaky, { failures: 0 });
    expect(seen.state).toBe("done");
    expect(await kit.client.job(id)).toMatchObject({ state: "ready" });
  });

  test("shows why an attempt failed, and the next one is run by runAgain without waiting for its backoff", async () => {
    const first = await kit.run(flaky, { failures: 1 });
    expect(first).toMatchObject({ state: "scheduled", attempt: 1, error: { message: "failure 1" } });
    const second = await kit.runAgain(flaky, first.id);
    expect(second).toMatchObject({ state: "done", attempt: 2, result: "at last" });
  });

  test("runs a delayed job at once", async () => {
    expect(await kit.run(flaky, { failures: 0 }, { delay: "3d" })).toMatchObject({ state: "done" });
  });

  test("refuses a kind without a handler, by name", async () => {
    await expect(kit.run(unhandled, {})).rejects.toThrow(/no handler for "unhandled"/);
    await kit.expectNotEnqueued(unhandled);
  });
});

describe("drain", () => {
  test("runs what is due and what comes of it, and leaves what is not due", async () => {
    await kit.client.enqueue(greet, { name: "Ann" });
    expect(await kit.drain()).toMatchObject({ ran: 2, succeeded: 2, failed: 0 });
    expect(await kit.published(mail)).toMatchObject([{ status: "sent" }]);
    expect(await kit.enqueued(remind)).toMatchObject([{ state: "scheduled" }]);
  });

  test("gives up on jobs that enqueue themselves, instead of going on for ever", async () => {
    await kit.client.enqueue(endless, {});
    await expect(kit.drain({ jobsMax: 20 })).rejects.toMatchObject({ code: "FAIRMILL_DRAIN_ENDLESS" });
  });
});

describe("time", () => {
  test("passes when it is told to: delays, backoffs", async () => {
    await kit.run(greet, { name: "Ann" });
    await kit.advance("47h");
    await kit.drain();
    expect(await kit.enqueued(remind)).toMatchObject([{ state: "scheduled" }]);
    await kit.advance("1h");
    await kit.drain();
    expect(await kit.enqueued(remind)).toMatchObject([{ state: "done" }]);
  });

  test("passes for sleeps and for the end of a wait", async () => {
    const { id } = await kit.run(patient, { orderId: "7" });
    await kit.advance("1d");
    await kit.drain();
    expect((await kit.client.jobs.steps(id)).map(({ name }) => name)).toEqual(["a day", "answer"]);
    await kit.advance("1h");
    await kit.drain();
    expect(await kit.client.job(id)).toMatchObject({ state: "done", result: "no answer" });
  });

  test("wakes one job, and a signal reaches it", async () => {
    const { id } = await kit.run(patient, { orderId: "7" });
    const other = await kit.run(patient, { orderId: "8" });
    await kit.wake(id);
    await kit.drain();
    await kit.client.signal(id, "answer", "yes");
    await kit.drain();
    expect(await kit.client.job(id)).toMatchObject({ state: "done", result: "yes" });
    expect(await kit.client.jobs.steps(other.id)).toHaveLength(1);
  });

  test("does not run backwards, and what waits for no time cannot be woken", async () => {
    await expect(kit.advance(0)).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
    const { id } = await kit.run(greet, { name: "Ann" });
    await expect(kit.wake(id)).rejects.toThrow(/is done/);
  });

  test("moves every time that the schema keeps, but for those that are named", async () => {
    // A new table with times is moved by itself; one that cannot be fails here.
    await kit.client.tenants.set("acme", { rate: { limit: 2, per: "1m" } });
    for (let i = 0; i < 3; i++) await kit.client.enqueue(flaky, { failures: 0 }, { tenant: "acme" });
    await kit.drain();
    expect((await kit.enqueued(flaky)).map(({ state }) => state).toSorted()).toEqual(["done", "done", "ready"]);
    await kit.advance("1m");
    await kit.drain();
    expect((await kit.enqueued(flaky)).map(({ state }) => state)).toEqual(["done", "done", "done"]);
  });
});

describe("expectations", () => {
  test("find jobs and messages by a part of their content", async () => {
    await kit.run(greet, { name: "Ann" });
    expect(await kit.expectEnqueued(remind, { name: "Ann" }, { tenant: "acme" })).toHaveLength(1);
    await kit.expectPublished("mail", { to: "Ann" });
    await kit.expectNotEnqueued(remind, { name: "Ben" });
    await kit.expectNotPublished(mail, { to: "Ben" });
  });

  test("say what was there instead", async () => {
    await expect(kit.expectEnqueued(remind)).rejects.toThrow("Expected remind, but nothing was enqueued.");
    await kit.run(greet, { name: "Ann" });
    await expect(kit.expectEnqueued(remind, { name: "Ben" })).rejects.toThrow(
      /Expected remind with {"name":"Ben"}, but this was enqueued:[\s\S]*remind {"days":2,"name":"Ann"} for acme, scheduled/,
    );
    await expect(kit.expectNotPublished("mail")).rejects.toThrow(/Expected no mail, but this was published:\n {2}mail/);
  });
});

test("kits do not see one another, and a closed one leaves nothing behind", async () => {
  const other = await createTestKit({
    databaseUrl: inject("serverUrl"),
    handlers: [handle(flaky, () => snooze("1h"))],
  });
  await other.client.enqueue(flaky, { failures: 0 });
  expect(await kit.enqueued()).toEqual([]);
  expect(await other.run(flaky, { failures: 0 })).toMatchObject({ state: "scheduled" });
  await other.close();
  const left = await other.client.jobs.list().catch((error: unknown) => error);
  expect(left).toBeInstanceOf(Error);
  expect(await kit.enqueued()).toEqual([]);
});

test("settings that are unknown are refused by name, before anything is made", async () => {
  await expect(createTestKit({ handlerz: [] } as never)).rejects.toThrow(/"handlerz".*Did you mean "handlers"/);
});
