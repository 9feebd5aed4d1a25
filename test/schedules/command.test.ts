// The command about schedules.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { cli, jsonOf } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const run = (...args: string[]) => cli(args, { env: { DATABASE_URL: db.url } });
const report = defineJob<object>({ kind: "report" });
const nightly = { cron: "0 3 * * *", timezone: "Europe/Madrid", job: report, input: {} } as const;

test("without schedules says how to get one", async () => {
  const { stdout } = await run("schedules");
  expect(stdout).toBe("There is no schedule. Declare one in code: client.schedules.set(name, { cron, job, input }).\n");
  expect(jsonOf(await run("schedules", "--json"))).toEqual({ schedules: [], next: null });
});

test("lists, shows next runs, pauses, resumes, runs by hand and removes", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { nextRun } = await client.schedules.set("nightly", nightly);
  await client.schedules.set("weekly", { ...nightly, cron: "@weekly" });
  const { stdout } = await run("schedules");
  expect(stdout.split("\n").map((line) => line.replaceAll(/ {2,}/g, "|"))).toEqual([
    "NAME|CRON|ZONE|NEXT|LAST|KIND|TROUBLE",
    expect.stringMatching(/^nightly\|0 3 \* \* \*\|Europe\/Madrid\|in \d+.+\|report$/),
    expect.stringMatching(/^weekly\|@weekly\|Europe\/Madrid\|in \d+.+\|report$/),
    "",
  ]);
  expect(jsonOf(await run("schedules", "--limit", "1", "--json"))).toMatchObject({
    schedules: [{ name: "nightly", nextRun: nextRun!.toISOString(), pausedAt: null }],
    next: "nightly",
  });

  const next = jsonOf<{ runs: string[] }>(await run("schedules", "next", "nightly", "--count", "3", "--json"));
  expect(next.runs).toHaveLength(3);
  expect(next.runs[0]).toBe(nextRun!.toISOString());
  const same = await run("schedules", "next", "0 3 * * *", "--timezone", "Europe/Madrid", "--count", "3", "--json");
  expect(jsonOf(same)).toEqual(next);
  // By the clocks of the zone: three in the morning, whatever UTC says.
  const shown = (await run("schedules", "next", "nightly", "--count", "3")).stdout.trim().split("\n");
  expect(shown).toEqual(
    Array(3).fill(expect.stringMatching(/^\w{3} \d{4}-\d\d-\d\d 03:00:00 \+0[12]:00 Europe\/Madrid {2}in \d/)),
  );
  expect((await run("schedules", "next", "@hourly")).stdout.trim().split("\n")).toHaveLength(5);

  const got = await run("schedules", "get", "nightly");
  expect(got.stdout).toMatch(
    /^Schedule nightly\n {2}cron {5}0 3 \* \* \*, Europe\/Madrid\n {2}job {6}\S+, queue default, tenant default\n/,
  );
  expect(jsonOf(await run("schedules", "get", "nightly", "--json"))).toMatchObject({ name: "nightly", pausedAt: null });
  expect(await run("schedules", "list")).toEqual(await run("schedules"));
  expect((await run("schedules", "pause", "nightly")).stdout).toBe('The schedule "nightly" is paused.\n');
  expect((await run("schedules")).stdout).toMatch(/^nightly .+ paused /m);
  expect((await run("schedules", "resume", "nightly")).stdout).toMatch(
    /^The schedule "nightly" goes on; next run \w{3} [\d-]+ 03:00:00 \+0[12]:00 Europe\/Madrid\.\n$/,
  );
  const { id } = jsonOf<{ id: string }>(await run("schedules", "run", "nightly", "--json"));
  expect(await client.job(id)).toMatchObject({ kind: "report", state: "ready" });
  expect((await run("schedules", "remove", "nightly")).stdout).toBe(
    'The schedule "nightly" is removed; its jobs stay.\n',
  );
  expect((await client.schedules.list()).map(({ name }) => name)).toEqual(["weekly"]);
});

test("a job of a tick shows which one it was", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(report, {});
  await db.query("insert into fairmill.schedule_tick values ('nightly', '2026-11-15T02:00:00Z', $1)", [id]);
  expect((await run("job", id)).stdout).toContain("schedule nightly, tick of 2026-11-15T02:00:00.000Z");
});

test.each(["get", "next", "pause", "resume", "run", "remove"])(
  "%s of a schedule that is not there fails, and says so",
  async (word) => {
    const { code, stderr } = await run("schedules", word, "nobody");
    expect(code).toBe(1);
    expect(stderr).toContain('There is no schedule "nobody".');
  },
);

test.each([
  ["schedules", "stop", "nightly"],
  ["schedules", "nightly"],
  ["schedules", "--limit", "5", "pause", "nightly"],
  ["schedules", "pause", "nightly", "weekly"],
  ["schedules", "pause"],
  ["schedules", "next"],
  ["schedules", "next", "61 * * * *"],
  ["schedules", "next", "@never"],
  ["schedules", "next", "0 3 * * *", "--timezone", "Mars/Olympus"],
  ["schedules", "next", "nightly", "--count", "0"],
  ["schedules", "pause", "nightly", "--count", "5"],
  ["schedules", "next", "nightly", "--limit", "5"],
  ["schedules", "--timezone", "UTC"],
])("is wrong usage: %s %s %s %s", async (...args) => {
  expect((await run(...args)).code).toBe(2);
});
