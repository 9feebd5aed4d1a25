// The command about credits.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { cli, jsonOf } from "./cli.js";

const db = useDatabase();
const run = (...args: string[]) => cli(args, { env: { DATABASE_URL: db.url } });

test("an account that nobody made is told as empty, with what to do", async () => {
  expect(await run("credits", "ann")).toEqual({
    code: 0,
    stderr: "",
    stdout: 'The account "ann" has no credits and no movements. Give it some: fairmill credits grant ann 100\n',
  });
  expect(jsonOf(await run("credits", "ann", "--json"))).toEqual({
    account: "ann",
    available: 0,
    reserved: 0,
    entries: [],
    next: null,
  });
});

test("grants once per key, and shows balance and movements", async () => {
  const granted = await run("credits", "grant", "ann", "100", "--key", "order-1", "--reason", "paid by card");
  expect(granted).toEqual({ code: 0, stderr: "", stdout: 'Granted. The account "ann" has 100 free.\n' });
  const again = await run("credits", "grant", "ann", "100", "--key", "order-1");
  expect(again.stdout).toBe('This key granted before; nothing was added. The account "ann" has 100 free.\n');
  expect(jsonOf(await run("credits", "grant", "ann", "5", "--json"))).toEqual({
    account: "ann",
    available: 105,
    granted: true,
  });

  await using client = createClient({ databaseUrl: db.url });
  const draw = defineJob<object>({ kind: "draw", credits: { account: () => "ann", amount: 4 } });
  const held = await client.enqueue(draw, {});
  const back = await client.enqueue(draw, {});
  await client.cancel(back.id);
  const shown = await run("credits", "ann");
  expect(shown.stdout.split("\n").map((line) => line.replaceAll(/ {2,}/g, "|"))).toEqual([
    "Account ann: 101 free, 4 reserved by jobs",
    "",
    "ID|WHEN|MOVEMENT|FREE|JOB|REASON",
    expect.stringMatching(new RegExp(`\\|release\\|\\+4\\|${back.id}$`)),
    expect.stringMatching(new RegExp(`\\|reservation\\|-4\\|${back.id}$`)),
    expect.stringMatching(new RegExp(`\\|reservation\\|-4\\|${held.id}$`)),
    expect.stringMatching(/\|grant\|\+5$/),
    expect.stringMatching(/\|grant\|\+100\|paid by card$/),
    "",
  ]);
  const page = await run("credits", "ann", "--limit", "2");
  const [, next] = /Older ones: the same command with --before (\d+)\n$/.exec(page.stdout)!;
  const older = jsonOf<{ entries: { kind: string }[] }>(await run("credits", "ann", "--before", next!, "--json"));
  expect(older.entries.map(({ kind }) => kind)).toEqual(["reservation", "grant", "grant"]);
  expect((await run("job", held.id)).stdout).toContain("credits  4 of ann, reserved");
});

test.each([
  ["credits"],
  ["credits", "grant"],
  ["credits", "grant", "ann"],
  ["credits", "grant", "ann", "0"],
  ["credits", "grant", "ann", "1.5"],
  ["credits", "give", "ann", "5"],
  ["credits", "ann", "--key", "k"],
  ["credits", "grant", "ann", "5", "--limit", "2"],
  ["credits", "x".repeat(201)],
])("is wrong usage: %s %s %s %s", async (...args) => {
  expect((await run(...args)).code).toBe(2);
  expect(await db.query("select from fairmill.account")).toEqual([]);
});

test("names from outside cannot reach the terminal's controls", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.grant("\u001b[2Jevil", 1, { reason: "\u001b[2J" });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there.
  expect((await run("credits", "\u001b[2Jevil")).stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});
