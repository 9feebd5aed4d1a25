// A transaction of Drizzle, for `client.in(tx)`; over node-postgres, postgres.js or another of its PostgreSQL drivers.
import { ConfigError } from "../base/errors.js";
import type { Queryable } from "../db/database.js";

/** A `PgTransaction` of Drizzle, by what is needed of it. */
export interface DrizzleTransaction<Sql> {
  execute(query: Sql): PromiseLike<unknown>;
  rollback(): never;
}

/** Drizzle's `sql`, by what is needed of it: only it can make a query with parameters. */
export interface DrizzleSql<Sql> {
  raw(text: string): Sql;
  param(value: unknown): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: pieces of a query have no common type that could be named without the library.
  join(chunks: any[]): Sql;
}

/** `await db.transaction((tx) => client.in(fromDrizzle(tx, sql)).enqueue(job, input))`, with `sql` of "drizzle-orm". */
export function fromDrizzle<Sql>(tx: DrizzleTransaction<Sql>, sql: DrizzleSql<Sql>): Queryable {
  if (typeof tx?.execute !== "function" || typeof tx.rollback !== "function")
    throw new ConfigError(
      "tx",
      "fromDrizzle(tx, sql): tx must be a transaction, as db.transaction hands it out. Outside of one, use the client as it is.",
    );
  if (typeof sql?.join !== "function")
    throw new ConfigError("sql", 'fromDrizzle(tx, sql): pass the sql that "drizzle-orm" exports.');
  return {
    query: async (text, values = []) => {
      // Fairmill's statements have no dollar signs but those of parameters. The library numbers them again, as they come.
      const pieces = text
        .split(/\$(\d+)/)
        .map((piece, i) => (i % 2 === 0 ? sql.raw(piece) : sql.param(values[Number(piece) - 1])));
      const result = await tx.execute(sql.join(pieces));
      // Some drivers answer with the rows themselves, others with an object that has them.
      return { rows: Array.isArray(result) ? [...result] : (result as { rows: unknown[] }).rows };
    },
  };
}
