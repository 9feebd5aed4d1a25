import { createClient, defineJob } from "fairmill";
import { fromPostgresJs } from "fairmill/adapters/postgres-js";
import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import type { AdaptedTransaction } from "./adapted.js";
import { describeAdapter } from "./in-transaction.js";

// With the transformation that renames columns, and members of JSON in them.
describeAdapter("postgres.js", (url) => {
  const sql = postgres(url, { max: 2, transform: postgres.camel, onnotice: () => {} });
  return {
    transaction: <T>(work: (adapted: AdaptedTransaction) => Promise<T>) =>
      sql.begin((tx) => work({ tx: fromPostgresJs(tx), run: (text) => tx.unsafe(text) })) as Promise<T>,
    // @ts-expect-error: the types refuse it, too.
    adaptPool: () => fromPostgresJs(sql),
    close: () => sql.end(),
  };
});

describeAdapter("postgres.js, in a savepoint", (url) => {
  const sql = postgres(url, { max: 2, prepare: false, onnotice: () => {} });
  return {
    transaction: <T>(work: (adapted: AdaptedTransaction) => Promise<T>) =>
      sql.begin((outer) =>
        outer.savepoint((tx) => work({ tx: fromPostgresJs(tx), run: (text) => tx.unsafe(text) })),
      ) as Promise<T>,
    // @ts-expect-error: the types refuse it, too.
    adaptPool: () => fromPostgresJs(sql),
    close: () => sql.end(),
  };
});

describeAdapter("postgres.js, on a reserved connection", (url) => {
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  return {
    transaction: async (work) => {
      const tx = await sql.reserve();
      try {
        await tx`begin`;
        const value = await work({ tx: fromPostgresJs(tx), run: (text) => tx.unsafe(text) });
        await tx`commit`;
        return value;
      } catch (error) {
        await tx`rollback`;
        throw error;
      } finally {
        tx.release();
      }
    },
    // @ts-expect-error: the types refuse it, too.
    adaptPool: () => fromPostgresJs(sql),
    close: () => sql.end(),
  };
});

describe("postgres.js without the adapter", () => {
  const db = useDatabase();
  test("encodes JSON once more: that is refused, not stored", async () => {
    const client = createClient({ databaseUrl: db.url });
    const sql = postgres(db.url, { max: 1 });
    const call = sql.begin((tx) => {
      const plain = {
        query: async (text: string, values: unknown[] = []) => ({ rows: await tx.unsafe(text, values as string[]) }),
      };
      return client.in(plain).enqueue(defineJob({ kind: "plain" }), {});
    });
    await expect(call).rejects.toMatchObject({ code: "FAIRMILL_DATABASE", sqlState: "FM001" });
    await sql.end();
    await client.close();
  });
});
