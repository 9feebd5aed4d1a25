// Connections that fall silent.
import { expect, onTestFinished, test } from "vitest";
import { Database, type Queryable } from "../../src/store/database.js";
import { isConnectionLoss } from "../../src/store/failures.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
/** Longer than anybody here is patient. */
const SILENCE = "select pg_sleep(600)";

function openDatabase(answerMsMax: number): Database {
  const database = new Database(
    { databaseUrl: db.url },
    { connectionsMax: 1, applicationName: "silence", answerMsMax },
  );
  onTestFinished(() => database.close());
  return database;
}

const ways: readonly (readonly [string, (database: Database) => Promise<unknown>])[] = [
  ["a statement", (database) => database.query(SILENCE)],
  ["the first of several", (database) => database.ahead([[SILENCE, []]])],
  ["one of a transaction", (database) => database.transaction((tx) => tx.query(SILENCE))],
];

test.each(ways)("%s that gets no answer counts as lost, and the next one has another connection", async (_, ask) => {
  const database = openDatabase(200);
  const error = await ask(database).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "ETIMEDOUT", message: expect.stringContaining("no answer") });
  expect(isConnectionLoss(error)).toBe(true);
  expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
  // The server notices when it next looks at its client; nothing of ours waits for it.
  await db.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query = $1",
    [SILENCE],
  );
});

test("a patient transaction waits for its answer", async () => {
  const database = openDatabase(50);
  const slow = (tx: Queryable) => tx.query("select pg_sleep(0.3)");
  await expect(database.transaction(slow)).rejects.toMatchObject({ code: "ETIMEDOUT" });
  expect(await database.transaction(slow, { isPatient: true })).toMatchObject({ rowCount: 1 });
});

test("what waits behind a silent statement is lost with it, each for itself", async () => {
  const database = openDatabase(200);
  const answers = await database.together([
    ["select 1", []],
    [SILENCE, []],
    ["select 3", []],
  ]);
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  await db.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query = $1",
    [SILENCE],
  );
});
