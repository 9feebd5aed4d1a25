// Migrations on databases of their own: applied once, however often they are asked for, and never over edits of a user.
import { randomBytes } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { DatabaseError } from "../../src/base/errors.js";
import { explainFailure } from "../../src/db/explain-failure.js";
import { migrate, pendingMigrations, printMigrations } from "../../src/db/migrate/migrate.js";
import type { Asker } from "../support/sql/calls.js";
import { waitUntil } from "../support/wait.js";
import { readCatalog, readVersions } from "./catalog.js";
import { database, open, session } from "./databases.js";
import { later } from "./releases.js";

const namesOf = async (ask: Asker, schema = "fairmill") =>
  (await ask.query<{ name: string }>(`select name from ${schema}.migration order by name`)).map(({ name }) => name);

const waiting = async (ask: Asker, count: number) =>
  (
    await ask.query(
      "select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())",
    )
  ).length === count;

describe("migrating", () => {
  test("an empty database gets every table and function, the ledger names them all, and nothing is pending afterwards", async () => {
    const { url } = await database();
    const db = open(url);
    const ask = await session(url);
    const pending = await pendingMigrations(db);
    expect(pending[0]).toBe("migrations/0001_baseline");
    expect(pending).toContain("functions/claim_lanes_v1");
    expect(await ask.query("select from pg_namespace where nspname = 'fairmill'")).toHaveLength(0);

    const applied = await migrate(db);
    expect(applied).toEqual(pending);
    expect(await namesOf(ask)).toEqual(applied.toSorted());
    expect(await pendingMigrations(db)).toEqual([]);
    const functions = await ask.query<{ name: string }>(
      // The one on which an index stands comes with its migration.
      "select proname as name from pg_proc where pronamespace = 'fairmill'::regnamespace and proname <> 'level_v1' order by 1",
    );
    expect(functions.map(({ name }) => `functions/${name}`)).toEqual(
      applied.filter((name) => name.startsWith("functions/")).toSorted(),
    );
    // Today and three days ahead.
    expect(
      await ask.query(
        "select from pg_class where relnamespace = 'fairmill'::regnamespace and relkind = 'r' and relname ~ '^job_history_\\d{8}$'",
      ),
    ).toHaveLength(4);
  });

  test("a second run changes nothing and asks for no lock that another session could hold", async () => {
    const { url } = await database({});
    const ask = await session(url);
    const before = await readVersions(ask);
    // One session reads every table, and another holds the migration lock: a run that needed either would stand still.
    const reader = await session(url);
    await reader.query("begin");
    for (const table of ["job", "job_history", "worker", "queue", "idempotency", "migration"])
      await reader.query(`lock table fairmill.${table} in share mode`);
    await reader.query("select pg_advisory_xact_lock(hashtext('fairmill.migrate'))");

    expect(await migrate(open(url))).toEqual([]);
    await reader.query("rollback");
    expect(await readVersions(ask)).toEqual(before);
  });

  test("two that migrate at once both succeed, and everything is applied once", async () => {
    const { url } = await database();
    const ask = await session(url);
    const gate = await session(url);
    await gate.query("begin");
    await gate.query("select pg_advisory_xact_lock(hashtext('fairmill.migrate'))");
    const both = [migrate(open(url)), migrate(open(url))];
    await waitUntil("both stand at the lock", () => waiting(ask, 2));
    await gate.query("commit");

    const [first, second] = (await Promise.all(both)).toSorted((a, b) => b.length - a.length);
    expect(second).toEqual([]);
    expect(first!.toSorted()).toEqual(await namesOf(ask));
    expect(await pendingMigrations(open(url))).toEqual([]);
  });

  test("a function whose text changed is created anew, and it alone", async () => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    const before = await readCatalog(ask);
    // As an older release would have left it: another body, and that body's checksum.
    await ask.query(
      "create or replace function fairmill.listening_v1(worker_id text, wanted boolean) returns void language sql as 'select'",
    );
    await ask.query(
      "update fairmill.migration set checksum = 'of an older text', applied_at = 'epoch' where name = 'functions/listening_v1'",
    );

    expect(await pendingMigrations(db)).toEqual(["functions/listening_v1"]);
    expect(await migrate(db)).toEqual(["functions/listening_v1"]);
    expect(await readCatalog(ask)).toEqual(before);
    expect(await pendingMigrations(db)).toEqual([]);
    expect(
      await ask.query(
        "select from fairmill.migration where name = 'functions/listening_v1' and applied_at > now() - interval '1 hour'",
      ),
    ).toHaveLength(1);
  });

  test("an applied migration that was edited is refused, by migrate and by the question what is pending, and nothing is touched", async () => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    await ask.query("update fairmill.migration set checksum = 'edited' where name = 'migrations/0001_baseline'");
    await ask.query("update fairmill.migration set checksum = 'older' where name = 'functions/cancel_v1'");
    const before = await readVersions(ask);
    for (const work of [migrate, pendingMigrations]) {
      const error = await work(db).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(DatabaseError);
      expect(error).toMatchObject({
        code: "FAIRMILL_MIGRATION_CHANGED",
        message: expect.stringContaining("0001_baseline"),
      });
    }
    expect(await readVersions(ask)).toEqual(before);
  });

  test("every function stands up to PostgreSQL's own check of its body, which migrating leaves out because they call each other", async () => {
    const { url } = await database({});
    const ask = await session(url);
    const functions = await ask.query<{ name: string; definition: string }>(
      "select proname as name, pg_get_functiondef(oid) as definition from pg_proc where pronamespace = 'fairmill'::regnamespace",
    );
    await ask.query("set check_function_bodies = on");
    const faults: string[] = [];
    for (const { name, definition } of functions)
      await ask.query(definition).catch((error: Error) => faults.push(`${name}: ${error.message}`));
    expect(faults).toEqual([]);
  });

  test("what fails half-way leaves nothing behind", async () => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    const before = await readVersions(ask);
    const shipped = await later(["create table fairmill.novelty (id bigint primary key); select 1 / 0"]);
    await expect(migrate(db, { shipped })).rejects.toThrow("division by zero");
    expect(await readVersions(ask)).toEqual(before);
    expect(await pendingMigrations(db)).toEqual([]);
  });
});

describe("the printed script", () => {
  for (const schema of ["fairmill", "other_mill"]) {
    test(`run as plain SQL on an empty database, it gives the same catalog as migrate (schema ${schema})`, async () => {
      const [byHand, byLibrary] = await Promise.all([database(), database()]);
      await migrate(open(byLibrary.url, schema));
      const ask = await session(byHand.url);
      await ask.query(await printMigrations(schema));

      expect(await readCatalog(ask, schema)).toEqual(await readCatalog(await session(byLibrary.url), schema));
      expect(await pendingMigrations(open(byHand.url, schema))).toEqual([]);
      expect(await migrate(open(byHand.url, schema))).toEqual([]);
    });
  }

  test("it leaves no word of the default schema behind when the schema has another name", async () => {
    const script = await printMigrations("other_mill");
    // Kinds of jobs that are Fairmill's own are called the same in every schema.
    expect(script.match(/\bfairmill\b(?!\.(?:deliver\.|%'|"))/g)).toBeNull();
  });
});

describe("rights", () => {
  /** A role that may connect and nothing else. */
  async function stranger(url: string): Promise<string> {
    const role = `stranger_${randomBytes(4).toString("hex")}`;
    const admin = await session(url);
    await admin.query(`create role ${role} login password 'secret'`);
    onTestFinished(async () => void (await admin.query(`drop role ${role}`)));
    const address = new URL(url);
    address.username = role;
    address.password = "secret";
    return address.href;
  }

  test.each([
    ["an empty database", { empty: true }],
    ["a migrated database", {}],
  ])("a user without rights is told so by a typed error, on %s", async (_, options) => {
    const { url } = await database(options);
    const db = open(await stranger(url));
    const error = explainFailure(await migrate(db).catch((e: unknown) => e), db.schema);
    expect(error).toBeInstanceOf(DatabaseError);
    expect(error).toMatchObject({
      code: "FAIRMILL_PERMISSION_DENIED",
      message: expect.stringContaining("permission denied"),
    });
  });
});

test("A3: every column of a live job is kept when it ends, with the same type; only what matters while it lives is not", async () => {
  const { url } = await database({});
  const columns = (table: string) =>
    `select attname as name, format_type(atttypid, atttypmod) as type, attcollation from pg_attribute
     where attrelid = 'fairmill.${table}'::regclass and attnum > 0 and not attisdropped`;
  const ask = await session(url);
  const missing = await ask.query(`select name from (${columns("job")} except ${columns("job_history")}) as missing`);
  expect(missing.map(({ name }) => name).toSorted()).toEqual([
    "aside",
    "cancel_requested_at",
    "rate_limited",
    "released",
    "slot",
    "turn_no",
    "unique_key",
    "unique_until",
    "waits_for",
  ]);
  const added = await ask.query(
    `select name from (${columns("job_history")} except ${columns("job")}) as added order by 1`,
  );
  expect(added).toEqual([{ name: "ended_at" }, { name: "error" }, { name: "result" }]);
});
