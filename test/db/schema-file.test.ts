// sql/schema.sql shows the schema as it is. On every major version of PostgreSQL: the text must not depend on the server's spelling.
import { readFile } from "node:fs/promises";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { database } from "./databases.js";

type Client = Pick<pg.Client, "query">;

const { schemaText } = (await import("../../scripts/schema-text.mjs" as string)) as {
  schemaText: (client: Client) => Promise<string>;
};

async function textOf(change?: string): Promise<string> {
  const { url } = await database({});
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end());
  if (change) await client.query(change);
  return schemaText(client);
}

const stored = () => readFile(new URL("../../sql/schema.sql", import.meta.url), "utf8");

test("the file says what the catalog of a migrated database says; otherwise run `npm run schema`", async () => {
  expect(await textOf()).toBe(await stored());
});

test.each([
  ["a column", "alter table fairmill.job add column novelty integer"],
  ["a default", "alter table fairmill.job alter column priority set default 1"],
  ["a constraint", "alter table fairmill.worker drop constraint worker_id_fits"],
  ["an index", "drop index fairmill.job_lane"],
  ["a storage parameter", "alter table fairmill.job set (fillfactor = 100)"],
  ["the storage of a column", "alter table fairmill.job alter column payload set storage external"],
  ["a view", "alter view fairmill.channel_outbox rename column worker to novelty"],
  ["a field of a type", "alter type fairmill.new_job add attribute novelty text"],
  ["a domain", "alter domain fairmill.label drop constraint label_check"],
  ["a trigger", "drop trigger migration_guard on fairmill.migration"],
])("a change of %s shows", async (_, change) => {
  expect(await textOf(change)).not.toBe(await stored());
});
