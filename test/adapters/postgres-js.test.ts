import { fromPostgresJs } from "fairmill/adapters/postgres-js";
import postgres from "postgres";
import { describeAdapter } from "./in-transaction.js";

// With the transformation that renames columns, and members of JSON in them.
describeAdapter("postgres.js", (url) => {
  const sql = postgres(url, { max: 2, transform: postgres.camel, onnotice: () => {} });
  return {
    transaction: <T>(
      work: (adapted: { tx: ReturnType<typeof fromPostgresJs>; run(text: string): Promise<unknown> }) => Promise<T>,
    ) => sql.begin((tx) => work({ tx: fromPostgresJs(tx), run: (text) => tx.unsafe(text) })) as Promise<T>,
    adaptPool: () => fromPostgresJs(sql),
    close: () => sql.end(),
  };
});

describeAdapter("postgres.js, in a savepoint", (url) => {
  const sql = postgres(url, { max: 2, prepare: false, onnotice: () => {} });
  return {
    transaction: <T>(
      work: (adapted: { tx: ReturnType<typeof fromPostgresJs>; run(text: string): Promise<unknown> }) => Promise<T>,
    ) =>
      sql.begin((outer) =>
        outer.savepoint((tx) => work({ tx: fromPostgresJs(tx), run: (text) => tx.unsafe(text) })),
      ) as Promise<T>,
    adaptPool: () => fromPostgresJs(sql),
    close: () => sql.end(),
  };
});
