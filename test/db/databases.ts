// Databases of a test's own, and the connections to them.
import pg from "pg";
import { onTestFinished } from "vitest";
import { Database } from "../../src/db/database.js";
import { freshDatabase } from "../support/database.js";
import type { Asker } from "../support/sql/calls.js";

/** A database that is gone after the test: empty, unless it is told otherwise. */
export async function database(options: { empty?: boolean } = { empty: true }): Promise<{ url: string }> {
  const { url, drop } = await freshDatabase(options);
  onTestFinished(drop);
  return { url };
}

/** The library's view of a database. */
export function open(url: string, schema?: string): Database {
  const db = new Database({ databaseUrl: url, schema }, { connectionsMax: 3, applicationName: "test migrate" });
  onTestFinished(() => db.close());
  return db;
}

/** A connection of the test's own. */
export async function session(url: string): Promise<Asker> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return {
    query: async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
      (await client.query<Row>(text, values)).rows,
  };
}
