// The command about credits.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { cli, jsonOf } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const run = (...args: string[]) => cli(args, { env: { DATABASE_URL: db.url } });

test("an account that was never made is told as empty, with what to do", async () => {
  expect(await run("credits", "statement", "ann")).toEqual({
    code: 0,
    stderr: "",
    stdout: 'The account "ann" has no credits and no movements. Give it some: fairmill credits grant ann 100\n',
  });
  expect(jsonOf(await run("credits", "statement", "ann", "--json"))).toEqual({
    account: "ann",
    available: 0,
    reserved: 0,
    entries: [],
    next: null,
  });
});

test("grants once per key, and shows balance and movements", async () => {
  const granted = await run(
    "credits",
    "grant",
    "ann",
    "100",
    "--idempotency-key",
    "order-1",
    "--reason",
    "paid by card",
  );
  expect(granted).toEqual({ code: 0, stderr: "", stdout: 'Granted. The account "ann" has 100 free.\n' });
  const again = await run("credits", "grant", "ann", "100", "--idempotency-key", "order-1");
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
  const shown = await run("credits", "statement", "ann");
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
  const page = await run("credits", "statement", "ann", "--limit", "2");
  const [, next] = /Older ones: the same command with --before (\d+)\n$/.exec(page.stdout)!;
  const older = jsonOf<{ entries: { kind: string }[] }>(
    await run("credits", "statement", "ann", "--before", next!, "--json"),
  );
  expect(older.entries.map(({ kind }) => kind)).toEqual(["reservation", "grant", "grant"]);
  expect((await run("job", held.id)).stdout).toContain("credits  4 of ann, reserved");
});

test("shows a balance alone", async () => {
  await run("credits", "grant", "ann", "7");
  expect((await run("credits", "balance", "ann")).stdout).toBe("Account ann: 7 free, 0 reserved by jobs\n");
  expect(jsonOf(await run("credits", "balance", "ann", "--json"))).toEqual({
    account: "ann",
    available: 7,
    reserved: 0,
  });
  expect((await run("credits", "balance", "bob")).stdout).toBe(
    "Account bob: 0 free, 0 reserved by jobs. Give it some: fairmill credits grant bob 100\n",
  );
});

test("alone, it shows its subcommands", async () => {
  expect(await run("credits")).toEqual(await run("credits", "--help"));
});

test.each([
  [["credits", "--json"], "What about credits?"],
  [["credits", "balance"], "Missing required argument 'account'"],
  [["credits", "grant", "ann"], "Missing required argument 'amount'"],
  [["credits", "grant", "ann", "0"], "amount: 0 is not"],
  [["credits", "grant", "ann", "1.5"], "is not a whole number"],
  [["credits", "give", "ann", "5"], 'has no subcommand "give". Known: "fairmill credits balance"'],
  [["credits", "grnt", "ann", "5"], 'Did you mean "fairmill credits grant"?'],
  [["credits", "balance", "ann", "--reason", "k"], "Unknown option '--reason'"],
  [["credits", "grant", "ann", "5", "--limit", "2"], "Unknown option '--limit'"],
  [["credits", "balance", "x".repeat(201)], "account: "],
])("%j is wrong usage", async (args, words) => {
  const { code, stdout, stderr } = await run(...args);
  expect(code).toBe(2);
  expect(stdout + stderr).toContain(args.includes("--json") ? words : `error: `);
  expect(stdout + stderr).toContain(words);
  expect(await db.query("select from fairmill.account")).toEqual([]);
});

test("names from outside cannot reach the terminal's controls", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.credits.grant("\u001b[2Jevil", 1, { reason: "\u001b[2J" });
  const { stdout } = await run("credits", "statement", "\u001b[2Jevil");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there.
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});
