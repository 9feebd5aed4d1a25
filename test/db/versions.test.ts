// Which package may migrate which schema, and what a migration leaves: exactly what the package brings, whatever was there before.
import { describe, expect, test } from "vitest";
import { DatabaseError } from "../../src/base/errors.js";
import { migrate, pendingMigrations } from "../../src/db/migrate/migrate.js";
import { readShipped, shippedOf } from "../../src/db/migrate/shipped.js";
import type { Asker } from "../support/sql/calls.js";
import { readCatalog, readVersions } from "./catalog.js";
import { database, open, session } from "./databases.js";
import { olderFunctions } from "./older-schema.js";
import { later } from "./releases.js";

const signaturesOf = async (ask: Asker, name: string) =>
  (
    await ask.query<{ signature: string }>(
      "select oidvectortypes(proargtypes) as signature from pg_proc where pronamespace = 'fairmill'::regnamespace and proname = $1 order by 1",
      [name],
    )
  ).map(({ signature }) => signature);

/** Functions with more than one signature. */
const TWICE =
  "select proname::text as name from pg_proc where pronamespace = 'fairmill'::regnamespace group by 1 having count(*) > 1 order by 1";

const failure = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => new Error("it did not fail"),
    (thrown: unknown) => thrown,
  );
  return error as DatabaseError;
};

/** Another text of a function that takes what it took. */
const OTHER_LISTENING =
  "create or replace function fairmill.listening_v1(worker_id text, wanted boolean) returns void language sql as 'select 1'";

describe("an older package on a newer schema", () => {
  test.each([
    ["one unknown migration is enough", () => later(["create table fairmill.novelty (id bigint primary key)"])],
    [
      "functions alone are newer, by the version of the package",
      () => later([], { version: "99.0.0", functions: { listening_v1: OTHER_LISTENING } }),
    ],
  ])("applies nothing and says so: %s", async (_, release) => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    const newer = await release();
    expect(await migrate(db, { shipped: newer })).not.toEqual([]);
    const before = await readVersions(ask);
    for (const work of [migrate, pendingMigrations]) {
      const error = await failure(work(db));
      expect(error).toBeInstanceOf(DatabaseError);
      expect(error.code).toBe("FAIRMILL_SCHEMA_NEWER");
      expect(error.message).toContain(`was migrated by Fairmill ${newer.version}, to generation ${newer.generation}`);
    }
    expect(await readVersions(ask)).toEqual(before);
    expect(await pendingMigrations(db, { shipped: newer })).toEqual([]);
  });

  test("with the same SQL it is not older, whatever its version", async () => {
    const { url } = await database({});
    const db = open(url);
    const { migrations, functions } = await readShipped();
    expect(await migrate(db, { shipped: shippedOf(migrations, functions, "0.0.1") })).toEqual([]);
  });

  test("a package from before this rule is refused by the database itself, and its whole migration is undone", async () => {
    const { url } = await database({});
    const ask = await session(url);
    const before = await readVersions(ask);
    // What its runner does with a function whose checksum in the ledger is not its own.
    await ask.query("begin");
    await ask.query("select pg_advisory_xact_lock(hashtext('fairmill.migrate'))");
    await ask.query(OTHER_LISTENING);
    const enter = ask.query(
      "insert into fairmill.migration (name, checksum) values ($1, $2) on conflict (name) do update set checksum = $2, applied_at = now()",
      ["functions/listening_v1", "of an older text"],
    );
    await expect(enter).rejects.toMatchObject({
      code: "FM030",
      message: expect.stringContaining("nothing was applied"),
    });
    await ask.query("rollback");
    expect(await readVersions(ask)).toEqual(before);
  });
});

describe("a migration leaves exactly the functions it knows", () => {
  test("one signature of each, and none that the package does not bring any more", async () => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    const newer = await later([], {
      functions: {
        listening_v1: OTHER_LISTENING.replace("wanted boolean", "wanted boolean, why text default ''"),
        wake_v1: undefined,
      },
    });
    const applied = await migrate(db, { shipped: newer });
    expect(applied).toEqual([
      "functions/listening_v1",
      "drop function wake_v1(text[], double precision)",
      "drop function listening_v1(text, boolean)",
    ]);
    expect(await signaturesOf(ask, "listening_v1")).toEqual(["text, boolean, text"]);
    expect(await signaturesOf(ask, "wake_v1")).toEqual([]);
    expect(await ask.query("select from fairmill.migration where name = 'functions/wake_v1'")).toEqual([]);
    expect(await pendingMigrations(db, { shipped: newer })).toEqual([]);
  });

  test("what others made in the schema stays, and what depends on a function that must go stops the migration", async () => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    await ask.query("create function fairmill.of_mine(a integer) returns integer language sql return a + 1");
    await ask.query("create function fairmill.wake_v1(a integer) returns integer language sql return a");
    await ask.query("create view public.woken as select fairmill.wake_v1(1)");
    const before = await readVersions(ask);
    const error = await failure(migrate(db));
    expect(error.code).toBe("FAIRMILL_FUNCTION_IN_USE");
    expect(error.message).toContain("view public.woken depends on function fairmill.wake_v1(integer)");
    expect(await readVersions(ask)).toEqual(before);

    await ask.query("drop view public.woken");
    expect(await migrate(db)).toEqual(["drop function wake_v1(integer)"]);
    expect(await ask.query("select fairmill.of_mine(1)")).toEqual([{ of_mine: 2 }]);
    expect(await pendingMigrations(db)).toEqual([]);
  });

  test.each([
    ["a function that was edited", "functions/listening_v1", OTHER_LISTENING],
    ["a setting of a function", "functions/claim_lanes_v1", ALTER("claim_lanes_v1", "reset search_path")],
    ["a function that is gone", "functions/listening_v1", "drop function fairmill.listening_v1(text, boolean)"],
    [
      "a function with another result, which PostgreSQL refuses to replace",
      "functions/listening_v1",
      `drop function fairmill.listening_v1(text, boolean); ${OTHER_LISTENING.replace("void", "integer")}`,
    ],
    [
      "a second signature",
      "drop function claim_lanes_v1(integer)",
      "create function fairmill.claim_lanes_v1(a integer) returns integer language sql return a",
    ],
    [
      "a second signature of a function that came with a migration",
      "drop function level_v1(integer)",
      "create function fairmill.level_v1(a integer) returns integer language sql return a",
    ],
    [
      "the guard of the ledger",
      "trigger migration.migration_guard",
      "drop trigger migration_guard on fairmill.migration",
    ],
  ])("%s is found by the check, and put right", async (_, what, breaking) => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    const before = await readCatalog(ask);
    await ask.query(breaking);
    expect(await pendingMigrations(db)).toEqual([what]);
    expect(await migrate(db)).toEqual([what]);
    expect(await readCatalog(ask)).toEqual(before);
    expect(await pendingMigrations(db)).toEqual([]);
  });

  test("rights that were granted on functions are kept", async () => {
    const { url } = await database({});
    const ask = await session(url);
    await ask.query("grant execute on function fairmill.listening_v1(text, boolean) to pg_monitor");
    const before = await readCatalog(ask);
    await ask.query(OTHER_LISTENING);
    await migrate(open(url));
    expect(await readCatalog(ask)).toEqual(before);
  });

  test("a schema that an older package has overwritten is put right by the newer one, although its ledger says that all is applied", async () => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    const before = await readCatalog(ask);
    // As it was found: an older release has put its functions over newer ones, the newer one its own again beside those of other
    // signatures, and every checksum in the ledger is right.
    await ask.query("delete from fairmill.schema_state; drop trigger migration_guard on fairmill.migration");
    await ask.query("set check_function_bodies = off");
    const { functions } = await readShipped();
    const still = new Set(functions.map(({ name }) => name));
    // Some have another result now: PostgreSQL keeps those.
    for (const { name, text } of await olderFunctions()) if (still.has(name)) await ask.query(text).catch(() => {});
    for (const { text } of functions) await ask.query(text).catch(() => {});
    const twice = (await ask.query<{ name: string }>(TWICE)).map(({ name }) => name);
    expect(twice).toContain("claim_lanes_v1");

    expect(await pendingMigrations(db)).toEqual(["schema_state"]);
    const applied = await migrate(db);
    const dropped = applied.filter((name) => name.startsWith("drop function "));
    expect(dropped.map((name) => name.replace(/^drop function (.*)\(.*$/, "$1"))).toEqual(twice);
    expect(await ask.query(TWICE)).toEqual([]);
    expect(await readCatalog(ask)).toEqual(before);
    expect(await pendingMigrations(db)).toEqual([]);
  });
});

describe("the check compares tables with what the last migration left", () => {
  test.each([
    ["index job_unique is missing", "drop index fairmill.job_unique"],
    [
      "column job.priority is: integer not null default 0",
      "alter table fairmill.job alter column priority type integer",
    ],
    ["constraint job.job_fits is missing", "alter table fairmill.job drop constraint job_fits"],
    ["domain label is: text", "alter domain fairmill.label drop constraint label_check"],
    ["table unique_period is missing", "drop table fairmill.unique_period"],
  ])("%s", async (told, breaking) => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    await ask.query(breaking);
    const before = await readVersions(ask);
    for (const work of [migrate, pendingMigrations]) {
      const error = await failure(work(db));
      expect(error.code).toBe("FAIRMILL_SCHEMA_DRIFTED");
      expect(error.message).toContain(told);
      expect(error.message).toContain("it was: ");
    }
    expect(await readVersions(ask)).toEqual(before);
    // Said to be right as it is.
    await ask.query("update fairmill.schema_state set objects = null");
    expect(await migrate(db)).toEqual(["schema_state"]);
    expect(await pendingMigrations(db)).toEqual([]);
  });

  test("what the operator adds and tunes is the operator's own, before and after a migration", async () => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    await ask.query(`create index of_mine on fairmill.job (created_at);
      alter table fairmill.job add column of_mine text;
      alter table fairmill.job set (fillfactor = 80);
      alter index fairmill.job_lane set (deduplicate_items = on);
      create table fairmill.table_of_mine (id bigint primary key);
      grant select on fairmill.job to pg_monitor`);
    expect(await pendingMigrations(db)).toEqual([]);
    await ask.query(OTHER_LISTENING);
    await migrate(db);
    await ask.query(
      "drop index fairmill.of_mine; drop table fairmill.table_of_mine; alter table fairmill.job drop of_mine",
    );
    expect(await pendingMigrations(db)).toEqual([]);
  });

  test("after an upgrade of PostgreSQL, which may spell definitions otherwise, only what is missing counts", async () => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    await ask.query(
      `update fairmill.schema_state set server_major = 13, objects = jsonb_set(objects, '{index job_lane}', '"spelled otherwise"')`,
    );
    expect(await pendingMigrations(db)).toEqual([]);
    await ask.query("drop index fairmill.job_lane");
    expect((await failure(pendingMigrations(db))).code).toBe("FAIRMILL_SCHEMA_DRIFTED");
  });

  test("what a later migration adds and drops is expected, or not any more", async () => {
    const { url } = await database({});
    const db = open(url);
    const ask = await session(url);
    const shipped = await later([
      "create index job_novel on fairmill.job (kind)",
      "drop index fairmill.job_cancelling",
    ]);
    await migrate(db, { shipped });
    expect(await pendingMigrations(db, { shipped })).toEqual([]);
    await ask.query("drop index fairmill.job_novel");
    expect((await failure(pendingMigrations(db, { shipped }))).message).toContain("index job_novel is missing");
  });
});

function ALTER(name: string, what: string): string {
  return `do $$ begin execute (select 'alter function ' || oid::regprocedure || ' ${what}' from pg_proc where pronamespace = 'fairmill'::regnamespace and proname = '${name}'); end $$`;
}
