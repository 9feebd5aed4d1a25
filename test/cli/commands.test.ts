// Every command that looks at jobs or changes them, on a real database.
import { createClient, defineJob } from "fairmill";
import { describe, expect, test } from "vitest";
import { freshDatabase, useDatabase } from "../support/database.js";
import { cli, jsonOf, project, type Surroundings, scratchFolder } from "./cli.js";

const db = useDatabase();
const here = (more: Surroundings = {}): Surroundings => ({ ...more, env: { DATABASE_URL: db.url, ...more.env } });

async function stored(
  kind: string,
  input: unknown = {},
  options: { tenant?: string; delay?: "10m" } = {},
): Promise<string> {
  const client = createClient({ databaseUrl: db.url });
  try {
    return (await client.enqueue(defineJob({ kind }), input, options)).id;
  } finally {
    await client.close();
  }
}

describe("migrate", () => {
  test("applies what is missing, once, and --check tells before and after", async () => {
    const empty = await freshDatabase({ empty: true });
    try {
      const env = { DATABASE_URL: empty.url };
      const before = await cli(["migrate", "--check"], { env });
      expect(before.code).toBe(1);
      expect(before.stdout).toContain("  migrations/0001_baseline\n");
      expect(before.stdout).toContain("Apply it with `fairmill migrate`");
      const notYet = await cli(["jobs", "--json"], { env });
      expect(notYet.code).toBe(1);
      expect(jsonOf(notYet)).toMatchObject({ error: { code: "FAIRMILL_NOT_MIGRATED" } });

      const applied = await cli(["migrate", "--json"], { env });
      expect(applied.code).toBe(0);
      expect(jsonOf(applied)).toEqual({ applied: expect.arrayContaining(["migrations/0001_baseline"]) });

      const [again, check] = await Promise.all([
        cli(["migrate"], { env }),
        cli(["migrate", "--check", "--json"], { env }),
      ]);
      expect(again.stdout).toMatch(/^Up to date: schema "fairmill" of postgres:\/\//);
      expect(again.stdout).not.toContain(new URL(empty.url).password || "no password");
      expect(check.code).toBe(0);
      expect(jsonOf(check)).toEqual({ pending: [] });
    } finally {
      await empty.drop();
    }
  });

  test("--schema makes another schema, which the other commands then use", async () => {
    const empty = await freshDatabase({ empty: true });
    try {
      const env = { DATABASE_URL: empty.url };
      await cli(["migrate", "--schema", "mill_two"], { env });
      const { id } = jsonOf(await cli(["enqueue", "a", "--schema", "mill_two", "--json"], { env }));
      const listed = await cli(["jobs", "--json"], { env: { ...env, FAIRMILL_SCHEMA: "mill_two" } });
      expect(jsonOf(listed)).toMatchObject({ jobs: [{ id, kind: "a" }] });
    } finally {
      await empty.drop();
    }
  });
});

describe("enqueue", () => {
  test("stores a job of any kind, with everything that the options say", async () => {
    const cwd = await scratchFolder();
    const options = ["--tenant", "acme", "--queue", "mails", "--priority", "-5", "--key", "ann", "--delay", "10m"];
    const { code, stdout } = await cli(["enqueue", "mail.send", '{"to":"ann"}', ...options], here({ cwd }));
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Job \d+ is stored \(mail\.send, tenant acme, queue mails\)\. Follow it: fairmill job \d+\n$/,
    );
    expect(await db.query("select kind, tenant, queue, priority, key, state, payload from fairmill.job")).toEqual([
      {
        kind: "mail.send",
        tenant: "acme",
        queue: "mails",
        priority: -5,
        key: "ann",
        state: "scheduled",
        payload: { to: "ann" },
      },
    ]);
  });

  test("reads the payload from stdin, and an idempotency key finds the first job again", async () => {
    const args = ["enqueue", "mail.send", "-", "--idempotency-key", "order 17", "--json"];
    const first = await cli(args, here({ input: '{"to":"bob"}\n' }));
    const second = await cli(args, here({ input: '{"to":"bob"}\n' }));
    const { id } = jsonOf(first);
    expect(jsonOf(first)).toEqual({ id: expect.stringMatching(/^\d+$/), created: true });
    expect(jsonOf(second)).toEqual({ id, created: false });
    expect(await db.query("select payload from fairmill.job")).toEqual([{ payload: { to: "bob" } }]);
  });

  test("F4: a definition in the config says when a job is not stored twice, and the answer says what became of it", async () => {
    const where = here({ cwd: project });
    const twice = async (...args: string[]) => [await cli(args, where), await cli(args, where)] as const;
    const [first, second] = await twice("enqueue", "account.sync", '{"account":"a"}');
    expect(first.stdout).toContain("is stored");
    expect(second).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Job \d+ was stored before under the same unique key; nothing was added\.\n$/),
    });
    const [waiting, replaced] = await twice("enqueue", "index", '{"n":1}', "--json");
    expect(jsonOf(replaced)).toEqual({ id: jsonOf(waiting).id, created: false, replaced: true });
    expect((await cli(["enqueue", "index", '{"n":2}'], where)).stdout).toMatch(/^Job \d+ was waiting .* new payload/);
    const [, refused] = await twice("enqueue", "charge", '{"order":1}', "--json");
    expect(refused.code).toBe(1);
    expect(jsonOf(refused)).toMatchObject({ error: { code: "FAIRMILL_DUPLICATE_JOB" } });
  });

  test("a definition in the config validates the payload and brings its queue and priority", async () => {
    const where = here({ cwd: project });
    const [wrong, right, jobOnly, misspelt] = await Promise.all([
      cli(["enqueue", "greet", '{"name":7}', "--json"], where),
      cli(["enqueue", "greet", '{"name":"Ann"}', "--json"], where),
      cli(["enqueue", "report.print", '{"page":1}', "--json"], where),
      cli(["enqueue", "gret", "{}"], where),
    ]);
    expect(wrong.code).toBe(1);
    expect(jsonOf(wrong)).toMatchObject({ error: { code: "FAIRMILL_INPUT_INVALID" } });
    expect([right.code, jobOnly.code, misspelt.code]).toEqual([0, 0, 0]);
    expect(misspelt.stderr).toContain(
      'the config has no job kind "gret", so the payload is not checked. Did you mean "greet"?',
    );
    expect(await db.query("select kind, queue, priority from fairmill.job order by kind")).toEqual([
      { kind: "greet", queue: "greetings", priority: 0 },
      { kind: "gret", queue: "default", priority: 0 },
      { kind: "report.print", queue: "printers", priority: 7 },
    ]);
  });
});

describe("jobs", () => {
  test("says that there are none, and what to do next", async () => {
    const [all, some, json] = await Promise.all([
      cli(["jobs"], here()),
      cli(["jobs", "--tenant", "acme"], here()),
      cli(["jobs", "--json"], here()),
    ]);
    expect(all).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("There are no jobs yet. Store one: fairmill enqueue"),
    });
    expect(some.stdout).toContain("No job fits these filters.");
    expect(jsonOf(json)).toEqual({ jobs: [], next: null });
  });

  test("lists the newest first, filtered, a page at a time, in columns that fit the terminal", async () => {
    const a = await stored("mail.send", {}, { tenant: "acme" });
    const b = await stored("mail.send", {}, { tenant: "bob", delay: "10m" });
    const c = await stored("report.make.with.a.name.that.is.long", {}, { tenant: "acme" });
    const [table, narrow, ofAcme, scheduled, page] = await Promise.all([
      cli(["jobs"], here()),
      cli(["jobs"], here({ env: { COLUMNS: "70" } })),
      cli(["jobs", "--tenant", "acme", "--kind", "mail.send", "--queue", "default", "--json"], here()),
      cli(["jobs", "--state", "scheduled", "--json"], here()),
      cli(["jobs", "--limit", "2", "--before", c, "--json"], here()),
    ]);
    const lines = table.stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^ID +STATE +KIND +TENANT +QUEUE +ATTEMPT +CREATED +REMARK$/);
    expect(lines.slice(1).map((line) => line.split(/ +/)[0])).toEqual([c, b, a]);
    expect(new Set(lines.slice(1).map((line) => line.indexOf("default"))).size).toBe(1);
    expect(lines[2]).toMatch(/due in 9m/);
    expect(Math.max(...narrow.stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(70);
    expect(jsonOf<{ jobs: { id: string }[] }>(ofAcme).jobs.map(({ id }) => id)).toEqual([a]);
    expect(jsonOf<{ jobs: { id: string }[] }>(scheduled).jobs.map(({ id }) => id)).toEqual([b]);
    expect(jsonOf<{ jobs: { id: string }[]; next: string }>(page)).toMatchObject({
      jobs: [{ id: b }, { id: a }],
      next: a,
    });
  });

  test("names and payloads from outside cannot reach the terminal's controls", async () => {
    const evil = "\u001b[2J\r\n\u009b31m\u202eevil";
    const id = await stored(`kind${evil}`, { [evil]: evil }, { tenant: evil });
    const outputs = await Promise.all([
      cli(["jobs"], here()),
      cli(["job", id], here()),
      cli(["job", id, "--json"], here()),
    ]);
    for (const { code, stdout } of outputs) {
      expect(code).toBe(0);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there.
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
    expect(outputs[0]!.stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(jsonOf(outputs[2]!)).toMatchObject({ tenant: evil, payload: { [evil]: evil } });
  });
});

describe("job, cancel, retry", () => {
  test("show a job that waits, end it, and bring it back", async () => {
    const id = await stored("mail.send", { to: "ann" }, { tenant: "acme", delay: "10m" });
    const detail = await cli(["job", id], here());
    expect(detail.stdout).toContain(`Job ${id}\n`);
    for (const part of [
      "state    scheduled",
      "tenant   acme",
      "attempts 0 of 3",
      '"to": "ann"',
      `fairmill cancel ${id}`,
    ])
      expect(detail.stdout).toContain(part);

    const cancelled = await cli(["cancel", id], here());
    expect(cancelled).toMatchObject({ code: 0, stdout: `Job ${id} is cancelled.\n` });
    expect((await cli(["job", id], here())).stdout).toContain(`Run it again: fairmill retry ${id}`);
    expect(jsonOf(await cli(["cancel", id, "--json"], here()))).toEqual({ jobs: [{ id, answer: "ended" }] });

    const back = await cli(["retry", id, "--json"], here());
    expect(back.code).toBe(0);
    expect(jsonOf(back)).toEqual({ jobs: [{ id, answer: "ready" }] });
    expect(jsonOf(await cli(["job", id, "--json"], here()))).toMatchObject({
      id,
      state: "ready",
      payload: { to: "ann" },
    });
  });

  test("list the steps of a job with what became of each, and retry goes on behind them or from the start", async () => {
    const id = await stored("report.write");
    const hour = "interval '1 hour'";
    await db.query(
      `insert into fairmill.step (job_id, name, kind, position, wake_at, signalled_at, started_at, finished_at, attempt, lease_no) values
         ($1, 'research', 'run', 0, null, null, now() - interval '3 seconds', now(), 2, 2),
         ($1, 'nap', 'sleep', 1, now(), null, now() - ${hour}, now(), 2, 3),
         ($1, 'later', 'sleep', 2, now() + ${hour}, null, now(), null, 2, 3),
         ($1, 'word', 'wait', 3, null, null, now(), null, 2, 3),
         ($1, 'came', 'wait', 4, null, now(), now(), now(), 2, 3),
         ($1, 'missed', 'wait', 5, now(), null, now() - ${hour}, now(), 2, 3),
         ($1, 'early', 'wait', null, null, now(), now(), null, 2, 3)`,
      [id],
    );
    const [detail, json] = [await cli(["job", id], here()), await cli(["job", id, "--json"], here())];
    expect(detail.stdout).toMatch(/\nSteps\n {2}research {2}done in 3\S*s, attempt 2\n {2}nap {7}slept 1h/);
    expect(detail.stdout).toMatch(/later {5}sleeps until .+\n {2}word {6}waits for a signal\n {2}came {6}signal came /);
    expect(detail.stdout).toMatch(
      /missed {4}no signal came in 1h.*\n {2}early {5}signal came .+ nobody has waited for it yet/,
    );
    expect(jsonOf<{ steps: unknown[] }>(json).steps).toHaveLength(7);
    await cli(["cancel", id], here());
    const count = async () => (await db.query("select from fairmill.step")).length;
    expect((await cli(["retry", id], here())).code).toBe(0);
    expect(await count()).toBe(7);
    await cli(["cancel", id], here());
    expect((await cli(["retry", id, "--from-start"], here())).code).toBe(0);
    expect(await count()).toBe(0);
  });

  test("a long payload is cut with a note, unless it is wanted in full", async () => {
    const id = await stored("mail.send", { body: "x".repeat(100_000) });
    const [cut, full] = await Promise.all([cli(["job", id], here()), cli(["job", id, "--full"], here())]);
    expect(cut.stdout.length).toBeLessThan(5_000);
    expect(cut.stdout).toMatch(/x…\n {2}\(100\d{3} characters in all; --full prints them\)/);
    expect(full.stdout).toContain(`"body": "${"x".repeat(100_000)}"`);
  });

  test("of several jobs, those that do not exist are named and fail the command", async () => {
    const id = await stored("mail.send");
    const [job, retry, cancel] = await Promise.all([
      cli(["job", "999999", "--json"], here()),
      cli(["retry", "999999"], here()),
      cli(["cancel", id, "999999"], here()),
    ]);
    expect(job.code).toBe(1);
    expect(jsonOf(job)).toMatchObject({ error: { code: "FAIRMILL_JOB_NOT_FOUND" } });
    expect(retry).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Job 999999 does not exist") });
    expect(cancel.code).toBe(1);
    expect(cancel.stdout).toBe(`Job ${id} is cancelled.\n`);
    expect(cancel.stderr).toMatch(/^Job 999999 does not exist/);
  });
});

test("--database-url goes before DATABASE_URL, and what PostgreSQL refuses is explained", async () => {
  const wrong = new URL(db.url);
  wrong.pathname = "/no_such_database";
  const [flag, environment] = await Promise.all([
    cli(["jobs", "--database-url", db.url], { env: { DATABASE_URL: wrong.href } }),
    cli(["jobs"], { env: { DATABASE_URL: wrong.href } }),
  ]);
  expect(flag.code).toBe(0);
  expect(environment.code).toBe(1);
  expect(environment.stderr).toMatch(/^error: PostgreSQL refused: .*no_such_database.*Create the database first.*\n$/);
});
