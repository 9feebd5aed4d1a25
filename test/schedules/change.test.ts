// F3: a schedule is edited by hand, and the code that declares it leaves the edit alone until it declares something else.
import { type Client, createClient, defineFlow, defineJob } from "fairmill";
import { ConfigError, ScheduleChangedError, ScheduleNotFoundError } from "fairmill/errors";
import { beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { cli, jsonOf } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";

const db = useDatabase();
const report = defineJob({ kind: "report", queue: "reports", input: z.object({ of: z.string() }) });
const nightly = { cron: "0 3 * * *", timezone: "Europe/Madrid", job: report, input: { of: "sales" } } as const;
let client: Client;
beforeEach(async () => {
  client = createClient({ databaseUrl: db.url });
  await client.schedules.set("nightly", nightly);
});
endAfterTest(async () => client.close());

const timeIn = (zone: string, at: Date | null) => at!.toLocaleTimeString("en-GB", { timeZone: zone });
const payload = async () =>
  (await db.query<{ payload: unknown }>("select job -> 'payload' as payload from fairmill.schedule"))[0]!.payload;

test("only what is named changes, and its next run follows", async () => {
  const { outcome, nextRun } = await client.schedules.change("nightly", { cron: "30 4 * * *" });
  expect(outcome).toBe("changed");
  expect(timeIn("Europe/Madrid", nextRun)).toBe("04:30:00");
  expect(await client.schedules.get("nightly")).toMatchObject({
    cron: "30 4 * * *",
    timezone: "Europe/Madrid",
    missed: "once",
    queue: "reports",
    editedAt: expect.any(Date),
  });
  expect(await payload()).toEqual({ of: "sales" });
  await client.schedules.change("nightly", { timezone: "UTC", missed: { all: 3 }, jitter: "5s" });
  expect(await client.schedules.get("nightly")).toMatchObject({ timezone: "UTC", missed: { all: 3 }, jitterMs: 5_000 });
});

test("the same declaration at the next start leaves the edit alone, another one replaces it", async () => {
  await client.schedules.change("nightly", { cron: "30 4 * * *", input: { of: "stock" } });
  expect((await client.schedules.set("nightly", nightly)).outcome).toBe("same");
  expect((await client.schedules.get("nightly"))!.cron).toBe("30 4 * * *");
  expect((await client.schedules.set("nightly", { ...nightly, cron: "0 5 * * *" })).outcome).toBe("changed");
  expect(await client.schedules.get("nightly")).toMatchObject({ cron: "0 5 * * *", editedAt: null });
  expect(await payload()).toEqual({ of: "sales" });
});

test("an input fits the schema of the definition that is given, and nothing changes where it does not", async () => {
  await expect(client.schedules.change("nightly", { input: { of: 3 } as never, job: report })).rejects.toThrow(/of/);
  expect(await payload()).toEqual({ of: "sales" });
  await client.schedules.change("nightly", { input: { of: "stock" }, job: report });
  expect(await payload()).toEqual({ of: "stock" });
  const { id } = await client.schedules.run("nightly");
  expect(await client.job(id)).toMatchObject({ kind: "report", queue: "reports", payload: { of: "stock" } });
});

test("what follows from an input by a definition is not left behind: it follows, or the edit is refused", async () => {
  const once = defineJob<{ of: string }>({ kind: "once", unique: { by: ({ of }) => of } });
  await client.schedules.set("once", { cron: "0 3 * * *", job: once, input: { of: "a" } });
  await expect(client.schedules.change("once", { input: { of: "b" } })).rejects.toThrow(/unique key follows/);
  await client.schedules.change("once", { input: { of: "b" }, job: once });
  const first = await client.schedules.run("once");
  expect((await client.enqueue(once, { of: "b" })).id).toBe(first.id);
});

test("a change that came in between is not written over, and ticks are no change", async () => {
  const seen = (await client.schedules.get("nightly"))!.updatedAt;
  await client.schedules.pause("nightly");
  await client.schedules.resume("nightly");
  await client.schedules.change("nightly", { cron: "0 4 * * *", unchangedSince: seen });
  const late = client.schedules.change("nightly", { cron: "0 5 * * *", unchangedSince: seen });
  await expect(late).rejects.toBeInstanceOf(ScheduleChangedError);
  expect((await client.schedules.get("nightly"))!.cron).toBe("0 4 * * *");
});

test("paused and let go on in the same words, and the same again changes nothing", async () => {
  expect(await client.schedules.change("nightly", { paused: true })).toEqual({ outcome: "changed", nextRun: null });
  expect((await client.schedules.change("nightly", { paused: true })).outcome).toBe("same");
  const { nextRun } = await client.schedules.change("nightly", { paused: false });
  expect(timeIn("Europe/Madrid", nextRun)).toBe("03:00:00");
});

test("a tick that is due is not lost by a change of something else, and is by a change of its time", async () => {
  await db.query("update fairmill.schedule set next_at = now() - interval '3 minutes'");
  await client.schedules.change("nightly", { missed: "skip" });
  expect((await client.schedules.get("nightly"))!.nextRun!.getTime()).toBeLessThan(Date.now());
  await client.schedules.change("nightly", { cron: "0 4 * * *" });
  expect((await client.schedules.get("nightly"))!.nextRun!.getTime()).toBeGreaterThan(Date.now());
});

test("what cannot be is refused in words", async () => {
  await expect(client.schedules.change("nobody", { paused: true })).rejects.toBeInstanceOf(ScheduleNotFoundError);
  await expect(client.schedules.change("nightly", { cron: "every day" })).rejects.toBeInstanceOf(ConfigError);
  await expect(client.schedules.change("nightly", { when: "now" } as never)).rejects.toThrow(/when/);
  const flow = defineFlow({ name: "f" }, (made) => void made.job("n", report, () => ({ of: "x" })));
  await client.schedules.set("flows", { cron: "0 3 * * *", flow, input: {} });
  await expect(client.schedules.change("flows", { input: {} })).rejects.toThrow(/starts flows/);
  await client.schedules.change("flows", { cron: "0 4 * * *" });
});

test("the command shows the next five runs before it saves, and what it saves is on record", async () => {
  const env = { DATABASE_URL: db.url };
  const words = ["schedules", "change", "nightly", "--cron", "0 4 * * *"];
  const looked = await cli([...words, "--dry-run"], { env });
  expect(looked.stdout.match(/04:00/g)).toHaveLength(5);
  expect((await client.schedules.get("nightly"))!.cron).toBe("0 3 * * *");
  expect(await db.query("select from fairmill.audit_event")).toEqual([]);
  const saved = await cli([...words, "--input", '{"of":"a secret"}', "--json", "--by", "ann"], { env });
  expect(jsonOf(saved)).toMatchObject({ outcome: "changed", runs: { length: 5 } });
  expect(await db.query("select actor, action, subject, detail, outcome from fairmill.audit_event")).toEqual([
    {
      ...{ actor: "ann", action: "schedule.change", subject: "schedule nightly", outcome: "done" },
      detail: { cron: "0 4 * * *", input: "changed" },
    },
  ]);
});
