// Retention looks first whether anything is old (has_old), and removes nothing where that says no: so it must ask about each table.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { call } from "../support/sql/calls.js";
import { functionTexts } from "../support/sql/function-texts.js";

const db = useDatabase();

/** These go with a row of another table, which is asked about. */
const WITH_ANOTHER = ["alert_event", "batch_edge", "batch_hold"];
/** Looked after before anything is asked. */
const BEFORE = ["retention_walk"];

test("every table that retention removes rows of is asked about", async () => {
  const texts = await functionTexts();
  const removes = ["retention", "forget_batches", "forget_observations", "forget_calls"].flatMap((name) =>
    [...texts.get(name)!.matchAll(/delete from fairmill\.(\w+)/g)].map(([, table]) => table!),
  );
  const asked = [...texts.get("has_old")!.matchAll(/from fairmill\.(\w+)/g)].map(([, table]) => table!);
  expect(removes.length).toBeGreaterThan(20);
  expect(removes.filter((table) => ![...asked, ...WITH_ANOTHER, ...BEFORE].includes(table))).toEqual([]);
});

const old = "now() - interval '3 days'";

test.each([
  ["meter", `(use, scope, name, used_at) values ('start', 'tenant', 'acme', ${old})`],
  ["idempotency", `(tenant, kind, key, job_id, created_at) values ('t', 'k', 'key', -1, ${old})`],
  ["unique_period", `(tenant, kind, key, job_id, expires_at) values ('t', 'k', 'key', -1, ${old})`],
  ["worker", `(id, queues, lease_until, state, ended_at) values ('w', '{default}', ${old}, 'lost', ${old})`],
])("an old row of %s alone is enough, and a young one is not", async (table, row) => {
  expect(await call(db, "has_old(now() - interval '1 day')")).toBe(false);
  await db.query(`insert into fairmill.${table} ${row.replaceAll(old, "now() + interval '1 minute'")}`);
  expect(await call(db, "has_old(now() - interval '1 day')")).toBe(false);
  await db.query(`delete from fairmill.${table}`);
  await db.query(`insert into fairmill.${table} ${row}`);
  expect(await call(db, "has_old(now() - interval '1 day')")).toBe(true);
});
