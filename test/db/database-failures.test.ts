// Whatever a database does to a call, the caller gets an error of this library: a code, what happened, what to do, and the driver's error as its cause.
import { createClient, createWorker, type FairmillError, handle, silentLogger } from "fairmill";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli } from "../cli/cli.js";
import { freshDatabase } from "../support/database.js";
import { IN_TRANSACTION, job, knock, limited, missingDoors, ON_CLIENT, ON_OPEN_BATCH } from "../support/doors.js";
import {
  ANSWERS,
  as,
  ask,
  codesOf,
  failuresOf,
  foreign,
  knockEverywhere,
  STAND_IN,
  withSettings,
} from "./failing-doors.js";

let failing: Awaited<ReturnType<typeof freshDatabase>>;
let healthy: Awaited<ReturnType<typeof freshDatabase>>;
const role = `nobody_${process.pid}`;

beforeAll(async () => {
  healthy = await freshDatabase();
  failing = await freshDatabase();
  await ask(failing.url, STAND_IN);
  await ask(healthy.url, `create role ${role} login password 'right'`, `grant usage on schema fairmill to ${role}`);
});

afterAll(async () => {
  await ask(healthy.url, `drop owned by ${role}`, `drop role ${role}`);
  await failing.drop();
  await healthy.drop();
});

test("the list of doors leaves none out", async () => {
  const client = createClient({ databaseUrl: healthy.url });
  const batch = await client.batches.open();
  expect(missingDoors(client, batch)).toEqual([]);
  await batch.close();
  await client.close();
});

/** A real failure each: where it can be had, at every door. `all`: no call can succeed. */
const REAL: Record<string, { url: () => string; code: string; sqlState: string; all: boolean }> = {
  "a wrong password": {
    url: () => as(healthy.url, role, "wrong"),
    code: "FAIRMILL_LOGIN_REFUSED",
    sqlState: "28P01",
    all: true,
  },
  "a role that may not log in": {
    url: () => as(healthy.url, "pg_monitor", "x"),
    code: "FAIRMILL_LOGIN_REFUSED",
    sqlState: "28",
    all: true,
  },
  "a database that does not exist": {
    url: () => healthy.url.replace(/\/test_\w+/, "/no_such_database"),
    code: "FAIRMILL_DATABASE_NOT_FOUND",
    sqlState: "3D000",
    all: true,
  },
  "a role without rights": {
    url: () => as(healthy.url, role, "right"),
    code: "FAIRMILL_PERMISSION_DENIED",
    sqlState: "42501",
    all: false,
  },
  "a server that is read-only": {
    url: () => withSettings(healthy.url, { default_transaction_read_only: "on" }),
    code: "FAIRMILL_READ_ONLY",
    sqlState: "25006",
    all: false,
  },
};

describe.each(Object.entries(REAL))("%s", (_, { url, code, sqlState, all }) => {
  test("is explained at every door", async () => {
    const client = createClient({ databaseUrl: url() });
    const failed = await knockEverywhere(client);
    await client.close();
    expect(foreign(failed)).toEqual([]);
    const ours = failed.filter(({ error }) => !ANSWERS.includes((error as FairmillError).code));
    expect(codesOf(ours)).toEqual([code]);
    expect(ours.map(({ door }) => door)).toEqual(expect.arrayContaining(["enqueue", "enqueueMany", "credits.grant"]));
    if (all) expect(ours).toHaveLength(Object.keys(ON_CLIENT).length);
    for (const { error } of ours)
      expect(error).toMatchObject({ sqlState: expect.stringMatching(sqlState), cause: expect.anything() });
  });

  test("is explained by a worker that starts", async () => {
    const worker = createWorker({
      databaseUrl: url(),
      handlers: [handle(limited, () => {})],
      logger: silentLogger,
    });
    await expect(worker.start()).rejects.toMatchObject({ code, sqlState: expect.stringMatching(sqlState) });
    await worker.stop();
  });
});

describe.each([
  ["lock_timeout", "FAIRMILL_LOCK_TIMEOUT", "55P03"],
  ["statement_timeout", "FAIRMILL_STATEMENT_TIMEOUT", "57014"],
])("tables that another session has locked, and a %s", (setting, code, sqlState) => {
  test("are explained at every door", async () => {
    const other = new pg.Client(healthy.url);
    await other.connect();
    await other.query("begin");
    const { rows } = await other.query(
      "select string_agg(format('fairmill.%I', relname), ', ') as all from pg_class where relnamespace = 'fairmill'::regnamespace and relkind in ('r', 'p') and not relispartition",
    );
    await other.query(`lock table ${rows[0].all}`);
    const client = createClient({ databaseUrl: withSettings(healthy.url, { [setting]: "200ms" }) });
    const failed = await knockEverywhere(client);
    await other.query("rollback");
    await other.end();
    await client.close();
    expect(foreign(failed)).toEqual([]);
    const ours = failed.filter(({ error }) => !ANSWERS.includes((error as FairmillError).code));
    expect(codesOf(ours)).toEqual([code]);
    expect(ours.map(({ door }) => door)).toEqual(
      expect.arrayContaining(["enqueue", "job", "jobs.list", "result", "cancel"]),
    );
    for (const { error } of ours) expect(error).toMatchObject({ sqlState });
  });
});

/** What cannot be had at will, raised by SQL. */
const STATES: readonly (readonly [sqlState: string, code: string])[] = [
  ["53100", "FAIRMILL_DATABASE_FULL"],
  ["53200", "FAIRMILL_DATABASE_FULL"],
  ["53300", "FAIRMILL_TOO_MANY_CONNECTIONS"],
  ["40001", "FAIRMILL_CONFLICT"],
  ["40P01", "FAIRMILL_CONFLICT"],
  ["42725", "FAIRMILL_SCHEMA_MIXED"],
  ["42883", "FAIRMILL_NOT_MIGRATED"],
  ["22P05", "FAIRMILL_ENCODING"],
  ["22021", "FAIRMILL_ENCODING"],
  ["FM001", "FAIRMILL_DATABASE"],
  ["FM002", "FAIRMILL_DATABASE"],
  ["FM003", "FAIRMILL_ISOLATION"],
  ["FM010", "FAIRMILL_DATABASE"],
  ["FM020", "FAIRMILL_DATABASE"],
  ["FM021", "FAIRMILL_ISOLATION"],
  ["23514", "FAIRMILL_DATABASE"],
  ["P0001", "FAIRMILL_DATABASE"],
  ["57P01", "FAIRMILL_DATABASE_UNREACHABLE"],
  ["57P03", "FAIRMILL_DATABASE_UNREACHABLE"],
];

/** A call whose answer is lost for certain may have been stored or not. */
const mayBeUnknown = (code: string) =>
  code === "FAIRMILL_DATABASE_UNREACHABLE" ? [code, "FAIRMILL_OUTCOME_UNKNOWN"] : [code];

describe.each(STATES)("%s", (sqlState, code) => {
  const url = () => withSettings(failing.url, { "test.state": sqlState });

  test(`is ${code} at every door, and inside a transaction of the caller`, async () => {
    const client = createClient({ databaseUrl: url() });
    const failed = await knockEverywhere(client);
    expect(foreign(failed)).toEqual([]);
    const ours = failed.filter(({ error }) => !ANSWERS.includes((error as FairmillError).code));
    expect(mayBeUnknown(code)).toEqual(expect.arrayContaining(codesOf(ours)));
    expect(ours.map(({ door }) => door)).toEqual(
      expect.arrayContaining(["enqueue", "job", "jobs.list", "migrate", "cancel"]),
    );

    const tx = new pg.Client(url());
    await tx.connect();
    for (const [name, args] of Object.entries(IN_TRANSACTION)) {
      await tx.query("begin");
      const [one] = await failuresOf([[name, () => knock(client.in(tx), name, args)]]);
      // That the schema does not fit is known from the client's own calls by then, and told before the transaction is asked.
      if (code === "FAIRMILL_NOT_MIGRATED") expect(one?.error, `in(tx).${name}`).toMatchObject({ code });
      else {
        expect(one?.error, `in(tx).${name}`).toMatchObject({ code, cause: { code: sqlState } });
        // A caller that has lost its transaction is told that, and not the first error once more.
        const [after] = await failuresOf([[name, () => knock(client.in(tx), name, args)]]);
        const aborted = { code: "FAIRMILL_TRANSACTION_ABORTED", sqlState: "25P02" };
        expect(after?.error, `in(tx).${name}`).toMatchObject(aborted);
      }
      await tx.query("rollback");
    }
    await tx.end();
    await client.close();
  });
});

test("a batch that is open when the server becomes read-only says so at every door", async () => {
  const client = createClient({ databaseUrl: healthy.url });
  const batch = await client.batches.open();
  await ask(
    healthy.url,
    `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
  const failed = await failuresOf(
    Object.entries(ON_OPEN_BATCH).map(([name, args]) => [name, () => knock(batch, name, args)]),
  );
  await ask(
    healthy.url,
    "set default_transaction_read_only = off",
    `do $$ begin execute format('alter database %I reset default_transaction_read_only', current_database()); end $$`,
  );
  await client.close();
  expect(foreign(failed)).toEqual([]);
  expect(failed.map(({ door }) => door).toSorted()).toEqual(Object.keys(ON_OPEN_BATCH).toSorted());
});

test("the command says the same, with the code of the library", async () => {
  const ended = await cli(["jobs", "--json"], {
    env: { DATABASE_URL: withSettings(failing.url, { "test.state": "53100" }) },
  });
  expect(ended.code).toBe(1);
  expect(JSON.parse(ended.stdout || ended.stderr)).toMatchObject({ error: { code: "FAIRMILL_DATABASE_FULL" } });
  const refused = await cli(["jobs"], { env: { DATABASE_URL: as(healthy.url, role, "wrong") } });
  expect(refused.stderr).toMatch(/^error: PostgreSQL refused: .*\(28P01\)\. Check user and password/);
});

test("what a caller's own code throws inside of a call stays as it is, SQL state and all", async () => {
  const client = createClient({
    databaseUrl: healthy.url,
    use: [
      {
        name: "asks",
        enqueue: ({ input }) => {
          if ("ask" in (input as object))
            throw Object.assign(new Error("theirs"), { code: "23505", severity: "ERROR" });
        },
      },
    ],
  });
  const theirs = { message: "theirs", code: "23505" };
  const fill = () => {
    throw Object.assign(new Error("theirs"), { code: "23505", severity: "ERROR" });
  };
  await expect(client.batches.create({}, fill)).rejects.toMatchObject(theirs);
  await expect(client.enqueue(job, { ask: 1 })).rejects.toMatchObject(theirs);
  await expect(client.schedules.set("s", { cron: "* * * * *", job, input: { ask: 1 } })).rejects.toMatchObject(theirs);
  await client.close();
});
