// F3: schedules as an application declares, lists and steers them.
import { randomBytes } from "node:crypto";
import { type Client, createClient, createCodec, defineJob, type ScheduleOptions } from "fairmill";
import { ScheduleNotFoundError } from "fairmill/errors";
import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";

const db = useDatabase();
const report = defineJob({
  kind: "report",
  queue: "reports",
  input: z.object({ of: z.string() }),
  retry: { attempts: 7 },
});
const nightly = { cron: "0 3 * * *", timezone: "Europe/Madrid", job: report, input: { of: "sales" } } as const;
let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
endAfterTest(async () => client.close());

const stored = async (name: string) => (await db.query("select * from fairmill.schedule where name = $1", [name]))[0]!;

describe("declaring", () => {
  test("makes it, with its next run by the clocks of its zone", async () => {
    const { outcome, nextRun } = await client.schedules.set("nightly", nightly);
    expect(outcome).toBe("created");
    expect(nextRun!.toLocaleTimeString("en-GB", { timeZone: "Europe/Madrid" })).toBe("03:00:00");
    expect(nextRun!.getTime() - Date.now()).toBeGreaterThan(0);
    expect(nextRun!.getTime() - Date.now()).toBeLessThan(25 * 3_600_000);
    expect(await client.schedules.list()).toMatchObject([
      {
        name: "nightly",
        cron: "0 3 * * *",
        timezone: "Europe/Madrid",
        missed: "once",
        jitterMs: 0,
        kind: "report",
        queue: "reports",
        tenant: "default",
        nextRun,
        lastTick: null,
        lastError: null,
        pausedAt: null,
      },
    ]);
    expect((await stored("nightly"))["job"]).toMatchObject({
      kind: "report",
      max_attempts: 7,
      payload: { of: "sales" },
    });
  });

  test("the same again changes nothing, from any process and in any order", async () => {
    await client.schedules.set("nightly", { ...nightly, tenant: "acme", missed: { all: 3 } });
    const before = await stored("nightly");
    expect(await client.schedules.set("nightly", { ...nightly, missed: { all: 3 }, tenant: "acme" })).toMatchObject({
      outcome: "same",
    });
    expect(await stored("nightly")).toEqual(before);
  });

  test("by many processes at once makes one, and one of them is told so", async () => {
    const clients = Array.from({ length: 5 }, () => createClient({ databaseUrl: db.url, connectionsMax: 4 }));
    const answers = await Promise.all(
      clients.flatMap((one) => Array.from({ length: 4 }, () => one.schedules.set("nightly", nightly))),
    );
    expect(answers.filter(({ outcome }) => outcome === "created")).toHaveLength(1);
    expect(answers.filter(({ outcome }) => outcome === "same")).toHaveLength(19);
    expect((await stored("nightly"))["revision"]).toBe("1");
    await Promise.all(clients.map((one) => one.close()));
  });

  test("another expression or zone reckons the next run anew; another input leaves it", async () => {
    await client.schedules.set("nightly", nightly);
    // Due at this moment, and no worker has seen it yet.
    await db.query("update fairmill.schedule set next_at = now() - interval '1 second'");
    const { outcome, nextRun } = await client.schedules.set("nightly", {
      ...nightly,
      input: { of: "costs" },
      priority: 5,
    });
    expect(outcome).toBe("changed");
    expect(nextRun!.getTime()).toBeLessThan(Date.now());
    expect((await stored("nightly"))["job"]).toMatchObject({ payload: { of: "costs" }, priority: 5 });
    const moved = await client.schedules.set("nightly", { ...nightly, cron: "30 4 * * *" });
    expect(moved.outcome).toBe("changed");
    expect(moved.nextRun!.toLocaleTimeString("en-GB", { timeZone: "Europe/Madrid" })).toBe("04:30:00");
    const elsewhere = await client.schedules.set("nightly", {
      ...nightly,
      cron: "30 4 * * *",
      timezone: "America/New_York",
    });
    expect(elsewhere.nextRun!.toLocaleTimeString("en-GB", { timeZone: "America/New_York" })).toBe("04:30:00");
  });

  test.each([
    ["cron", { cron: "61 * * * *" }],
    ["cron", { cron: "0 0 31 2 *" }],
    ["timezone", { timezone: "Mars/Olympus" }],
    ["missed", { missed: "sometimes" }],
    ["missed.all", { missed: { all: 0 } }],
    ["jitter", { jitter: "soon" }],
    ["paused", { paused: "yes" }],
    ["job", { job: "report" }],
    ["tenant", { tenant: "" }],
    ["priority", { priority: 5_000 }],
    ["runAt", { runAt: new Date() }],
    ["crom", { crom: "0 3 * * *" }],
  ])("is refused, and the setting named: %s", async (setting, wrong) => {
    const options = { ...nightly, ...wrong } as unknown as ScheduleOptions<{ of: string }>;
    await expect(client.schedules.set("nightly", options)).rejects.toMatchObject({ code: "FAIRMILL_CONFIG", setting });
    expect(await client.schedules.list()).toEqual([]);
  });

  test("refuses a name that is none, an input that does not fit, and jitter beside debounce", async () => {
    await expect(client.schedules.set("", nightly)).rejects.toMatchObject({ setting: "name" });
    await expect(client.schedules.set("n", { ...nightly, input: {} as { of: string } })).rejects.toMatchObject({
      code: "FAIRMILL_INPUT_INVALID",
    });
    const debounced = defineJob<object>({ kind: "debounced", debounce: { wait: "5s" } });
    const given = { cron: "0 3 * * *", job: debounced, input: {}, jitter: "30s" as const };
    await expect(client.schedules.set("n", given)).rejects.toMatchObject({ setting: "jitter" });
  });

  test("with a codec stores what is sealed, and knows the same definition all the same", async () => {
    const codec = createCodec({ keys: { k: randomBytes(32).toString("base64") }, current: "k" });
    await using sealing = createClient({ databaseUrl: db.url, codec });
    expect(await sealing.schedules.set("nightly", nightly)).toMatchObject({ outcome: "created" });
    expect(await sealing.schedules.set("nightly", nightly)).toMatchObject({ outcome: "same" });
    const row = await stored("nightly");
    expect(JSON.stringify(row)).not.toContain("sales");
    expect(row["job"]["payload"]).toMatchObject({ "fairmill:sealed": 1 });
    expect(await sealing.schedules.set("nightly", { ...nightly, input: { of: "costs" } })).toMatchObject({
      outcome: "changed",
    });
  });
});

describe("steering", () => {
  test("paused, it has no next run; resumed, it goes on from now", async () => {
    await client.schedules.set("nightly", nightly);
    await client.schedules.pause("nightly");
    await client.schedules.pause("nightly");
    const [paused] = await client.schedules.list();
    expect(paused).toMatchObject({ nextRun: null, pausedAt: expect.any(Date) });
    // What code says again does not undo what an operator did by hand.
    expect(await client.schedules.set("nightly", nightly)).toEqual({ outcome: "same", nextRun: null });
    await db.query("update fairmill.schedule set next_at = now() - interval '3 days'");
    await client.schedules.resume("nightly");
    const [resumed] = await client.schedules.list();
    expect(resumed!.nextRun!.getTime()).toBeGreaterThan(Date.now());
    expect(resumed!.pausedAt).toBeNull();
  });

  test("declared as paused, it begins paused", async () => {
    expect(await client.schedules.set("nightly", { ...nightly, paused: true })).toEqual({
      outcome: "created",
      nextRun: null,
    });
    expect(await client.schedules.set("nightly", { ...nightly, paused: false })).toMatchObject({
      outcome: "changed",
      nextRun: expect.any(Date),
    });
  });

  test("run by hand, its job is enqueued now, and its ticks stay as they are", async () => {
    const { nextRun } = await client.schedules.set("nightly", { ...nightly, tenant: "acme", priority: 3 });
    const { id, created } = await client.schedules.run("nightly");
    expect(created).toBe(true);
    expect(await client.job(id)).toMatchObject({
      kind: "report",
      state: "ready",
      tenant: "acme",
      priority: 3,
      payload: { of: "sales" },
      tick: null,
    });
    expect((await client.schedules.list())[0]!.nextRun).toEqual(nextRun);
  });

  test("removed, it is gone; what is not there is said so", async () => {
    await client.schedules.set("nightly", nightly);
    expect(await client.schedules.remove("nightly")).toBe(true);
    expect(await client.schedules.remove("nightly")).toBe(false);
    for (const call of [
      () => client.schedules.pause("nightly"),
      () => client.schedules.resume("nightly"),
      () => client.schedules.run("nightly"),
      () => client.schedules.next("nightly"),
    ])
      await expect(call()).rejects.toThrow(ScheduleNotFoundError);
  });
});

test("next runs of a schedule and of an expression", async () => {
  const { nextRun } = await client.schedules.set("nightly", nightly);
  const [first, second, ...rest] = await client.schedules.next("nightly", 5);
  expect(first).toEqual(nextRun);
  expect(second!.getTime()).toBeGreaterThan(first!.getTime());
  expect(rest).toHaveLength(3);
  expect(await client.schedules.next({ cron: "0 3 * * *", timezone: "Europe/Madrid" }, 2)).toEqual([first, second]);
  await expect(client.schedules.next({ cron: "nope" })).rejects.toMatchObject({ setting: "cron" });
  await expect(client.schedules.next("nightly", 0)).rejects.toMatchObject({ setting: "count" });
});

test("the list comes in pages, by name", async () => {
  for (const name of ["c", "a", "b"]) await client.schedules.set(name, nightly);
  const names = async (page: object) => (await client.schedules.list(page)).map(({ name }) => name);
  expect(await names({ limit: 2 })).toEqual(["a", "b"]);
  expect(await names({ after: "b" })).toEqual(["c"]);
  await expect(client.schedules.list({ lmit: 5 } as object)).rejects.toMatchObject({ setting: "lmit" });
});
