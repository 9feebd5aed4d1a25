// Statements that are kept under a name: where they are, where they are not, and what happens when a connection does not know them any more.
import pg from "pg";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { Database, prepared, type Statement } from "../../src/db/database.js";
import { NAMES_MAX } from "../../src/db/prepared-statements.js";
import { useDatabase } from "../support/database.js";
import { openPool } from "../support/open-pool.js";
import { pgbouncer, startPooler, WHY_SKIPPED } from "../support/pgbouncer.js";

const db = useDatabase();
const SUM = prepared("select $1::integer + $2::integer as sum");
const WRITE = prepared("select pg_temp.write($1::integer) as written");
const NAMES = "select name from pg_prepared_statements where name like 'fairmill_%' order by name";

function open(options: { db?: pg.Pool; databaseUrl?: string } = { databaseUrl: db.url }): Database {
  const database = new Database(options, { connectionsMax: 1, applicationName: "prepared" });
  onTestFinished(() => database.close());
  return database;
}

function callersPool(config: pg.PoolConfig = {}): pg.Pool {
  const pool = openPool({ connectionString: db.url, max: 1, application_name: "prepared", ...config });
  onTestFinished(() => pool.end());
  return pool;
}

const namesOf = async (database: Database) => (await database.query<{ name: string }>(NAMES)).map(({ name }) => name);
const processOf = async (database: Database) =>
  (await database.query<{ pid: number }>("select pg_backend_pid() as pid"))[0]!.pid;
const sum = (database: Database, a = 1, b = 2) => database.query<{ sum: number }>(SUM, [a, b]);

/** A log in the session: a statement that was done twice shows. */
async function keepLog(database: Database): Promise<() => Promise<number[]>> {
  await database.query("create temp table log (n integer, at bigint generated always as identity)");
  await database.query(`create function pg_temp.write(n integer) returns integer language plpgsql
    as $$ begin insert into pg_temp.log (n) values (n); return n; end $$`);
  return async () => (await database.query<{ n: number }>("select n from pg_temp.log order by at")).map(({ n }) => n);
}

describe("a marked statement", () => {
  test("is prepared once on a connection, and used from then on", async () => {
    const database = open();
    for (let n = 0; n < 3; n++) expect(await sum(database, n)).toEqual([{ sum: n + 2 }]);
    const used = await database.query(
      "select name, generic_plans + custom_plans as times from pg_prepared_statements where statement = $1",
      [SUM],
    );
    expect(used).toEqual([{ name: expect.stringMatching(/^fairmill_/), times: "3" }]);
  });

  test("has the same name everywhere, and another one in another schema", async () => {
    const call = prepared("select fairmill.level_v1($1, $2) as level");
    const names = async (schema: string) => {
      const database = new Database({ db: callersPool(), schema }, { connectionsMax: 1, applicationName: "prepared" });
      await database.query(call, ["default", 0]).catch(() => {});
      return namesOf(database);
    };
    const [first, again] = [await names("fairmill"), await names("fairmill")];
    expect([first.length, again]).toEqual([1, first]);
    // There it has no function to call: what cannot be parsed has no name.
    expect(await names("elsewhere")).toEqual([]);
  });

  test("has no name in a transaction, and neither has one that is not marked", async () => {
    const database = open();
    await database.transaction(async (tx) => {
      await tx.query(SUM, [1, 2]);
      expect((await tx.query(NAMES)).rows).toEqual([]);
    });
    await database.query("select $1::integer as one", [1]);
    expect(await namesOf(database)).toEqual([]);
  });

  test("has no name where each statement has a transaction of its own", async () => {
    const pool = callersPool({ options: "-c default_transaction_isolation=serializable" });
    const database = open({ db: pool });
    expect(await sum(database)).toEqual([{ sum: 3 }]);
    expect(await namesOf(database)).toEqual([]);
  });

  test("that fails for reasons of its own keeps its name", async () => {
    const database = open();
    await sum(database);
    await expect(sum(database, 2_147_483_647, 1)).rejects.toMatchObject({ code: "22003" });
    await sum(database);
    expect(await namesOf(database)).toHaveLength(1);
  });

  test("is kept on a connection of the caller's pool, and no more of them than a bounded number, by all who share it", async () => {
    const pool = callersPool();
    const [first, second] = [open({ db: pool }), open({ db: pool })];
    for (let n = 0; n < NAMES_MAX; n++) {
      const text = prepared(`select $1::integer + ${n} as sum`);
      expect(await (n % 2 ? first : second).query(text, [1])).toEqual([{ sum: 1 + n }]);
    }
    expect(await sum(first)).toEqual([{ sum: 3 }]);
    expect(await namesOf(first)).toHaveLength(NAMES_MAX);
  });
});

describe("a connection that has forgotten", () => {
  test.each(["discard all", "deallocate all"])(
    "by %s, answers all the same, and is sent no names again",
    async (forget) => {
      const names: (string | undefined)[] = [];
      class Spied extends pg.Client {
        override query(...args: unknown[]) {
          const { text, name } = args[0] as { text: string; name?: string };
          if (text === SUM) names.push(name);
          return (super.query as (...args: unknown[]) => never).apply(this, args);
        }
      }
      const database = open({ db: callersPool({ Client: Spied }) });
      await sum(database);
      const process = await processOf(database);
      await database.query(forget);
      for (let n = 0; n < 3; n++) expect(await sum(database, n)).toEqual([{ sum: n + 2 }]);
      const [name] = names;
      expect(names).toEqual([expect.stringMatching(/^fairmill_/), name, undefined, undefined, undefined]);
      expect(await processOf(database)).toBe(process);
    },
  );

  test("does each statement of a pipeline once, in order", async () => {
    const database = open();
    const log = await keepLog(database);
    const write = (...numbers: number[]) => database.pipeline(numbers.map((n): Statement => [WRITE, [n]]));
    await write(1, 2);
    await database.query("deallocate all");
    const answers = await write(3, 4, 5);
    expect(answers).toEqual([3, 4, 5].map((written) => ({ status: "fulfilled", value: [{ written }] })));
    expect(await log()).toEqual([1, 2, 3, 4, 5]);
    await database.query("deallocate all");
    expect(
      await database.pipelineFirst([
        [WRITE, [6]],
        [WRITE, [7]],
      ] as const),
    ).toEqual([{ written: 6 }]);
    expect(await log()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test("on which the name is taken, answers all the same", async () => {
    const database = open();
    await sum(database);
    const [name] = await namesOf(database);
    const pool = callersPool();
    await pool.query(`prepare "${name}" as select 'another statement'`);
    const other = open({ db: pool });
    expect(await sum(other)).toEqual([{ sum: 3 }]);
    expect(await sum(other)).toEqual([{ sum: 3 }]);
  });
});

describe("a schema that changes under the connection", () => {
  const CALL = prepared("select * from public.changing($1)");
  const body = "language sql as $$ select n";
  const make = (database: Database, signature: string) =>
    database.query(
      `create function public.changing(n ${signature} ${body}${signature.includes("more") ? ", 'more'" : ""} $$`,
    );
  const drop = () => db.query("drop function if exists public.changing");
  afterEach(drop);

  test("a replaced function is called as it is now, by the same name", async () => {
    const database = open();
    await make(database, "integer) returns table (m integer)");
    expect(await database.query(CALL, [1])).toEqual([{ m: 1 }]);
    await db.query(
      "create or replace function public.changing(n integer) returns table (m integer) language sql as 'select -n'",
    );
    expect(await database.query(CALL, [1])).toEqual([{ m: -1 }]);
    expect(await namesOf(database)).toHaveLength(1);
  });

  test.each([
    ["other columns", "integer) returns table (m integer, more text)", 7, { m: 7, more: "more" }],
    ["other arguments", "text) returns table (m text)", "7", { m: "7" }],
  ])(
    "a function that has got %s is called once, and the next connection prepares it again",
    async (_, signature, value, row) => {
      const database = open();
      await make(database, "integer) returns table (m integer)");
      expect(await database.query(CALL, [1])).toEqual([{ m: 1 }]);
      const process = await processOf(database);
      await drop();
      await make(database, signature);
      expect(await database.query(CALL, [value])).toEqual([row]);
      expect(await database.query(CALL, [value])).toEqual([row]);
      expect(await processOf(database)).not.toBe(process);
      expect(await namesOf(database)).toHaveLength(1);
    },
  );

  test("a function that is gone is reported, and found when it is there again", async () => {
    const database = open();
    await expect(database.query(CALL, [1])).rejects.toMatchObject({ code: "42883" });
    await make(database, "integer) returns table (m integer)");
    expect(await database.query(CALL, [1])).toEqual([{ m: 1 }]);
    await drop();
    await expect(database.query(CALL, [1])).rejects.toMatchObject({ code: "42883" });
    await make(database, "integer) returns table (m integer)");
    expect(await database.query(CALL, [1])).toEqual([{ m: 1 }]);
  });
});

if (!pgbouncer) console.log(WHY_SKIPPED);

describe.skipIf(!pgbouncer)("behind PgBouncer in transaction mode", () => {
  test("nothing is prepared, because the process that was named is not the one that answers", async () => {
    const pooler = await startPooler(db.url);
    const database = new Database({ databaseUrl: pooler.url }, { connectionsMax: 4, applicationName: "prepared" });
    onTestFinished(() => database.close());
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => sum(database, n)));
    expect(answers).toEqual(Array.from({ length: 20 }, (_, n) => [{ sum: n + 2 }]));
    expect(await pooler.onEach(NAMES)).toEqual([]);
  });

  test("taken for a server, it costs a repetition at most: every statement is answered", async () => {
    const pooler = await startPooler(db.url);
    /** Says that it is connected to the process that answers first, as a pooler might that passes its number on. */
    class Deceived extends pg.Client {
      override query(...args: unknown[]) {
        const [query, answer] = args as [{ text: string }, (error: unknown, result: pg.QueryResult) => void];
        if (query.text?.includes("pg_backend_pid")) {
          args[1] = (error: unknown, result: pg.QueryResult) => {
            if (!error) Object.assign(this, { processID: Number((result.rows[0] as { process: string }).process) });
            answer(error, result);
          };
        }
        return (super.query as (...args: unknown[]) => never).apply(this, args);
      }
    }
    const pool = callersPool({ connectionString: pooler.url, max: 8, Client: Deceived });
    const database = open({ db: pool });
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => sum(database, n)));
      expect(answers).toEqual(Array.from({ length: 40 }, (_, n) => [{ sum: n + 2 }]));
    }
  });
});
