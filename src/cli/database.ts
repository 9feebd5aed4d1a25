// A database of the target's own, for commands that ask it without a client.
import { Database } from "../db/database.js";
import { explaining } from "../db/explain-failure.js";
import type { Target } from "./target.js";

export async function withDatabase<T>(
  { databaseUrl, schema }: Pick<Target, "databaseUrl" | "schema">,
  applicationName: string,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const db = new Database({ databaseUrl, schema }, { connectionsMax: 2, applicationName });
  try {
    return await explaining(db.schema, () => work(db));
  } finally {
    await db.close();
  }
}
