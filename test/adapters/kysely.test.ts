import { fromKysely } from "fairmill/adapters/kysely";
import { CamelCasePlugin, CompiledQuery, Kysely, PostgresDialect } from "kysely";
import { openPool } from "../support/open-pool.js";
import { describeAdapter } from "./in-transaction.js";

/** A connection that is being closed may still be told that its database is gone, which does no harm. */
const poolOf = (url: string) => openPool({ connectionString: url, max: 2 });

// With the plugin that renames columns, and members of JSON in them.
describeAdapter("Kysely", (url) => {
  const db = new Kysely<Record<string, never>>({
    dialect: new PostgresDialect({ pool: poolOf(url) }),
    plugins: [new CamelCasePlugin()],
  });
  return {
    transaction: (work) =>
      db
        .transaction()
        .execute((tx) => work({ tx: fromKysely(tx), run: (text) => tx.executeQuery(CompiledQuery.raw(text)) })),
    // @ts-expect-error: the types refuse it, too.
    adaptPool: () => fromKysely(db),
    close: () => db.destroy(),
  };
});

describeAdapter("Kysely, controlled by hand", (url) => {
  const db = new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool: poolOf(url) }) });
  return {
    transaction: async (work) => {
      const tx = await db.startTransaction().execute();
      try {
        const value = await work({ tx: fromKysely(tx), run: (text) => tx.executeQuery(CompiledQuery.raw(text)) });
        await tx.commit().execute();
        return value;
      } catch (error) {
        await tx
          .rollback()
          .execute()
          .catch(() => {});
        throw error;
      }
    },
    // @ts-expect-error: the types refuse it, too.
    adaptPool: () => fromKysely(db),
    close: () => db.destroy(),
  };
});
