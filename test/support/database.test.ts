// What the tests rely on between two of them: nothing is left of the one before, and a connection that stays open is told.
import { createClient, defineJob } from "fairmill";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PLANTS } from "../verify/plants.js";
import { freshDatabase, useDatabase } from "./database.js";
import { installEmptying } from "./empty-tables.js";
import { openPool } from "./open-pool.js";
import { checkQuiet, endTransactions } from "./quiet.js";

describe("between tests", () => {
  let fresh: Awaited<ReturnType<typeof freshDatabase>>;
  let pool: pg.Pool;
  beforeAll(async () => {
    fresh = await freshDatabase();
    pool = openPool({ connectionString: fresh.url, max: 2 });
  });
  afterAll(async () => {
    await pool.end();
    await fresh.drop();
  });

  test("rows of every room are gone", async () => {
    await pool.query(PLANTS["an open reservation is that of a live job"]!.sql);
    await pool.query(
      `insert into fairmill.worker (id, lease_until) values ('w', now());
       insert into fairmill.pool (name) values ('p');`,
    );
    await pool.query("select public.empty_tables()");
    for (const table of ["job", "credit_entry", "worker", "account", "pool"])
      expect((await pool.query(`select count(*)::integer as n from fairmill.${table}`)).rows, table).toEqual([
        { n: 0 },
      ]);
  });

  test("a table that no list names is refused, so that it cannot be forgotten", async () => {
    await pool.query("create table fairmill.forgotten (); drop function public.empty_tables()");
    await expect(installEmptying(pool)).rejects.toThrow("add forgotten to TABLES");
    await pool.query("drop table fairmill.forgotten");
    await installEmptying(pool);
  });

  test("a connection that stays open is told, and ended", async () => {
    const client = new pg.Client({ connectionString: fresh.url, application_name: "fairmill left open" });
    const ended = new Promise((resolve) => client.on("error", resolve));
    await client.connect();
    await expect(checkQuiet(pool)).rejects.toThrow("Connections were left open: fairmill left open");
    await ended;
    await checkQuiet(pool);
  });
});

describe("a test that fails in a transaction", () => {
  const db = useDatabase();
  // Its fault is what is tested: afterwards the hooks look at the database, which it has locked.
  test.fails("leaves it open, and the connection with its pool", { retry: 0 }, async () => {
    const tx = await db.pool.connect();
    await tx.query("begin");
    await db.query("select public.empty_tables()");
    await tx.query("lock table fairmill.job in access exclusive mode");
    throw new Error("the fault");
  });
  test("does not hold the next one up", async () => {
    expect(await db.query("select id from fairmill.job")).toEqual([]);
  });
});

test("what a failed test left open ends in its own databases alone, and what is under way goes on", async () => {
  const [own, other] = await Promise.all([freshDatabase(), freshDatabase()]);
  const open = async ({ url }: { url: string }) => {
    const client = new pg.Client(url);
    const broke = new Promise((resolve) => client.on("error", resolve));
    await client.connect();
    return { client, broke };
  };
  const [left, busy, foreign, admin] = await Promise.all([own, own, other, other].map(open));
  try {
    for (const { client } of [left!, busy!, foreign!]) await client.query("begin");
    const working = busy!.client.query("select pg_advisory_lock(1)");
    await working;
    await busy!.client.query("commit");
    await endTransactions(admin!.client, new URL(own.url).pathname.slice(1));
    await left!.broke;
    expect((await foreign!.client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    expect((await busy!.client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  } finally {
    await Promise.all([left, busy, foreign, admin].map((session) => session!.client.end()));
    await Promise.all([own.drop(), other.drop()]);
  }
});

describe("two tests of a file", () => {
  const db = useDatabase();
  for (const n of [1, 2])
    test(`the ${n === 1 ? "first" : "second"} finds no job and leaves one`, async () => {
      await using client = createClient({ databaseUrl: db.url });
      expect(await db.query("select id from fairmill.job")).toEqual([]);
      await client.enqueue(defineJob({ kind: "left" }), {});
    });
});
