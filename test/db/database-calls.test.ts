// What is announced of statements: names, rows and outcomes, over every way to send one.
import { expect, onTestFinished, test } from "vitest";
import { explainedTransaction } from "../../src/db/callers-transaction.js";
import { Database } from "../../src/db/database.js";
import type { DatabaseCall } from "../../src/db/database-call.js";
import { transactionSession } from "../../src/db/session.js";
import { named, nameOfStatement } from "../../src/db/statement-name.js";
import { useDatabase } from "../support/database.js";
import { openSession } from "../support/sql/sessions.js";

const db = useDatabase();

function watched() {
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 2, applicationName: "calls" });
  onTestFinished(() => database.close());
  const calls: DatabaseCall[] = [];
  const leave = database.calls.add((call) => calls.push(call));
  return { database, calls, leave, said: () => calls.map(({ name, rows, outcome }) => [name, rows, outcome]) };
}

test.each([
  ["select accepted from fairmill.settle_v1($1, $2)", "settle"],
  ["select * from other_schema.news_v1($1)", "news"],
  ["select id from fairmill.job where worker = $1", "select job"],
  ["insert into fairmill.migration (name) values ($1)", "insert migration"],
  ["delete from fairmill.step where job_id = $1", "delete step"],
  ["select pg_notify($1, $2)", "pg_notify"],
  ['listen "fairmill"', "listen"],
  ["begin isolation level read committed", "begin"],
  [named("jobs.page", "select 1 from fairmill.job_history"), "jobs.page"],
])("%s is called %s", (text, name) => {
  expect(nameOfStatement(text)).toBe(name);
});

test("statements, pipelines and transactions are announced, each with its rows and outcome", async () => {
  const { database, said, calls } = watched();
  await database.query("select * from generate_series(1, 3)");
  await database.pipeline([
    ["select fairmill.wake_v1($1, $2)", [[], null]],
    ["select 1/0", []],
  ]);
  await database.pipelineFirst([["select 1 as one", []]]);
  await database.transaction((tx) => tx.query("select count(*) from fairmill.job"));
  await database.transaction((tx) => tx.query("select 1/0")).catch(() => {});
  // Both answers of the pipeline come in one piece: which of them is announced first is not promised.
  const heard = said();
  expect(heard.splice(1, 2).toSorted()).toEqual([
    ["select", 0, "22012"],
    ["wake", 1, "ok"],
  ]);
  expect(heard).toEqual([
    ["select", 3, "ok"],
    ["select", 1, "ok"],
    ["begin", 0, "ok"],
    ["select job", 1, "ok"],
    ["commit", 0, "ok"],
    ["begin", 0, "ok"],
    ["select", 0, "22012"],
    ["rollback", 0, "ok"],
  ]);
  for (const { durationMs } of calls) expect(durationMs).toBeGreaterThan(0);
});

test("a statement without an answer is announced as lost", async () => {
  const { database, said } = watched();
  await database.transaction((tx) => tx.query("select pg_terminate_backend(pg_backend_pid())")).catch(() => {});
  expect(said()[1]).toEqual(["pg_terminate_backend", 0, "57P01"]);
  expect(said()[2]![2]).toBe("lost");
});

test("a listener that throws disturbs neither the statement nor the others, and one that left hears nothing", async () => {
  const { database, calls, leave } = watched();
  database.calls.add(() => {
    throw new Error("a listener of the test");
  });
  const heard: string[] = [];
  database.calls.add(({ name }) => heard.push(name));
  expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
  leave();
  await database.query("select 2 as two");
  expect([calls.length, heard.length]).toEqual([1, 2]);
});

test("statements in a transaction of the caller are announced like all others, and fail as they did", async () => {
  const { database, said, leave } = watched();
  const tx = await openSession(db.url);
  onTestFinished(() => tx.close());
  const caller = { query: async (text: string, values?: unknown[]) => ({ rows: await tx.query(text, values) }) };
  const inside = explainedTransaction(caller, "fairmill", "client.in(tx)", database.calls);
  const session = transactionSession(inside, "fairmill");
  await session.query("select * from fairmill.queues_v1($1, $2)", ["", 5]);
  await session.query("select id from fairmill.job limit 1");
  await expect(inside.query("select 1/0")).rejects.toMatchObject({ sqlState: "22012" });
  expect(said()).toEqual([
    ["queues", 0, "ok"],
    ["select job", 0, "ok"],
    ["select", 0, "22012"],
  ]);
  leave();
  await session.query("select id from fairmill.job limit 1");
  expect(said()).toHaveLength(3);
});
