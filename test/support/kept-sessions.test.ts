import pg from "pg";
import { beforeEach, expect, inject, onTestFinished, test } from "vitest";
import { useDatabase } from "./database.js";
import { endKeptSessions } from "./kept-sessions.js";
import { waitUntil } from "./wait.js";

const db = useDatabase();

beforeEach(endKeptSessions);

async function connect(config: pg.ClientConfig = {}) {
  const client = new pg.Client({ connectionString: db.url, application_name: "one", ...config });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

const processOf = (client: pg.Client) => (client as unknown as { processID: number }).processID;

async function read(client: pg.Client, text: string) {
  const { rows } = await client.query<{ value: unknown }>(`select (${text})::text as value`);
  return rows[0]!.value;
}

test("the next client goes on with the session of one that has ended, under its own name", async () => {
  const first = await connect();
  await first.end();
  const next = await connect({ application_name: "two" });
  expect(processOf(next)).toBe(processOf(first));
  expect(await read(next, "pg_backend_pid()")).toBe(String(processOf(first)));
  expect(await read(next, "current_setting('application_name')")).toBe("two");
  const other = await connect();
  expect(processOf(other)).not.toBe(processOf(first));
});

test("a session is kept without anything that the client before has left in it, but for its plans", async () => {
  const first = await connect();
  await first.query("set statement_timeout = '5s'; set search_path = pg_catalog; set role pg_monitor");
  await first.query("select set_config('house.word', 'said', false)");
  await first.query("reset role; create temp table scrap (n integer); listen news; select pg_advisory_lock(4711)");
  await first.query({ name: "prepared", text: "select 1" });
  await first.query("set role pg_monitor");
  await first.end();
  const next = await connect();
  expect(processOf(next)).toBe(processOf(first));
  expect(await read(next, "current_setting('statement_timeout')")).toBe("0");
  expect(await read(next, "current_setting('search_path')")).toBe("public");
  expect(await read(next, "coalesce(current_setting('house.word', true), '')")).toBe("");
  expect(await read(next, "current_user = session_user")).toBe("true");
  expect(await read(next, "to_regclass('scrap') is null")).toBe("true");
  expect(await read(next, "select count(*) from pg_listening_channels()")).toBe("0");
  expect(await read(next, "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()")).toBe(
    "0",
  );
  expect((await next.query({ name: "prepared", text: "select 2 as n" })).rows).toEqual([{ n: 2 }]);
});

test("a session is not kept when its client ends inside a transaction or during a statement", async () => {
  const inside = await connect();
  await inside.query("begin");
  await inside.end();
  const asked = await connect();
  expect(processOf(asked)).not.toBe(processOf(inside));
  const answer = asked.query("select pg_sleep(60)").catch(() => {});
  await asked.end();
  await answer;
  const next = await connect();
  expect(processOf(next)).not.toBe(processOf(asked));
});

test("a client with other settings, or of another database, gets a new session", async () => {
  const first = await connect();
  await first.end();
  expect(processOf(await connect({ options: "-c work_mem=8MB" }))).not.toBe(processOf(first));
  const url = new URL(inject("serverUrl"));
  expect(processOf(await connect({ connectionString: url.href }))).not.toBe(processOf(first));
});

test("settings of the database and of the user are those that a new session would begin with", async () => {
  const name = pg.escapeIdentifier(new URL(db.url).pathname.slice(1));
  const setting = "current_setting('lock_timeout')";
  const before = await connect();
  await db.query(`alter database ${name} set lock_timeout = '7s'`);
  await before.end();
  const during = await connect();
  expect(await read(during, setting)).toBe("7s");
  await db.query(`alter database ${name} reset lock_timeout`);
  await during.end();
  expect(await read(await connect(), setting)).toBe("0");
});

test("a client that a new session would be refused to gets no kept one", async () => {
  const name = pg.escapeIdentifier(new URL(db.url).pathname.slice(1));
  const role = `visitor_${process.pid}`;
  await db.query(`create role ${role} login password 'one'`);
  onTestFinished(async () => {
    await endKeptSessions();
    await db.query(`drop role ${role}`);
  });
  const url = new URL(db.url);
  url.username = role;
  url.password = "one";
  const visit = () => connect({ connectionString: url.href });
  const first = await visit();
  await first.end();
  const next = await visit();
  expect(processOf(next)).toBe(processOf(first));
  await next.end();
  url.password = "two";
  await expect(visit()).rejects.toThrow("password authentication failed");
  url.password = "one";
  await db.query(`revoke connect on database ${name} from public`);
  await expect(visit()).rejects.toThrow("permission denied for database");
});

test("a kept session that the server ended is not given out", async () => {
  const first = await connect();
  await first.end();
  await db.query("select pg_terminate_backend($1)", [processOf(first)]);
  // At once, and after the news of its end.
  const next = await connect();
  expect(processOf(next)).not.toBe(processOf(first));
  expect(await read(next, "1")).toBe("1");
});

test("a pool's clients leave their sessions, until all that are kept are ended", async () => {
  const names = async () =>
    (
      await db.query<{ name: string }>(
        `select application_name as name from pg_stat_activity
         where datname = current_database() and application_name in ('pooled', 'kept for the next test')`,
      )
    ).map(({ name }) => name);
  const pool = new pg.Pool({ connectionString: db.url, max: 2, application_name: "pooled" });
  await Promise.all([pool.query("select pg_sleep(0.01)"), pool.query("select pg_sleep(0.01)")]);
  expect(await names()).toEqual(["pooled", "pooled"]);
  await pool.end();
  const kept = "kept for the next test";
  await waitUntil("both are kept", async () => (await names()).join() === [kept, kept].join());
  await endKeptSessions();
  await waitUntil("they are gone", async () => (await names()).length === 0);
});
