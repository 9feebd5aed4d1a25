// Where there are only ticks, alerts are evaluated all the same: by one of them, once a round.
import { defineJob, handle, silentLogger } from "fairmill";
import { runTick, type TickOptions } from "fairmill/tick";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const handlers = [handle(defineJob({ kind: "k" }), () => {})];
const tick = (options: Partial<TickOptions> = {}) =>
  runTick({ databaseUrl: db.url, handlers, logger: silentLogger, ...options });
const rounds = async () => (await db.query("select from fairmill.fleet_sample")).length;

test("a tick evaluates alerts when it is time, and looks at the fleet; the next one leaves it, and one without alerts too", async () => {
  await db.query("update fairmill.alert_round set begun_at = '-infinity'");
  await tick({ alerts: false });
  expect(await rounds()).toBe(0);
  await tick();
  expect(await rounds()).toBe(1);
  expect((await db.query("select from fairmill.alert_rule")).length).toBeGreaterThan(5);
  await Promise.all([tick(), tick()]);
  expect(await rounds()).toBe(1);
  await db.query("update fairmill.alert_round set begun_at = now() - interval '1 minute'");
  await Promise.all([tick(), tick(), tick()]);
  expect(await rounds()).toBe(2);
});
