// Upgrading a schema that is full of jobs: whatever state they are in, the new version goes on with them.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.js";
import { migrate } from "../../src/db/migrate/migrate.js";
import { claim, endLease, enqueueOne, recover, register, settle, statesOf } from "../sql/calls.js";
import { checkInvariants } from "../support/invariants.js";
import { database as newDatabase, open } from "./databases.js";

const folder = new URL("../../sql/migrations/", import.meta.url);

const checksumOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** A database with the tables of an earlier version, without its functions. */
async function databaseOf(last: string): Promise<{ pool: pg.Pool; database: Database }> {
  const { url } = await newDatabase();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  // The database is dropped while the connection is still saying goodbye.
  pool.on("error", () => {});
  onTestFinished(() => pool.end());
  await pool.query(
    "create schema fairmill; create table fairmill.migration (name text primary key, checksum text not null, applied_at timestamptz not null default now())",
  );
  for (const file of (await readdir(folder)).toSorted().filter((name) => name <= `${last}_~`)) {
    const text = await readFile(new URL(file, folder), "utf8");
    await pool.query(text);
    await pool.query("insert into fairmill.migration (name, checksum) values ($1, $2)", [
      `migrations/${file.slice(0, -4)}`,
      checksumOf(text),
    ]);
  }
  return { pool, database: open(url) };
}

/** The first characters of what each migration hashed to when it went out. A new migration gets a new line; no line ever changes. */
const WENT_OUT: Record<string, string> = {
  "0001_core": "1c8745cd14306e18",
  "0002_limits": "3fd87ebd68c0ebdd",
  "0003_unique": "bf836e31dd3f2a92",
  "0004_letters": "96090f0524b9365b",
  "0005_steps": "8dd02be1ba15bd2a",
  "0006_credits": "742d245690d7490e",
  "0007_links": "c1c8194a06631321",
  "0008_outbox": "19eb9edc77a8884f",
  "0009_batches": "cfb34ed0e7ac57d7",
  "0010_schedules": "f36bb9a524ba6b97",
  "0011_equal_entries": "ccb7deb45b42f48b",
  "0012_meter_places": "1fb50aaaa684f3f4",
  "0013_heap_only_claims": "e0e1f359c08e57ec",
  "0014_checks_at_the_door": "3e8308eb4e8f8eb3",
  "0015_level_numbers": "30c086c342eade8f",
  "0016_count_by_gate": "70d4b2d0dfd09668",
  "0017_replaced_places": "e12cd3846ee1465c",
  "0018_kinds_have_caps": "d6c098f530f3f186",
  "0020_lease_numbers_are_random": "e70052c0961e5933",
  "0021_told_rules": "d51710c06e51b0ce",
  "0023_ticks_and_deliveries": "771501939ea2af6c",
  "0024_lanes_by_due_time": "b38c4803e4951775",
  "0025_new_job": "ff1478fc668cad6b",
  "0034_people": "59d112040f915ec5",
};

test("no migration has changed since it went out: who has applied it could not upgrade any more", async () => {
  const files = (await readdir(folder)).toSorted();
  const checksums = await Promise.all(
    files.map(async (file) => [
      file.slice(0, -4),
      checksumOf(await readFile(new URL(file, folder), "utf8")).slice(0, 16),
    ]),
  );
  expect(Object.fromEntries(checksums)).toEqual(WENT_OUT);
});

test("from the other text in which migration 0013 went out", async () => {
  const { pool, database } = await databaseOf("0013");
  await pool.query("update fairmill.migration set checksum = $1 where name = 'migrations/0013_heap_only_claims'", [
    "9b1fd3c613d499a03a8a15f9ca5cc7df1f26daef7057526f2f79a74e4406b9a1",
  ]);
  await migrate(database);
  expect(await migrate(database)).toEqual([]);
});

test("a function that takes more than it did replaces the one that took less", async () => {
  const { pool, database } = await databaseOf("0015");
  await pool.query("create function fairmill.count_running() returns integer language sql return 1");
  await migrate(database);
  const { rows } = await pool.query(
    "select proname from pg_proc where pronamespace = 'fairmill'::regnamespace group by 1 having count(*) > 1",
  );
  expect(rows).toEqual([]);
});

test.each(["0010", "0012", "0013", "0014", "0017"])("from migration %s, with jobs in every state", async (last) => {
  const { pool, database } = await databaseOf(last);
  const db = {
    query: async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
      (await pool.query<Row>(text, values)).rows,
  };
  const [{ has_aside: hasAside }] = (await db.query<{ has_aside: boolean }>(
    "select count(*) > 0 as has_aside from pg_attribute where attrelid = 'fairmill.job'::regclass and attname = 'aside'",
  )) as [{ has_aside: boolean }];
  await db.query(
    "insert into fairmill.worker (id, queues, lease_until) values ('old', '{default}', now() + interval '1 hour')",
  );
  await db.query(
    "insert into fairmill.key_rule (kind, per, max_running, when_full) values ('keyed', 'key', 1, 'wait'), ('wide', 'kind', 1, 'wait')",
  );
  await db.query("insert into fairmill.gate (scope, name, max_running) values ('tenant', 't', 2)");
  const put = async (state: string, fields: Record<string, unknown> = {}): Promise<string> => {
    const waits = state === "scheduled" || state === "blocked";
    const row = {
      kind: "plain",
      queue: "default",
      tenant: "t",
      payload: {},
      state,
      ...(hasAside && waits && { aside: state }),
      ...fields,
    };
    const names = Object.keys(row);
    const [made] = await db.query<{ id: string }>(
      `insert into fairmill.job (${names.join(", ")}) values (${names.map((_, i) => `$${i + 1}`).join(", ")}) returning id`,
      Object.values(row),
    );
    return made!.id;
  };
  const running = { worker: "old", started_at: new Date(), lease_no: 1, attempt: 1 };
  const held = await put("running", running);
  const keyed = { kind: "keyed", tenant: "u", key: "k", limit_key: '["keyed", "u", "k"]' };
  const wide = { kind: "wide", tenant: "v", limit_key: '["wide"]' };
  const [holder, widest] = [
    await put("running", { ...running, ...keyed, slot: 1 }),
    await put("running", { ...running, ...wide, slot: 1 }),
  ];
  if (hasAside)
    await db.query("insert into fairmill.hand (worker, no, ids) values ('old', 1, $1)", [[held, holder, widest]]);
  if (hasAside)
    await db.query("insert into fairmill.meter (use, scope, name, held) values ('start', 'tenant', 't', $1)", [[held]]);
  const blocked = await put("blocked", keyed);
  const wideNext = await put("blocked", wide);
  const scheduled = await put("scheduled", { run_at: new Date(Date.now() + 3_600_000) });
  const ready = [await put("ready", { priority: 5 }), await put("ready", { priority: 5 })];

  const applied = await migrate(database);
  expect(applied[0]! > `migrations/${last}_~`).toBe(true);
  await checkInvariants(pool);

  // The old worker goes on with what it has, and the place it gives up goes to the one who waits for it.
  expect(await settle(db, "old", [{ id: holder, lease_no: "1" }], "done")).toMatchObject({ accepted: 1 });
  expect(await statesOf(db, [blocked])).toEqual(["ready"]);
  // A new one finds the lanes, and the caps with what runs under them: also that of a kind that had places before.
  await register(db, "new");
  const claimed = (await claim(db, "new", 10)).map(({ id }) => id);
  expect(claimed).toEqual(expect.arrayContaining([ready[0], blocked]));
  expect(claimed).not.toContain(wideNext);
  expect(await settle(db, "old", [{ id: widest, lease_no: "1" }], "done")).toMatchObject({ accepted: 1 });
  expect((await claim(db, "new", 10)).map(({ id }) => id)).toEqual([wideNext]);
  expect(await statesOf(db, [ready[1]!, scheduled])).toEqual(["ready", "scheduled"]);
  await endLease(db, "old");
  await recover(db);
  expect(await statesOf(db, [held])).toEqual(["ready"]);
  await enqueueOne(db, { tenant: "t" });
  await checkInvariants(pool);
});
