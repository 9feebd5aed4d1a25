// A transaction of Kysely, for `client.in(tx)`.
import { ConfigError } from "../base/errors.js";
import type { Queryable } from "../db/database.js";

/** A `Transaction` of Kysely, controlled or not, by what is needed of it. */
export interface KyselyTransaction {
  readonly isTransaction: true;
  executeQuery(query: {
    readonly sql: string;
    readonly parameters: readonly unknown[];
    readonly query: RawNode;
    readonly queryId: { readonly queryId: string };
  }): Promise<{ readonly rows: unknown[] }>;
}

interface RawNode {
  readonly kind: "RawNode";
  readonly sqlFragments: readonly string[];
  readonly parameters: readonly never[];
}

/** `await db.transaction().execute((tx) => client.in(fromKysely(tx)).enqueue(job, input))` */
export function fromKysely(tx: KyselyTransaction): Queryable {
  if (tx?.isTransaction !== true)
    throw new ConfigError(
      "tx",
      "fromKysely(tx): tx must be a transaction, as db.transaction().execute hands it out. Outside of one, use the client as it is.",
    );
  return {
    query: (text, values = []) =>
      tx.executeQuery({
        sql: text,
        parameters: values,
        // For plugins and loggers that look at the tree of a query.
        query: { kind: "RawNode", sqlFragments: [text], parameters: [] },
        queryId: { queryId: "fairmill" },
      }),
  };
}
