// What people do at the command line is recorded; bulk, audit, roles and serve as they are used.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { ACTS } from "../../src/cli/acting.js";
import { cli, jsonOf, project, startCli } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";

const db = useDatabase();
const job = defineJob({ kind: "k", queue: "q" });
const env = () => ({ DATABASE_URL: db.url });

function client() {
  const made = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => made.close());
  return made;
}

test("an action by a command is on record with who did it, and looking is not", async () => {
  const { id } = await client().enqueue(job, {});
  await cli(["jobs"], { env: env() });
  await cli(["cancel", id, "--by", "ann"], { env: env() });
  await cli(["cancel", "999999"], { env: env() });
  await cli(["tenants", "set", "acme", "--max-running", "5", "--by", "ann"], { env: env() });
  await cli(["pause", "--queue", "q", "--by", "ann"], { env: env() });
  await cli(["redrive", "--dry-run"], { env: env() });
  const events = await db.query("select actor, via, action, subject, outcome from fairmill.audit_event order by id");
  expect(events).toEqual([
    { actor: "ann", via: "cli", action: "job.cancel", subject: `job ${id}`, outcome: "done" },
    { actor: expect.stringMatching(/./), via: "cli", action: "job.cancel", subject: "job 999999", outcome: "refused" },
    { actor: "ann", via: "cli", action: "tenant.set", subject: "tenant acme", outcome: "done" },
    { actor: "ann", via: "cli", action: "queue.pause", subject: "queue q", outcome: "done" },
  ]);
  const json = jsonOf(await cli(["audit", "--actor", "ann", "--action", "tenant.set", "--json"], { env: env() }));
  expect(json).toMatchObject({ events: [{ actor: "ann", action: "tenant.set" }] });
  const shown = await cli(["audit", "--actor", "ann", "--action", "tenant.set"], { env: env() });
  expect(shown.stdout).toMatch(/ann +cli +tenant\.set +tenant acme +done/);
  const [{ detail }] = (await db.query("select detail from fairmill.audit_event where action = 'tenant.set'")) as [
    { detail: object },
  ];
  expect(detail).toEqual({ maxRunning: 5 });
});

test("every command that acts is one that there is, by its words", async () => {
  for (const words of Object.keys(ACTS)) {
    const help = await cli([...words.split(" "), "--help"]);
    expect(help.stdout, words).toContain(`Usage: fairmill ${words} `);
  }
});

test("what cannot be recorded does not happen", async () => {
  const { id } = await client().enqueue(job, {});
  await db.query("alter table fairmill.audit_event rename to audit_event_away");
  try {
    expect((await cli(["cancel", id], { env: env() })).code).toBe(1);
    expect(await db.query("select state from fairmill.job where id = $1", [id])).toEqual([{ state: "ready" }]);
  } finally {
    await db.query("alter table fairmill.audit_event_away rename to audit_event");
  }
});

test("bulk: looked at first, done with --yes, listed and shown; a question needs a terminal", async () => {
  await client().enqueueMany(
    job,
    Array.from({ length: 3 }, () => ({ input: {}, tenant: "acme" })),
  );
  const filter = ["--tenant", "acme", "--kind", "k"];
  expect(await cli(["bulk", "cancel", ...filter], { env: env() })).toMatchObject({ code: 2 });
  expect(await cli(["bulk", "cancel", "--yes"], { env: env() })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("says nothing"),
  });
  const dry = await cli(["bulk", "cancel", ...filter, "--dry-run"], { env: env() });
  expect(dry.stdout).toMatch(/3 jobs:[\s\S]*3 +ready +k/);
  const done = await cli(["bulk", "cancel", ...filter, "--yes", "--by", "ann", "--json"], { env: env() });
  expect(jsonOf(done)).toMatchObject({
    state: "done",
    changed: 3,
    actor: "ann",
    filter: { tenant: "acme", kind: "k" },
  });
  const { id } = jsonOf<{ id: string }>(done);
  expect((await cli(["bulk"], { env: env() })).stdout).toMatch(new RegExp(`${id} +cancel +done +3 +0 +ann`));
  expect(jsonOf(await cli(["bulk", "list", "--json"], { env: env() }))).toMatchObject({
    actions: [{ id, state: "done" }],
  });
  expect((await cli(["bulk", "get", id], { env: env() })).stdout).toContain("is done: 3 changed");
  expect(await cli(["bulk", "stop", id], { env: env() })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("nothing to stop"),
  });
  const [left] = await db.query<{ id: string }>(
    `select fairmill.start_bulk_v1('retry', '{"tenant": "acme"}', 'gone')::text as id`,
  );
  expect((await cli(["bulk", "resume", left!.id], { env: env() })).stdout).toContain("is done: 3 changed");
  expect(await db.query("select action, actor from fairmill.audit_event order by id")).toMatchObject([
    { action: "bulk.cancel", actor: "ann" },
    { action: "bulk.stop" },
  ]);
});

test("serve: with handlers and the internal secret a tick is run over HTTP, and only by those who know it", async () => {
  const secret = "the internal secret of at least 32 bytes";
  const greet = defineJob<{ name: string }>({ kind: "greet", queue: "greetings" });
  const { id } = await client().enqueue(greet, { name: "ann" });
  const live = startCli(["serve", "--port", "0"], {
    cwd: project,
    env: { ...env(), FAIRMILL_INTERNAL_SECRET: secret },
  });
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(await live.line("The dashboard is at"))![0];
  expect((await fetch(`${url}/tick`, { method: "POST" })).status).toBe(401);
  const ticked = await fetch(`${url}/tick`, { method: "POST", headers: { "x-internal-secret": secret } });
  expect(await ticked.json()).toMatchObject({ claimed: 1, succeeded: 1 });
  expect(await client().job(id)).toMatchObject({ state: "done" });
  live.child.kill("SIGTERM");
  expect(await live.ended).toMatchObject({ code: 0 });
});

test("roles prints a script for the schema that is named", async () => {
  const { stdout, code } = await cli(["roles", "--schema", "jobs", "--prefix", "app"]);
  expect(code).toBe(0);
  expect(stdout).toContain("grant usage on schema jobs to app_viewer;");
  expect(stdout).not.toContain("fairmill.");
});

test("serve: a database without the schema is said where the server was started, which goes on", async () => {
  const live = startCli(["serve", "--port", "0", "--schema", "elsewhere"], { env: env() });
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(await live.line("The dashboard is at"))![0];
  expect(await live.note("There is nothing to show yet.")).toContain('Run "fairmill migrate"');
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  live.child.kill("SIGTERM");
  expect(await live.ended).toMatchObject({ code: 0 });
});

test("serve: on loopback for everybody there, elsewhere only with credentials; a signal ends it", async () => {
  const refused = await cli(["serve", "--host", "0.0.0.0", "--port", "0"], { env: env() });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("no sign-in is asked for") });
  const live = startCli(["serve", "--port", "0"], { env: env() });
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(await live.line("The dashboard is at"))![0];
  expect(await (await fetch(`${url}/api/v1/me`)).json()).toMatchObject({ actor: "local" });
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  live.child.kill("SIGTERM");
  expect(await live.ended).toMatchObject({ code: 0 });
  const guarded = startCli(["serve", "--port", "0", "--json"], {
    env: { ...env(), FAIRMILL_DASHBOARD_AUTH: "ada:admin:0123456789abcdef,bob:viewer@acme:fedcba9876543210" },
  });
  const second = (JSON.parse(await guarded.line("url")) as { url: string }).url;
  expect((await fetch(`${second}/api/v1/me`)).status).toBe(401);
  const me = await fetch(`${second}/api/v1/me`, { headers: { authorization: "Bearer fedcba9876543210" } });
  expect(await me.json()).toMatchObject({ actor: "bob", role: "viewer", tenant: "acme" });
  guarded.child.kill("SIGTERM");
  expect(await guarded.ended).toMatchObject({ code: 0 });
});
