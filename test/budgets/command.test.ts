// The command about budgets.
import { createClient } from "fairmill";
import { expect, test } from "vitest";
import { cli, jsonOf } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const run = (...args: string[]) => cli(["budgets", ...args], { env: { DATABASE_URL: db.url } });
const linesOf = (stdout: string) => stdout.split("\n").map((line) => line.trimEnd().replaceAll(/ {2,}/g, "|"));

test("sets a budget, lists it, and says what to do where there is none", async () => {
  expect((await run()).stdout).toBe("There is no budget. Set one: fairmill budgets set acme --per month --hard 50\n");
  const set = await run("set", "acme", "--per", "month", "--soft", "40", "--hard", "50.5", "--kind", "draw");
  expect(linesOf(set.stdout)).toEqual([
    "TENANT|PER|OF|SPENT|SOFT|HARD|STATE|BEGINS AGAIN",
    expect.stringMatching(/^acme\|month\|kind draw\|0 USD\|40\|50\.5\|within\|in /),
    "",
  ]);
  await run("set", "globex", "--per", "day", "--hard", "1", "--currency", "EUR");
  const listed = jsonOf<{ budgets: object[] }>(await run("list", "--tenant", "globex", "--json"));
  expect(listed.budgets).toMatchObject([{ tenant: "globex", per: "day", hard: 1, soft: null, currency: "EUR" }]);
  const got = await run("get", "globex", "--per", "day", "--currency", "EUR", "--json");
  expect(jsonOf(got)).toMatchObject({ budget: { tenant: "globex", hard: 1, currency: "EUR" } });
  expect(await run("get", "globex", "--per", "day")).toMatchObject({
    code: 1,
    stderr: "There is no budget of globex per day, all calls. See them: fairmill budgets\n",
  });
  expect(await db.query("select action, subject from fairmill.audit_event order by id")).toEqual([
    { action: "budget.set", subject: "tenant acme" },
    { action: "budget.set", subject: "tenant globex" },
  ]);
});

test("what is not named stays: raising a budget keeps its soft threshold and its calendar", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const name = { tenant: "acme", per: "month" } as const;
  await client.budgets.set({ ...name, soft: 40, hard: 50, timeZone: "Europe/Zurich" });
  await run("set", "acme", "--per", "month", "--hard", "80");
  expect(await client.budgets.get(name)).toMatchObject({ soft: 40, hard: 80, timeZone: "Europe/Zurich" });
  await run("set", "acme", "--per", "month", "--soft", "none", "--time-zone", "Asia/Tokyo");
  expect(await client.budgets.get(name)).toMatchObject({ soft: null, hard: 80, timeZone: "Asia/Tokyo" });
});

test("removes one, once", async () => {
  await run("set", "acme", "--per", "day", "--hard", "1", "--provider", "gemini");
  expect(await run("remove", "acme", "--per", "day")).toMatchObject({
    code: 1,
    stderr: "There is no budget of acme per day, all calls. See them: fairmill budgets\n",
  });
  const removing = ["remove", "acme", "--per", "day", "--provider", "gemini"];
  expect((await run(...removing)).stdout).toBe("The budget of acme per day, provider gemini is gone.\n");
  expect((await run(...removing)).code).toBe(1);
});

test("words that make no budget are refused, and change nothing", async () => {
  const refused = async (...args: string[]) => {
    const { code, stderr } = await run(...args);
    return [code, stderr.split("\n")[0]];
  };
  expect(await refused("set", "acme", "--hard", "1")).toEqual([2, "error: For a day or a month? Write --per month."]);
  expect(await refused("set", "acme", "--per", "week", "--hard", "1")).toEqual([
    2,
    "error: --per: write day or month.",
  ]);
  expect(await refused("set", "acme", "--per", "day")).toEqual([
    2,
    "error: What may it cost? Write --hard 50, --soft 40, or both.",
  ]);
  expect(await refused("set", "acme", "--per", "day", "--hard", "much")).toEqual([
    2,
    'error: --hard: "much" is not an amount. Write it like 12.50, or "none".',
  ]);
  expect(await refused("set", "acme", "--per", "day", "--time-zone", "Asia/Tokyo")).toEqual([
    2,
    "error: There is no budget of acme per day, all calls yet. Write --hard 50, --soft 40, or both.",
  ]);
  expect(await refused("set", "acme", "--per", "day", "--soft", "5", "--hard", "3")).toEqual([
    1,
    "error: budgets.set: soft: 5 is above hard, which is 3.",
  ]);
  await run("set", "acme", "--per", "day", "--hard", "1");
  expect(await refused("set", "acme", "--per", "day", "--hard", "none")).toEqual([
    2,
    "error: Nothing of it would be left. To take it away: fairmill budgets remove acme --per day",
  ]);
  expect(await db.query("select tenant, hard::text from fairmill.budget")).toEqual([{ tenant: "acme", hard: "1" }]);
});
