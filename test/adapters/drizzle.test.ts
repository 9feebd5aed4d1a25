import { sql } from "drizzle-orm";
import { drizzle as overNodePostgres } from "drizzle-orm/node-postgres";
import { drizzle as overPostgresJs } from "drizzle-orm/postgres-js";
import { fromDrizzle } from "fairmill/adapters/drizzle";
import postgres from "postgres";
import { openPool } from "../support/open-pool.js";
import { describeAdapter } from "./in-transaction.js";

describeAdapter("Drizzle over node-postgres", (url) => {
  // A connection that is being closed may still be told that its database is gone, which does no harm.
  const pool = openPool({ connectionString: url, max: 2 });
  const db = overNodePostgres({ client: pool });
  return {
    transaction: (work) =>
      db.transaction((tx) => work({ tx: fromDrizzle(tx, sql), run: async (text) => await tx.execute(text) })),
    // @ts-expect-error: the types refuse it, too.
    adaptPool: () => fromDrizzle(db, sql),
    close: () => pool.end(),
  };
});

describeAdapter("Drizzle over postgres.js", (url) => {
  const driver = postgres(url, { max: 2, onnotice: () => {} });
  const db = overPostgresJs({ client: driver });
  return {
    transaction: (work) =>
      db.transaction((tx) => work({ tx: fromDrizzle(tx, sql), run: async (text) => await tx.execute(text) })),
    // @ts-expect-error: the types refuse it, too.
    adaptPool: () => fromDrizzle(db, sql),
    close: () => driver.end(),
  };
});
