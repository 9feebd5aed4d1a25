// A fleet that is gone is noticed from outside, and its alerts are evaluated by the server in its place.
import { expect, test } from "vitest";
import { AlertKeeper } from "../../src/alerts/alert-keeper.js";
import { rulesInForce } from "../../src/alerts/rule.js";
import { STAND_IN_MS } from "../../src/alerts/stand-in.js";
import { silentLogger } from "../../src/base/log.js";
import { Database } from "../../src/db/database.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";
import { serverFor } from "./server.js";
import { waitingJobs } from "./waiting-jobs.js";

const db = useDatabase();
const { fill } = waitingJobs(db);
const forgetRounds = () => db.query("update fairmill.alert_round set begun_at = '-infinity', worker = null");
const lateSchedule = () =>
  db.query(`insert into fairmill.schedule (name, cron, timezone, job, fingerprint, next_at)
    values ('nightly', '0 3 * * *', 'UTC', '{"kind": "k"}', 'f', now() - interval '5 minutes')`);

/** A clock whose timers are rung by hand. */
function handClock() {
  let nowMs = Date.now();
  const timers = new Set<{ atMs: number; ring: () => void }>();
  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    random: () => 0.5,
    after: (ms: number, ring: () => void) => {
      const timer = { atMs: nowMs + ms, ring };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pass: (ms: number) => {
      nowMs += ms;
      for (const timer of [...timers]) if (timer.atMs <= nowMs && timers.delete(timer)) timer.ring();
    },
  };
}

test("GET /healthz/fleet: a fleet at work and one without work are well; without a credential, and without a name", async () => {
  const clock = handClock();
  const { ask } = serverFor(db, { clock });
  const health = async () => {
    clock.pass(5_000);
    const { status, body } = await ask<{ status: string }>("nobody", "GET", "/healthz/fleet");
    return [status, body.status];
  };
  expect(await health()).toEqual([200, "ok"]);
  await fill(3, "mails");
  expect(await health()).toEqual([503, "jobs are ready, and neither a worker nor a tick has come for ten minutes"]);
  await db.query(
    "insert into fairmill.worker_tick_metrics (worker_id, mode, tick_started_at, interval_ms, tick_duration_ms) values ('t', 'tick', now() - interval '3 minutes', 0, 10)",
  );
  expect(await health()).toEqual([200, "ok"]);
  await lateSchedule();
  await fill(1, "mails", { delay: "1h" });
  await db.query("update fairmill.job set run_at = now() - interval '2 minutes' where aside = 'scheduled'");
  await db.query("select fairmill.register_v1('w', '{mails}', interval '1 hour', null, 5, 'host', 1, '0.1.0')");
  await db.query("update fairmill.worker set lease_until = now() - interval '2 minutes'");
  expect(await health()).toEqual([
    503,
    "a schedule should have ticked and did not; jobs are due, and nothing starts them; a worker is dead, and nothing takes over its jobs",
  ]);
  await db.query("update fairmill.schedule set paused_at = now()");
  expect((await health())[1]).not.toContain("schedule");
});

test("GET /healthz/fleet asks the database once in five seconds, however many ask", async () => {
  const clock = handClock();
  const { ask } = serverFor(db, { clock });
  const status = async () => (await ask<{ status: string }>("nobody", "GET", "/healthz/fleet")).status;
  expect(await status()).toBe(200);
  await lateSchedule();
  clock.pass(4_000);
  expect(await status()).toBe(200);
  clock.pass(1_000);
  expect(await status()).toBe(503);
});

const said = () => {
  const errors: string[] = [];
  const quiet = () => {};
  const logger = {
    ...{ debug: quiet, info: quiet, warn: quiet },
    error: (_facts: unknown, message?: string) => void errors.push(message ?? ""),
    child: () => logger,
  };
  return { errors, logger };
};

test("a schedule that nobody ticks is noticed where no worker lives: the server evaluates in its place, by the rules and to the channels of the fleet", async () => {
  // The fleet as it was: one rule of its own, and a channel.
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 2, applicationName: "alerts" });
  endAfterTest(() => database.close());
  const rules = rulesInForce({ "schedule-overdue": { above: 30 } });
  const settings = { rules, channels: ["pager"], everyMs: 0 };
  await new AlertKeeper({ db: database, log: silentLogger, identity: { id: "gone" } }, settings).evaluate(0);
  await lateSchedule();
  const clock = handClock();
  const { errors, logger } = said();
  const { handler, ask } = serverFor(db, { clock, logger });
  handler.start();
  const firing = async () => (await ask<{ items: object[] }>("viewer", "GET", "/alerts?state=firing")).body.items;
  const passes = async () => {
    clock.pass(STAND_IN_MS / 2);
    return (await firing()).length > 0;
  };
  // A worker evaluated a moment ago: nobody stands in for it.
  for (let n = 0; n < 3; n++) expect(await passes()).toBe(false);
  await forgetRounds();
  await waitUntil("the server evaluates", passes);
  expect(await firing()).toMatchObject([{ rule: "schedule-overdue", subject: "nightly", threshold: 30 }]);
  expect(errors).toEqual([expect.stringContaining("nightly")]);
  const sent = await db.query<{ channel: string }>("select channel from fairmill.outbox");
  expect(sent).toEqual([{ channel: "pager" }]);
  // The rules on record are still the fleet's.
  const { items } = (await ask<{ items: { rule: string; threshold: number }[] }>("viewer", "GET", "/alerts/rules"))
    .body;
  expect(items.find(({ rule }) => rule === "schedule-overdue")?.threshold).toBe(30);
});

test("where no worker ever evaluated, the server goes by the rules it was given, and with standIn: false by none", async () => {
  await db.query("delete from fairmill.alert_rule");
  await forgetRounds();
  await lateSchedule();
  const clock = handClock();
  const off = serverFor(db, { clock, standIn: false });
  off.handler.start();
  const own = serverFor(db, { clock, standIn: { rules: { "schedule-overdue": { above: 100 } } } });
  const rules = async () => (await own.ask<{ items: object[] }>("viewer", "GET", "/alerts/rules")).body.items.length;
  for (let n = 0; n < 3; n++) {
    clock.pass(STAND_IN_MS);
    expect(await rules()).toBe(0);
  }
  own.handler.start();
  await waitUntil("the server evaluates", async () => {
    clock.pass(STAND_IN_MS / 2);
    return (await rules()) > 0;
  });
  const { items } = (await own.ask<{ items: object[] }>("viewer", "GET", "/alerts")).body;
  expect(items).toMatchObject([{ rule: "schedule-overdue", threshold: 100, state: "firing" }]);
});
