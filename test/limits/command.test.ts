// The commands about limits: why, pause, resume, tenants, queues, kinds.
import { createClient, defineJob } from "fairmill";
import { describe, expect, test } from "vitest";
import { cli, jsonOf, type Surroundings } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { claim, fill, register } from "../support/sql/calls.js";

const db = useDatabase();
const here = (more: Surroundings = {}): Surroundings => ({ ...more, env: { DATABASE_URL: db.url, ...more.env } });
const run = (...args: string[]) => cli(args, here());

async function stored(tenant = "acme", definition = defineJob<object>({ kind: "work" })): Promise<string> {
  await using client = createClient({ databaseUrl: db.url });
  return (await client.enqueue(definition, {}, { tenant })).id;
}

describe("why", () => {
  test("lists every check, passed or not, and says the first that is not", async () => {
    const id = await stored();
    await run("pause", "--tenant", "acme");
    const told = await run("why", id);
    expect(told).toMatchObject({ code: 0, stderr: "" });
    const lines = told.stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(new RegExp(`^Job ${id} is ready\\. The tenant "acme" is paused since .*Z\\.$`));
    expect(lines.slice(2, -2).map((line) => line.slice(0, 15).trim())).toEqual([
      "✓ state",
      "✓ scheduled",
      "✗ paused",
      "✗ worker",
      "✓ turn",
    ]);
    expect(lines.at(-1)).toBe("Go on: fairmill resume --tenant acme");
  });

  test("with --json it is the client's answer; a job that does not exist is a failure", async () => {
    const id = await stored();
    const told = await run("why", id, "--json");
    expect(jsonOf(told)).toMatchObject({
      id,
      state: "ready",
      reason: "No worker is alive.",
      checks: expect.any(Array),
    });
    const [unknown, unknownJson] = await Promise.all([run("why", "999999"), run("why", "999999", "--json")]);
    expect(unknown).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("There is no job 999999") });
    expect(unknownJson.code).toBe(1);
    expect(jsonOf(unknownJson)).toMatchObject({ error: { code: "FAIRMILL_JOB_NOT_FOUND" } });
  });

  test("of a job that runs or has ended is one line of checks", async () => {
    const id = await stored();
    await register(db, "w");
    await claim(db, "w");
    expect((await run("why", id)).stdout).toMatch(/^Job \d+ is running\. It runs on worker w, .*\n\n {2}✓ state .*\n$/);
    await db.query(
      "select fairmill.settle_v1('w', array[$1::bigint], (select array_agg(j.lease_no) from fairmill.job j where j.id = $1), '{dead}')",
      [id],
    );
    expect((await run("why", id)).stdout).toMatch(
      /^Job \d+ is dead\. .*\n\n {2}✗ state .*\n\nRun it again: fairmill retry \d+\n$/,
    );
  });

  test("commands that it and the lists advise can be copied into a shell, whatever the names are", async () => {
    const id = await stored("my tenant's");
    await run("pause", "--tenant", "my tenant's");
    const word = String.raw`'my tenant'\''s'`;
    expect((await run("why", id)).stdout).toContain(`\nGo on: fairmill resume --tenant ${word}\n`);
    expect((await run("tenants", "--limit", "1")).stdout).toContain(`the same command with --after ${word}\n`);
    await using client = createClient({ databaseUrl: db.url });
    await client.schedules.set("my schedule", { cron: "@daily", job: defineJob<object>({ kind: "work" }), input: {} });
    expect((await run("schedules", "--limit", "1")).stdout).toContain("the same command with --after 'my schedule'\n");
    expect((await run("credits", "statement", "my account")).stdout).toContain(
      ": fairmill credits grant 'my account' 100\n",
    );
  });

  test("names from outside cannot reach the terminal's controls", async () => {
    const id = await stored("\u001b[2J\u202eevil");
    await using client = createClient({ databaseUrl: db.url });
    await client.pause({ tenant: "\u001b[2J\u202eevil" });
    for (const told of [await run("why", id), await run("tenants")]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there.
      expect(told.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
  });
});

describe("pause and resume", () => {
  test.each([
    ["queue", "mails"],
    ["kind", "mail.send"],
    ["tenant", "acme"],
  ])("of a %s", async (scope, name) => {
    const rows = () => db.query("select scope, name from fairmill.limit_setting where paused_at is not null");
    const paused = await run("pause", `--${scope}`, name);
    expect(paused).toMatchObject({
      code: 0,
      stdout: `The ${scope} "${name}" is paused: nothing of it is started until it is resumed.\n`,
    });
    expect(await rows()).toEqual([{ scope, name }]);
    const resumed = await run("resume", `--${scope}`, name, "--json");
    expect(resumed.code).toBe(0);
    expect(jsonOf(resumed)).toEqual({ scope, name, paused: false });
    expect(await rows()).toEqual([]);
  });

  test("a pause with an end says it, and so do the list and why", async () => {
    const id = await stored();
    const lasting = await run("pause", "--tenant", "acme", "--for", "10m");
    expect(lasting.stdout).toBe('The tenant "acme" is paused: nothing of it is started for 10m.\n');
    expect((await run("tenants")).stdout).toMatch(/acme .* 9m 5\ds more/);
    const until = await run("pause", "--tenant", "acme", "--until", "2999-01-01T00:00:00Z", "--json");
    expect(jsonOf(until)).toMatchObject({ paused: true, until: "2999-01-01T00:00:00.000Z" });
    expect((await run("why", id)).stdout).toContain('The tenant "acme" is paused until 2999-01-01T00:00:00.000Z.\n');
    const late = await run("pause", "--tenant", "acme", "--until", "2001-01-01T00:00:00Z");
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining("has passed by the clock of the database") });
  });

  test.each([
    [["pause", "--queue", "a", "--for", "1m", "--until", "2999-01-01T00:00:00Z"], "Give --until or --for, not both."],
    [["pause"], "Say what to pause: --queue, --kind or --tenant, one of them."],
    [["resume", "--queue", "a", "--kind", "b"], "Say what to resume: --queue, --kind or --tenant, one of them."],
    [["pause", "--queue", ""], "--queue: "],
  ])("%j cannot work", async (args, reason) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(reason);
  });
});

describe("tenants, queues, kinds", () => {
  test("say that there are none, and what to do", async () => {
    const [tenants, queues, kinds, json] = await Promise.all([
      run("tenants"),
      run("queues"),
      run("kinds"),
      run("queues", "--json"),
    ]);
    expect(tenants).toMatchObject({ code: 0, stdout: expect.stringContaining("fairmill tenants set acme") });
    expect(queues).toMatchObject({ code: 0, stdout: expect.stringContaining("There is no queue yet") });
    expect(kinds).toMatchObject({ code: 0, stdout: expect.stringContaining("fairmill kinds set mail.send") });
    expect(jsonOf(json)).toEqual({ queues: [], next: null });
  });

  test("set changes what it names and nothing else, and the list shows it", async () => {
    const set = (...args: string[]) => run("tenants", "set", "acme", ...args);
    expect(await set("--weight", "2", "--max-running", "20", "--rate", "100/1m", "--rate-at", "enqueue")).toMatchObject(
      {
        code: 0,
        stdout: 'The tenant "acme" has weight 2, a cap of 20 running, a rate of 100 per minute, at enqueue.\n',
      },
    );
    expect(jsonOf(await set("--rate", "5/1s", "--rate-how", "uniform", "--json"))).toEqual({
      tenant: "acme",
      changed: { rate: { limit: 5, per: "1s", how: "uniform" } },
    });
    await fill(db, 1_200, { tenant: "bob" });
    await run("pause", "--tenant", "acme");
    const { stdout } = await run("tenants");
    const [head, acme, bob] = stdout.trimEnd().split("\n");
    expect(head).toMatch(/^TENANT +WEIGHT +READY +RUNNING +MAX +RATE +PAUSED$/);
    expect(acme).toMatch(/^acme +2 +0 +0 +20 +5 per second, evenly +for [\d.]+m?s$/);
    expect(bob).toMatch(/^bob +1 +1000\+ +0$/);
    expect((await set("--no-rate", "--no-max-running")).stdout).toBe('The tenant "acme" has no cap, no rate.\n');
    const page = await run("tenants", "--limit", "1", "--json");
    expect(jsonOf(page)).toMatchObject({
      tenants: [{ tenant: "acme", weight: 2, maxRunning: null, rate: null }],
      next: "acme",
    });
    expect(jsonOf(await run("tenants", "--after", "acme", "--json"))).toMatchObject({ tenants: [{ tenant: "bob" }] });
    expect((await run("tenants", "--limit", "1")).stdout).toContain("More of them: the same command with --after acme");
  });

  test("queues and kinds have their own columns and the same set", async () => {
    await register(db, "w");
    await stored("acme", defineJob<object>({ kind: "keyed", limits: { active: 1, rate: { limit: 5, per: "90s" } } }));
    await run("queues", "set", "default", "--max-running", "3");
    await run("kinds", "set", "work", "--rate", "1/1500ms");
    const [queues, kinds] = await Promise.all([run("queues"), run("kinds")]);
    expect(queues.stdout).toMatch(
      /^QUEUE +WORKERS +READY +RUNNING +SCHEDULED +BLOCKED +MAX +RATE +PAUSED\ndefault +1 +1 +0 +0 +0 +3\n$/,
    );
    expect(kinds.stdout).toMatch(
      /^KIND +BY DEFINITION +MAX +RATE +PAUSED\nkeyed +1 active; 5 per 90 seconds, of each kind\nwork +1 per 1500 ms\n$/,
    );
  });

  test("get says what the list says of one, and fails where that is nothing", async () => {
    await run("tenants", "set", "acme", "--weight", "2");
    await run("tenants", "set", "acm", "--weight", "3");
    const [list, one, json] = await Promise.all([
      run("tenants"),
      run("tenants", "get", "acme"),
      run("tenants", "get", "acm", "--json"),
    ]);
    expect(list.stdout.split("\n")).toEqual(expect.arrayContaining(one.stdout.trimEnd().split("\n")));
    expect(one.stdout).not.toContain("acm ");
    expect(jsonOf(json)).toMatchObject({ tenant: "acm", weight: 3, maxRunning: null });
    expect(await run("queues", "get", "nowhere")).toEqual({
      code: 1,
      stdout: "",
      stderr: 'The queue "nowhere" is named by no job, no living worker and no setting.\n',
    });
    expect(jsonOf(await run("kinds", "get", "nowhere", "--json"))).toEqual({ kind: null });
  });

  test.each([
    [["tenants", "set"], "Missing required argument 'tenant'"],
    [["tenants", "set", "acme"], "What is to change?"],
    [["tenants", "sett", "acme"], 'has no subcommand "sett". Did you mean "fairmill tenants set"?'],
    [["tenants", "--weight", "2"], "Unknown option '--weight'"],
    [["queues", "--max-running", "2"], "Unknown option '--max-running'"],
    [["tenants", "set", "acme", "--weight", "2", "--limit", "5"], "Unknown option '--limit'"],
    [["tenants", "set", "acme", "--weight", "0"], "weight: 0 is not a number from 0.01 to 1000"],
    [["tenants", "set", "acme", "--weight", "two"], 'weight: "two" is not a number from 0.01 to 1000'],
    [["queues", "set", "q", "--weight", "2"], "Unknown option '--weight'"],
    [["queues", "set", "q", "--rate", "100"], '--rate: "100" is not a rate. Write it like 100/1m'],
    [["queues", "set", "q", "--rate", "0/1m"], "--rate.limit: 0 is not a whole number from 1"],
    [["queues", "set", "q", "--rate", "5/1y"], "is not a duration"],
    [["queues", "set", "q", "--rate-how", "uniform"], "give --rate, too"],
    [["queues", "set", "q", "--rate", "5/1s", "--rate-at", "noon"], "Allowed choices are start, enqueue"],
    [["kinds", "set", "k", "--max-running", "-1"], "--max-running: -1 is not a whole number"],
    [["tenants", "--limit", "500"], "--limit: 500 is not a whole number from 1 to 200"],
  ])("%j cannot work", async (args, reason) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(reason);
    const verb = args[1] === "set" ? " set" : "";
    expect(stderr).toContain(`See "fairmill ${args[0]}${verb} --help".`);
  });
});
