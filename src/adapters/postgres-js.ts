// A transaction of postgres.js, for `client.in(tx)`.
import { ConfigError } from "../base/errors.js";
import type { Queryable } from "../db/database.js";

/** The `sql` that `sql.begin` hands out, or one of `sql.reserve()` after a `begin` of yours: what is needed of it, and what identifies it. */
export type PostgresJsTransaction = Sql & ({ readonly savepoint: unknown } | { readonly release: unknown });

interface Sql {
  // biome-ignore lint/suspicious/noExplicitAny: the library's own parameter types depend on the types that its user configured.
  unsafe(text: string, values: any[]): PromiseLike<readonly unknown[]>;
  typed: (value: string, type: number) => unknown;
}

/** PostgreSQL's type `unknown`: the statement says what the text is. */
const UNKNOWN_TYPE = 705;

/** `await sql.begin((tx) => client.in(fromPostgresJs(tx)).enqueue(job, input))` */
export function fromPostgresJs(tx: PostgresJsTransaction): Queryable {
  if (typeof tx?.unsafe !== "function" || !("savepoint" in tx || "release" in tx))
    throw new ConfigError(
      "tx",
      "fromPostgresJs(tx): tx must be the sql of a transaction, as sql.begin hands it out. Outside of one, use the client as it is.",
    );
  // The library would turn a text for a json parameter into JSON once more, unless it is given a type that it leaves alone.
  const asItIs = (value: unknown) => (typeof value === "string" ? tx.typed(value, UNKNOWN_TYPE) : value);
  return { query: async (text, values = []) => ({ rows: [...(await tx.unsafe(text, values.map(asItIs)))] }) };
}
