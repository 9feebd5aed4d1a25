// What the command says when it is called, rightly or wrongly, before any database is involved.
import { expect, test } from "vitest";
import { cli, jsonOf, scratchFolder } from "./cli.js";

const ALL =
  "dev migrate work enqueue jobs job why cancel retry redrive rerun batches flows pause resume tenants queues kinds credits outbox schedules".split(
    " ",
  );
const VERBS = ["schedules pause", "tenants set", "batches cancel", "outbox resolve", "credits grant", "queues list"];

test("help lists every command, and every command's help has examples and the options of all", async () => {
  const general = await cli(["--help"]);
  expect(await cli([])).toEqual(general);
  expect(general).toMatchObject({ code: 0, stderr: "" });
  for (const name of ALL) expect(general.stdout).toMatch(new RegExp(`^  ${name}\\b`, "m"));
  const helps = await Promise.all([...ALL, ...VERBS].map((name) => cli([...name.split(" "), "--help"])));
  for (const help of helps) {
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toContain("Examples:\n  fairmill ");
    for (const option of ["--database-url", "--schema", "--config", "--json"]) expect(help.stdout).toContain(option);
  }
});

test("the version is the package's", async () => {
  const plain = await cli(["--version"]);
  expect(plain.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  const json = await cli(["-V", "--json"]);
  expect(json).toMatchObject({ code: 0, stderr: "" });
  expect(jsonOf(json)).toEqual({ version: plain.stdout.trim() });
});

test.concurrent.each([
  [["jbos"], "Unknown command 'jbos' (Did you mean jobs?)", "fairmill --help"],
  [["help", "jbos"], 'Unknown command "jbos" (Did you mean jobs?)', "fairmill --help"],
  [["help", "something"], 'Unknown command "something".', "fairmill --help"],
  [["serve", "--host", "0.0.0.0", "--database-url", "postgres://a@b/c"], "no sign-in", "fairmill serve --help"],
  [["jobs", "--quue", "x"], "Unknown option '--quue' (Did you mean --queue?)", "fairmill jobs --help"],
  [["job"], "Missing required argument 'id'", "fairmill job --help"],
  [["job", "17x"], '"17x" is not a job id', "fairmill job --help"],
  [["cancel", "1", "two"], '"two" is not a job id', "fairmill cancel --help"],
  [["jobs", "--limit", "1000"], "--limit: 1000 is not a whole number from 1 to 200", "fairmill jobs --help"],
  [["jobs", "--state", "lost"], "Allowed choices are scheduled, ready", "fairmill jobs --help"],
  [["enqueue", "a", "{to:1}"], "The payload is not JSON", "fairmill enqueue --help"],
  [["enqueue", "a", '{"n":9007199254740993}'], "would be kept as 9007199254740992", "fairmill enqueue --help"],
  [["enqueue", "a", "--delay", "5x"], '--delay: "5x" is not a duration', "fairmill enqueue --help"],
  [["enqueue", "a", "--run-at", "soon"], '--run-at: "soon" is not a moment', "fairmill enqueue --help"],
  [["enqueue", "a", "--run-at", "2030-01-01 5 o'clock"], "is not a moment", "fairmill enqueue --help"],
  [["redrive", "--since", "2030-02-30"], "is not a moment", "fairmill redrive --help"],
  [["enqueue", "a", "--delay", "1s", "--run-at", "2030-01-01"], "not both", "fairmill enqueue --help"],
  [["migrate", "--print", "--check"], "cannot be used with", "fairmill migrate --help"],
  [["jobs", "--schema", "public"], "will not do", "fairmill jobs --help"],
  [["jobs"], "There is no database to work on", "fairmill jobs --help"],
  [["work", "--database-url", "postgres://a@b/c"], "There is no config here or above", "fairmill work --help"],
  [["work", "--config", "nowhere.ts"], "there is no file nowhere.ts", "fairmill work --help"],
])("%j is refused with exit code 2, the reason and where to look", async (args, reason, help) => {
  const { code, stdout, stderr } = await cli(args, { cwd: await scratchFolder() });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(reason);
  expect(stderr.trimEnd().split("\n")).toHaveLength(2);
  expect(stderr).toContain(help);
});

test.concurrent.each([
  [["--json"], "None was given"],
  [["--json", "jbos"], "Unknown command 'jbos' (Did you mean jobs?)"],
  [["jobs", "--quue", "x", "--json"], "Unknown option '--quue' (Did you mean --queue?)"],
  [["enqueue", "a", "{to:1}", "--json"], "The payload is not JSON"],
  [["job", "17x", "--json"], '"17x" is not a job id'],
])("%j is refused with exit code 2 and one JSON value", async (args, reason) => {
  const ended = await cli(args, { cwd: await scratchFolder() });
  expect(ended).toMatchObject({ code: 2, stderr: "" });
  expect(jsonOf(ended)).toEqual({ error: { code: "FAIRMILL_USAGE", message: expect.stringContaining(reason) } });
});

test("a database URL that is none is refused without repeating the password in it", async () => {
  const flag = await cli(["jobs", "--database-url", "mysql://root:s3cret@host/db"]);
  const environment = await cli(["jobs"], { env: { DATABASE_URL: "postgres://root:s3cret@ho st/db" } });
  for (const { code, stdout, stderr } of [flag, environment]) {
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain("s3cret");
    expect(stderr).toContain("is not a PostgreSQL URL");
  }
});

test("a database that cannot be reached is a failure with advice, and the stack appears only for debugging", async () => {
  const args = ["jobs", "--schema", "fairmill", "--database-url", "postgres://nobody:s3cret@127.0.0.1:1/none"];
  const [plain, json, debug] = await Promise.all([
    cli(args),
    cli([...args, "--json"]),
    cli(args, { env: { FAIRMILL_LOG_LEVEL: "debug" } }),
  ]);
  expect(plain).toMatchObject({ code: 1, stdout: "" });
  expect(plain.stderr).toMatch(/^error: The database .*Check that PostgreSQL runs.*\n$/);
  expect(json.code).toBe(1);
  expect(jsonOf(json)).toMatchObject({ error: { code: "FAIRMILL_DATABASE_UNREACHABLE" } });
  expect(debug.stderr).toMatch(/\n {4}at /);
  expect(plain.stderr + debug.stderr).not.toContain("s3cret");
});

test("migrate --print writes the whole script without a database, in the schema that was asked for", async () => {
  const [plain, other, json] = await Promise.all([
    cli(["migrate", "--print"]),
    cli(["migrate", "--print"], { env: { FAIRMILL_SCHEMA: "mill_two" } }),
    cli(["migrate", "--print", "--json"]),
  ]);
  expect(plain).toMatchObject({ code: 0, stderr: "" });
  expect(plain.stdout).toMatch(/^begin;[\s\S]*create table fairmill\.job [\s\S]*commit;\n$/);
  expect(other.stdout).toContain("create table mill_two.job ");
  expect(other.stdout).not.toMatch(/\bfairmill\.(?!deliver\.|%'|")/);
  expect(jsonOf<{ sql: string }>(json).sql.trimEnd()).toBe(plain.stdout.trimEnd());
});
