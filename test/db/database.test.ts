// Connections that fall silent, connections that break, and connections that keep their memory.
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { Database, type Queryable } from "../../src/db/database.js";
import { isConnectionLoss } from "../../src/db/failures.js";
import { useDatabase } from "../support/database.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
/** Longer than any test here waits. */
const SILENCE = "select pg_sleep(600)";

function openDatabase(answerMsMax: number): Database {
  const database = new Database(
    { databaseUrl: db.url },
    { connectionsMax: 1, applicationName: "silence", answerMsMax },
  );
  onTestFinished(async () => {
    await database.close();
    // The server would notice when it next looks at its client; nothing of ours waits for it.
    await db.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query = $1",
      [SILENCE],
    );
  });
  return database;
}

const ways: readonly (readonly [string, (database: Database) => Promise<unknown>])[] = [
  ["a statement", (database) => database.query(SILENCE)],
  ["the first of several", (database) => database.pipelineFirst([[SILENCE, []]])],
  ["one of a transaction", (database) => database.transaction((tx) => tx.query(SILENCE))],
];

test.each(ways)("%s that gets no answer counts as lost, and the next one has another connection", async (_, ask) => {
  const database = openDatabase(1_000);
  const error = await ask(database).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "ETIMEDOUT", message: expect.stringContaining("no answer") });
  expect(isConnectionLoss(error)).toBe(true);
  expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
});

test("a patient transaction waits for its answer", async () => {
  const database = openDatabase(50);
  const slow = (tx: Queryable) => tx.query("select pg_sleep(0.3)");
  await expect(database.transaction(slow)).rejects.toMatchObject({ code: "ETIMEDOUT" });
  expect(await database.transaction(slow, { waitsForLocks: true })).toMatchObject({ rowCount: 1 });
});

test("what waits behind a silent statement is lost with it, each for itself", async () => {
  const database = openDatabase(1_000);
  const answers = await database.pipeline([
    ["select 1", []],
    [SILENCE, []],
    ["select 3", []],
  ]);
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
});

test("when one has gone silent, those that were idle meanwhile are not trusted: the next statement has a new one", async () => {
  const proxy = await TcpProxy.before(db.url);
  const database = new Database(
    { databaseUrl: proxy.url },
    { connectionsMax: 3, applicationName: "silence", answerMsMax: 1_000 },
  );
  onTestFinished(() => database.close());
  await Promise.all([1, 2, 3].map(() => database.query("select pg_sleep(0.1)")));
  expect(proxy.connectionsOf("silence")).toBe(3);
  proxy.silence();
  await expect(database.query("select 1")).rejects.toMatchObject({ code: "ETIMEDOUT" });
  expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
  expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
});

test("a statement that may take longer says so, and is waited for", async () => {
  const database = openDatabase(50);
  await expect(database.query("select pg_sleep(0.3)")).rejects.toMatchObject({ code: "ETIMEDOUT" });
  expect(await database.query("select pg_sleep(0.3)", [], 60_000)).toHaveLength(1);
});

test("of idle connections as many stay open as are to be kept", async () => {
  const settings = { connectionsMax: 3, connectionsMin: 1, applicationName: "kept", idleMsMax: 20 };
  const database = new Database({ databaseUrl: db.url }, settings);
  onTestFinished(() => database.close());
  const process = "select pg_backend_pid()::text as process, pg_sleep(0.05)::text";
  const all = await Promise.all([1, 2, 3].map(() => database.query<{ process: string }>(process)));
  const open = () =>
    db.query<{ pid: string }>("select pid::text from pg_stat_activity where application_name = 'kept'");
  expect(new Set(all.flat().map(({ process }) => process)).size).toBe(3);
  await waitUntil("the others are closed", async () => (await open()).length === 1);
  await db.query("select pg_sleep(0.1)");
  const [kept] = await database.query<{ process: string }>(process);
  expect(await open()).toEqual([{ pid: kept!.process }]);
  expect(all.flat().map(({ process }) => process)).toContain(kept!.process);
});

/** Pages that the server's process had to be given, by Linux: of the host on which the tests' server runs, too. */
const faultsOf = (process: string) =>
  Number(readFileSync(`/proc/${process}/stat`, "utf8").split(") ")[1]!.split(" ")[7]);

test.skipIf(process.platform !== "linux" || process.env["TEST_DATABASE_URL"] !== undefined)(
  "a connection keeps its memory from one statement to the next",
  async () => {
    const pool = new pg.Pool({ connectionString: db.url, max: 1 });
    const database = new Database({ db: pool }, { connectionsMax: 1, applicationName: "memory" });
    onTestFinished(async () => {
      await database.close();
      await pool.end();
    });
    const enqueue = () => database.query("select fairmill.enqueue_one_v1('noop', '{}')");
    const [{ process: backend }] = (await database.query("select pg_backend_pid()::text as process")) as [
      { process: string },
    ];
    for (let n = 0; n < 20; n++) await enqueue();
    const before = faultsOf(backend);
    for (let n = 0; n < 200; n++) await enqueue();
    // Without room each one takes the memory of its scans from the system page by page, and gives it back: 600.
    expect(faultsOf(backend) - before).toBeLessThan(200);
  },
);

test("an idle connection of the caller's pool that breaks does not end the process; the next statement has another one", async () => {
  const pool = new pg.Pool({ connectionString: db.url, max: 1 });
  const open = () => new Database({ db: pool }, { connectionsMax: 1, applicationName: "test" });
  const [database] = [open(), open()];
  // Once, however many clients and workers share the pool.
  expect(pool.listenerCount("error")).toBe(1);
  const [{ pid }] = (await database.query<{ pid: number }>("select pg_backend_pid() as pid")) as [{ pid: number }];
  const removed = new Promise((resolve) => pool.once("remove", resolve));
  await db.query("select pg_terminate_backend($1)", [pid]);
  await removed;
  expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
  await pool.end();
});

test("a server that goes down in the breath in which it says welcome fails the statement, not the process", async () => {
  // AuthenticationOk, ReadyForQuery and a FATAL error in one packet, as they arrive when the server is stopped at that moment.
  const fatal = "SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0";
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + fatal.length);
  const welcome = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49, 0x45]);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(Buffer.concat([welcome, length, Buffer.from(fatal)])));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const database = new Database(
    { databaseUrl: `postgres://nobody@127.0.0.1:${port}/none?sslmode=disable` },
    { connectionsMax: 1, applicationName: "test" },
  );
  onTestFinished(() => database.close());
  // Unheard, the break would be an uncaught exception, which fails the whole run.
  const error = await database.query("select 1").catch((reason: unknown) => reason);
  expect(isConnectionLoss(error)).toBe(true);
});

test("S12: what reads within a time is ended after it, may write nothing, and leaves the connection as it was", async () => {
  const database = openDatabase(60_000);
  expect(await database.readWithin(5_000, "select $1::integer as n", [7])).toEqual([{ n: 7 }]);
  await expect(database.readWithin(50, SILENCE)).rejects.toMatchObject({ code: "57014" });
  await expect(database.readWithin(5_000, "create table t (n integer)")).rejects.toMatchObject({ code: "25006" });
  const settings = "select current_setting('statement_timeout') as limit, pg_current_xact_id_if_assigned() as xid";
  expect(await database.query(settings)).toEqual([{ limit: "0", xid: null }]);
  // An application with a pool of its own, whose connections take one statement at a time.
  const pool = new pg.Pool({ connectionString: db.url, max: 1 });
  onTestFinished(() => pool.end());
  const foreign = new Database({ db: pool }, { connectionsMax: 1, applicationName: "within" });
  onTestFinished(() => foreign.close());
  await expect(foreign.readWithin(50, SILENCE)).rejects.toMatchObject({ code: "57014" });
  expect(await foreign.query(settings)).toEqual([{ limit: "0", xid: null }]);
});
