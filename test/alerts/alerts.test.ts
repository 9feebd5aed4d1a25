// Alerts in the database: one process of the fleet evaluates, each change is stored and sent once, and nothing is missed.
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient, defineChannel, defineJob, handle } from "fairmill";
import { describe, expect, test } from "vitest";
import { AlertKeeper, type ToldChange } from "../../src/alerts/alert-keeper.js";
import { rulesInForce } from "../../src/alerts/rule.js";
import { systemClock } from "../../src/base/clock.js";
import { silentLogger } from "../../src/base/log.js";
import { Database } from "../../src/db/database.js";
import { cli, jsonOf, scratchFolder } from "../cli/cli.js";
import { record } from "../metrics/rows.js";
import { useDatabase } from "../support/database.js";
import { keepingLogger, startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
import { AT_ONCE, alertsRig, briefly } from "./rig.js";

const db = useDatabase();
const { open, keeper, fill, serve } = alertsRig(db);

test("a quiet database has no alert, and the rules are on record", async () => {
  const watch = keeper();
  for (let n = 0; n < 3; n++) expect(await watch.evaluate(0)).toEqual([]);
  await using client = createClient({ databaseUrl: db.url });
  expect(await client.alerts.list()).toEqual([]);
  expect((await client.alerts.rules()).length).toBe(rulesInForce().length);
});

test("the dearer a look at the fleet is, the longer until the next one", async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonic: () => nowMs, random: () => 0 };
  class SlowToLook extends Database {
    override async query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
      if (text.includes("pg_database_size")) nowMs += 3_000;
      return super.query<Row>(text, values);
    }
  }
  const database = new SlowToLook({ databaseUrl: db.url }, { connectionsMax: 2, applicationName: "alerts" });
  open.push(database);
  const watch = new AlertKeeper(
    { db: database, log: silentLogger, identity: { id: "w" }, clock },
    { rules: rulesInForce({}), channels: [], everyMs: 15_000 },
  );
  const { signal } = new AbortController();
  // The tests before this one had rounds of their own.
  await db.query("update fairmill.alert_round set begun_at = '-infinity'");
  expect(await watch.runOnce(signal, false)).toBe(15_000);
  expect(await watch.runOnce(signal, true)).toBe(60_000);
});

test("A11: more than 10 and more than 50 jobs that wait fire once each, are stored, told, and over once", async () => {
  await serve();
  const logger = keepingLogger();
  const watch = keeper(AT_ONCE, [], logger);
  await fill(60);
  expect(briefly(await watch.evaluate(0))).toEqual([
    ["queue-depth-10", "mails", "fired"],
    ["queue-depth-50", "mails", "fired"],
  ]);
  expect(await watch.evaluate(0)).toEqual([]);
  await using client = createClient({ databaseUrl: db.url });
  expect(await client.alerts.list({ state: "firing" })).toMatchObject([
    {
      rule: "queue-depth-50",
      subject: "mails",
      severity: "warning",
      value: 60,
      threshold: 50,
      unit: "jobs",
      message: "More than 50 jobs wait in a queue: mails, 60 jobs",
    },
    { rule: "queue-depth-10", severity: "info" },
  ]);
  await db.query("delete from fairmill.job");
  expect(briefly(await watch.evaluate(0))).toEqual([
    ["queue-depth-10", "mails", "resolved"],
    ["queue-depth-50", "mails", "resolved"],
  ]);
  expect(await watch.evaluate(0)).toEqual([]);
  expect((await client.alerts.list()).map(({ state }) => state)).toEqual(["resolved", "resolved"]);
  expect(logger.lines.map(({ level, message }) => [level, message.split(":")[0]])).toEqual([
    ["info", "Alert"],
    ["warn", "Alert"],
    ["info", "Alert is over"],
    ["info", "Alert is over"],
  ]);
  // The next time it is another alert.
  await fill(60);
  await watch.evaluate(0);
  expect((await client.alerts.list({ state: "firing" })).length).toBe(2);
});

test("figures of every kind reach their rules", async () => {
  await serve();
  await db.query(`insert into fairmill.job (id, kind, queue, tenant, state, worker, started_at, attempt, lease_no, payload) overriding system value
    values (1, 'slow', 'mails', 't', 'running', 'w', now() - interval '6 minutes', 1, 1, '{}')`);
  await db.query("insert into fairmill.claim_list (worker, list_no, ids) values ('w', 1, '{1}')");
  await db.query(
    "insert into fairmill.job (kind, queue, tenant, state, payload) values ('k', 'lonely', 't', 'ready', '{}')",
  );
  await db.query(
    "insert into fairmill.outbox (tenant, channel, idempotency_key, payload, status, ended_at) values ('t', 'c', 'k', '{}', 'unknown', now())",
  );
  await record(db, {
    mode: "tick",
    worker: "t1",
    durationMs: 40_000,
    claimed: 80,
    contention: 3,
    depth: 200,
    kinds: { mail: { runs: 20, failed: 2, run_ms: 20 * 61_000 } },
  });
  await db.query(
    `select fairmill.record_metrics_v1('[{"name": "api_latency", "label": "gemini", "sum": 31}, {"name": "storage_size", "label": "s3", "sum": 11000000000}]')`,
  );
  const atOnce = Object.fromEntries(rulesInForce().map(({ name }) => [name, { for: 0 }]));
  const fired = (await keeper(atOnce).evaluate(0))!.map(({ rule, subject }) => `${rule} ${subject}`).toSorted();
  expect(fired).toEqual([
    "contention-1 t1",
    "error-rate mail",
    "job-running-long slow",
    "jobs-per-tick-50 t1",
    "outbox-unknown ",
    "processing-time mail",
    "provider-latency-10s gemini",
    "provider-latency-30s gemini",
    "queue-without-workers lonely",
    "storage-size s3",
    "tick-duration-30s t1",
    "worker-queue-depth-100 t1",
  ]);
  await db.query("delete from fairmill.outbox");
});

describe("one process at a time, and each change once", () => {
  test("of eight that evaluate at once one does, and nothing is told twice", async () => {
    await serve();
    await fill(60);
    const told: ToldChange[] = [];
    const crew = Array.from({ length: 8 }, () => keeper(AT_ONCE, ["ops"]));
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(crew.map((watch) => watch.evaluate(0)));
      told.push(...answers.flatMap((changes) => changes ?? []));
    }
    expect(briefly(told)).toEqual([
      ["queue-depth-10", "mails", "fired"],
      ["queue-depth-50", "mails", "fired"],
    ]);
    const messages = await db.query("select idempotency_key from fairmill.outbox order by id");
    expect(messages.length).toBe(2);
    const [events] = await db.query("select count(*)::integer as n from fairmill.alert_event");
    expect(events!["n"]).toBe(2);
    await db.query("delete from fairmill.outbox");
    await db.query("delete from fairmill.job");
  });

  test("a round that was overtaken writes nothing", async () => {
    await serve();
    await fill(60);
    const late = keeper(AT_ONCE);
    const session = await db.pool.connect();
    // Holds the table of jobs up, so that the first round is still reading when the second begins.
    await session.query("begin; lock table fairmill.job in access exclusive mode");
    const overtaken = late.evaluate(0);
    await waitUntil(
      "it reads",
      async () =>
        (await db.query("select from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'alerts'"))
          .length > 0,
    );
    await session.query("update fairmill.alert_round set round_no = round_no + 1");
    await session.query("commit");
    session.release();
    expect(await overtaken).toBeUndefined();
    expect(await db.query("select from fairmill.alert")).toEqual([]);
  });

  test("what is sent goes through the outbox with the change: to a channel, once", async () => {
    const got: unknown[] = [];
    const ops = defineChannel<Record<string, unknown>>({
      name: "ops",
      receiver: "neither",
      send: (message) => {
        got.push(message);
      },
    });
    const job = defineJob({ kind: "job", queue: "other" });
    await fill(60);
    await serve();
    const worker = await startWorker(db.url, [handle(job, () => {})], {
      channels: [ops],
      alerts: { rules: AT_ONCE, channels: ["ops"], every: "1s" },
    });
    await waitUntil("both are sent", () => got.length === 2);
    await worker.stop();
    expect(got).toMatchObject([
      { rule: "queue-depth-10", change: "fired", subject: "mails", value: 60 },
      { rule: "queue-depth-50" },
    ]);
    expect((await db.query("select status from fairmill.outbox")).map(({ status }) => status)).toEqual([
      "sent",
      "sent",
    ]);
  });
});

test("a schedule that no worker ticks is noticed: while workers live and its ticking fails, or by hand when none lives", async () => {
  await db.query(`insert into fairmill.schedule (name, cron, timezone, job, fingerprint, next_at, not_before)
    values ('nightly', '0 3 * * *', 'UTC', '{"kind": "k"}', '', now() - interval '2 minutes', now() + interval '1 hour')`);
  expect(briefly(await keeper().evaluate(0))).toEqual([["schedule-overdue", "nightly", "fired"]]);
  const { stdout } = await cli(["alerts"], { env: { DATABASE_URL: db.url } });
  expect(stdout).toMatch(/firing\s+critical\s+schedule-overdue\s+nightly/);
});

test("the list shows what is not over, however many others have been since", async () => {
  const alert = (subject: string, state: string) =>
    `('queue-depth-10', '${subject}', 'info', '${state}', 'm', 11, 10, 'jobs', now(), now(), ${state === "resolved" ? "now()" : "null"})`;
  const rows = [alert("old", "firing"), ...Array.from({ length: 60 }, (_, n) => alert(`q${n}`, "resolved"))];
  await db.query(
    `insert into fairmill.alert (rule, subject, severity, state, message, value, threshold, unit, since, fired_at, resolved_at) values ${rows.join()}`,
  );
  const env = { DATABASE_URL: db.url };
  expect(jsonOf(await cli(["alerts", "--json"], { env }))).toMatchObject({ alerts: [{ subject: "old" }], next: null });
  const over = jsonOf<{ alerts: object[]; next: string }>(
    await cli(["alerts", "--state", "resolved", "--json"], { env }),
  );
  expect(over.alerts.length).toBe(50);
  const rest = jsonOf<{ alerts: object[] }>(
    await cli(["alerts", "--state", "resolved", "--before", over.next, "--json"], { env }),
  );
  expect(rest.alerts.length).toBe(10);
});

describe("export", () => {
  const promtool = spawnSync("promtool", ["--version"]).status === 0;
  if (!promtool)
    console.log("No promtool was found, so exported rules are not checked by it: apt-get install prometheus.");

  test.skipIf(!promtool)("promtool reads the rules, and what a project changed stands in them", async () => {
    const cwd = await scratchFolder({
      "fairmill.config.json": JSON.stringify({
        alerts: {
          rules: {
            "queue-depth-50": { above: 75, only: ["ma.ils", 'q"x'] },
            'my "rule"': { metric: "avg_wait", above: 3, description: 'odd: "yes" {{ no }}' },
          },
        },
      }),
    });
    const { code, stdout } = await cli(["alerts", "export", "--prometheus"], { cwd });
    expect(code).toBe(0);
    expect(stdout).toContain("> 75");
    const file = join(cwd, "rules.yml");
    await writeFile(file, stdout);
    const checked = spawnSync("promtool", ["check", "rules", file], { encoding: "utf8" });
    expect(`${checked.stdout}${checked.stderr}`).toContain("SUCCESS");
    expect(checked.status).toBe(0);
  });

  test("a board has a panel for every figure, with the thresholds", async () => {
    const cwd = await scratchFolder();
    const board = JSON.parse((await cli(["alerts", "export", "--grafana"], { cwd })).stdout) as {
      panels: {
        title: string;
        targets: { expr: string }[];
        fieldConfig: { defaults: { thresholds: { steps: object[] } } };
      }[];
    };
    const depth = board.panels.find(({ title }) => title === "Jobs that wait")!;
    expect(depth.targets[0]!.expr).toBe("fairmill_queue_depth");
    expect(depth.fieldConfig.defaults.thresholds.steps).toEqual([
      { color: "green", value: null },
      { color: "blue", value: 10 },
      { color: "orange", value: 50 },
    ]);
    expect(new Set(board.panels.map(({ title }) => title)).size).toBe(board.panels.length);
  });
});
