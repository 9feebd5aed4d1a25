// F10: `doctor` finds each planted fault, and nothing where all is well.
import { createClient } from "fairmill";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { VERSION } from "../../src/base/version.js";
import { Database } from "../../src/db/database.js";
import { CHECK_NAMES, examine } from "../../src/doctor/examine.js";
import { cli, jsonOf, scratchFolder } from "../cli/cli.js";
import { pgbouncer, startPooler, WHY_SKIPPED } from "../support/pgbouncer.js";
import { waitUntil } from "../support/wait.js";
import { only, patients } from "./patient.js";
import { workerFaults } from "./worker-faults.js";

const { patient, admin } = patients();

test("finds nothing in a healthy database, empty or at work", async () => {
  const { sql, examine } = await patient();
  expect(await examine({ stopMs: 40_000, platformGraceMs: 60_000 })).toEqual([]);
  await sql.query("select fairmill.register_v1('w', '{q}', interval '1 minute', null, 5, 'host', 1, $1)", [VERSION]);
  await sql.query(`select fairmill.enqueue_v1('k', '{}', queue => 'q')`);
  await sql.query("select fairmill.history_partitions_v1()");
  expect(await examine()).toEqual([]);
});

describe("planted faults", () => {
  test("1 a function that was changed", async () => {
    const { sql, examine } = await patient();
    await sql.query("drop function fairmill.wake_v1");
    const found = await examine();
    expect(found).toEqual(only("schema", "error", /wake_v1/, "fairmill migrate"));
  });

  test("2 an index that is gone", async () => {
    const { sql, examine } = await patient();
    await sql.query("drop index fairmill.job_scheduled");
    expect(await examine()).toEqual(only("schema", "error", /index job_scheduled is missing/, "Put it back as it was"));
  });

  test("3 no schema at all: the rest is looked at", async () => {
    const { examine } = await patient("template template0");
    expect(await examine()).toEqual(
      only("schema", "error", /^The schema "fairmill" is not made yet\.$/, "fairmill migrate"),
    );
  });

  test("4 another encoding", async () => {
    const { url, examine } = await patient("template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'");
    const client = createClient({ databaseUrl: url });
    await client.migrate();
    await client.close();
    expect(await examine()).toEqual(only("encoding", "error", /SQL_ASCII, not UTF8/, "encoding 'UTF8'"));
  });

  test("5 commits that are not waited for", async () => {
    const { sql, examine } = await patient();
    const { rows } = await sql.query("select current_database() as name");
    await sql.query(`alter database ${rows[0].name} set synchronous_commit = off`);
    expect(await examine()).toEqual(
      only("durability", "error", "synchronous_commit is off.", "set synchronous_commit = on"),
    );
  });

  test("6 autovacuum switched off for the server", async () => {
    const { examine } = await patient();
    const set = async (value: string) => {
      await admin().query(`alter system set autovacuum = ${value}`);
      await admin().query("select pg_reload_conf()");
      await waitUntil(
        "the server has read it",
        async () => (await admin().query("show autovacuum")).rows[0].autovacuum === value,
      );
    };
    onTestFinished(() => set("on"));
    await set("off");
    expect(await examine()).toEqual(
      only("autovacuum", "error", "autovacuum is off.", "alter system set autovacuum = on"),
    );
  });

  test("7 autovacuum switched off for a table", async () => {
    const { sql, examine } = await patient();
    await sql.query("alter table fairmill.job set (autovacuum_enabled = off)");
    const found = await examine();
    expect(found).toEqual(
      only("table-autovacuum", "error", /for fairmill.job\.$/, "alter table fairmill.job reset (autovacuum_enabled);"),
    );
    await sql.query(found[0]!.fix);
    expect(await examine()).toEqual([]);
  });

  test("8 dead rows that were not removed", async () => {
    const { sql, examine } = await patient();
    await sql.query("insert into fairmill.queue (name) select n::text from generate_series(1, 5000) n");
    await sql.query("delete from fairmill.queue");
    const dead = () => examine({ limits: { deadTuplesMax: 1_000 } });
    const found = await waitUntil("the statistics have arrived", async () => {
      const seen = await dead();
      return seen.length > 0 ? seen : undefined;
    });
    expect(found).toEqual(
      only(
        "dead-tuples",
        "warning",
        /^fairmill.queue has 5000 dead rows beside 0 live ones/,
        "vacuum (analyze) fairmill.queue;",
      ),
    );
    await sql.query(found[0]!.fix);
    await waitUntil("they are gone", async () => (await dead()).length === 0);
  });

  test("9 a transaction that stays open, and a prepared one", async () => {
    const { url, sql, examine } = await patient();
    const limits = { transactionMsMax: 0 };
    expect(await examine({ limits })).toEqual([]);
    const idler = new pg.Client({ connectionString: url, application_name: "idler" });
    await idler.connect();
    await idler.query("begin isolation level repeatable read; select 1");
    const { rows } = await idler.query("select pg_backend_pid() as pid");
    expect(await examine({ limits })).toEqual(
      only("long-transactions", "warning", /\(idler, idle in transaction\)/, `pg_terminate_backend(${rows[0].pid})`),
    );
    await idler.end();
    await sql.query("begin; create table public.t (); prepare transaction 'it''s'");
    expect(await examine({ limits })).toEqual(
      only("long-transactions", "warning", /"it's"/, "rollback prepared 'it''s';"),
    );
    await sql.query("rollback prepared 'it''s'");
  });

  test("10 a replication slot that is not read", async () => {
    const { examine } = await patient();
    await admin().query("select pg_create_physical_replication_slot('forgotten', true)");
    onTestFinished(async () => void (await admin().query("select pg_drop_replication_slot('forgotten')")));
    expect(await examine()).toEqual(
      only("replication-slots", "warning", /"forgotten" has no reader/, "pg_drop_replication_slot('forgotten')"),
    );
  });

  test("11 no room for connections", async () => {
    const { sql, examine } = await patient();
    const { rows } = await sql.query("select current_database() as name");
    await sql.query(`alter database ${rows[0].name} connection limit 2`);
    expect(await examine()).toEqual(
      only("connections", "error", /^2 of 2 connections \(connection limit of the database\)/, "max_connections"),
    );
  });

  test("12 rights for everybody", async () => {
    const { sql, examine } = await patient();
    await sql.query("grant select on fairmill.job to public; grant execute on function fairmill.grant_v1 to public");
    const found = await examine();
    expect(found.map(({ check, fix }) => [check, fix.replace(/\(.*\)/, "()")])).toEqual([
      ["grants", "revoke all on function fairmill.grant_v1() from public;"],
      ["grants", "revoke all on table fairmill.job from public;"],
    ]);
    for (const { fix } of found) await sql.query(fix);
    expect(await examine()).toEqual([]);
  });

  test("13 a role that may not do a worker's work", async () => {
    const { url, sql } = await patient();
    await sql.query(
      "create role poor login password 'poor'; grant usage on schema fairmill to poor; grant select on fairmill.migration, fairmill.schema_state to poor",
    );
    onTestFinished(
      async () =>
        void (await admin()
          .query("drop owned by poor; drop role poor")
          .catch(() => {})),
    );
    const poor = new URL(url);
    poor.username = "poor";
    poor.password = "poor";
    const db = new Database({ databaseUrl: poor.href }, { connectionsMax: 2, applicationName: "doctor" });
    const found = await examine(db, { clock: systemClock }).finally(() => db.close());
    await sql.query("drop owned by poor");
    expect(found.filter(({ check }) => check === "rights").map(({ what }) => what)).toContainEqual(
      expect.stringContaining("This role lacks execute on function fairmill.settle_v1("),
    );
    // What it may not look at is said, and nothing is passed over in silence.
    expect(found.find(({ check }) => check === "unserved")?.what).toContain('The check "unserved" could not be made');
  });

  workerFaults(patient);

  test("21 statements that are given too little time", async () => {
    const { sql, examine } = await patient();
    const { rows } = await sql.query("select current_database() as name");
    await sql.query(`alter database ${rows[0].name} set statement_timeout = '900ms'`);
    expect(await examine()).toEqual(
      only("time-limits", "warning", "statement_timeout is 900 ms for this role.", "set statement_timeout = '60s'"),
    );
  });

  if (!pgbouncer) console.log(WHY_SKIPPED);
  test.skipIf(!pgbouncer)("22 a pooler without a way around it", async () => {
    const { url } = await patient();
    const pooler = await startPooler(url);
    const db = new Database({ databaseUrl: pooler.url }, { connectionsMax: 2, applicationName: "doctor" });
    const found = await examine(db, { clock: systemClock }).finally(() => db.close());
    expect(found.map(({ check, fix }) => [check, fix])).toEqual([
      ["pooler", expect.stringContaining("Set DATABASE_DIRECT_URL")],
    ]);
  });
});

test("the command: findings with what mends them, exit code 1 for an error, 0 for a warning, one value with --json", async () => {
  const { url, sql } = await patient();
  const cwd = await scratchFolder({
    "fairmill.config.json": JSON.stringify({ grace: "20s", worker: { graceByKind: { "video.render": "50s" } } }),
  });
  const env = { DATABASE_URL: url };
  const sound = await cli(["doctor"], { env, cwd });
  expect(sound).toMatchObject({ code: 0, stdout: `Nothing to find fault with: ${CHECK_NAMES.length} checks.\n` });
  const slow = await cli(["doctor", "--platform-grace", "30s"], { env, cwd });
  expect(slow.code).toBe(0);
  expect(slow.stdout).toContain("warning: A stop of the worker may take 65 s");
  await sql.query("grant usage on schema fairmill to public");
  const open = await cli(["doctor"], { env, cwd });
  expect(open.code).toBe(1);
  expect(open.stdout).toContain("error: Everybody has rights on the schema fairmill. [grants]");
  expect(open.stdout).toContain("Fix: revoke all on schema fairmill from public;");
  expect(open.stdout).toContain("\n1 error, 0 warnings, 0 notes.\n");
  const json = jsonOf<{ healthy: boolean; findings: { fix: string }[] }>(await cli(["doctor", "--json"], { env, cwd }));
  expect(json).toMatchObject({
    healthy: false,
    findings: [{ check: "grants", level: "error", fix: "revoke all on schema fairmill from public;" }],
  });
});
