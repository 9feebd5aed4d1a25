// A transaction of the caller, as this library speaks to it: what its driver throws is explained, and what it answers is looked at, because it may be
// anything that has a method called query.
import { ConfigError } from "../base/errors.js";
import type { Queryable } from "../base/queryable.js";
import type { CallListeners } from "./database-call.js";
import { explainFailure } from "./explain-failure.js";
import { driversError } from "./wrapped-error.js";

/** Throws unless it has a query method. */
export function checkTransaction(tx: unknown, where: string): asserts tx is Queryable {
  try {
    if (typeof (tx as Partial<Queryable> | undefined)?.query === "function") return;
  } catch {}
  throw new ConfigError(
    "tx",
    `${where}: tx must have a query(text, values) method, like a pg client inside a transaction. For transactions of other libraries there are adapters: fairmill/adapters/postgres-js, drizzle, kysely, prisma.`,
  );
}

/** The rows of an answer. */
export function rowsOf(answer: unknown, where: string): unknown[] {
  const rows = (answer as { rows?: unknown } | undefined)?.rows;
  if (Array.isArray(rows)) return rows;
  throw new ConfigError("tx", `${where}: tx.query(…) answered without a list of rows, as pg's clients do.`);
}

/** The cause keeps what the driver said, and `sqlState` its state: a caller that repeats transactions on 40001 still can. */
export function explainedTransaction(tx: Queryable, schema: string, where: string, calls: CallListeners): Queryable {
  checkTransaction(tx, where);
  return {
    query: async (text, values) => {
      let answer: unknown;
      try {
        answer = await (calls.isEmpty ? tx.query(text, values) : announced(tx, text, values, calls));
      } catch (failure) {
        throw explainFailure(failure, schema, driversError(failure));
      }
      return { rows: rowsOf(answer, where) };
    },
  };
}

/** As statements over connections of ours are. An adapter wraps the errors of its driver: the state is that of the driver's. */
async function announced(tx: Queryable, text: string, values: unknown[] | undefined, calls: CallListeners) {
  let answer: unknown;
  let failure: unknown;
  const rows = (async () => {
    try {
      answer = await tx.query(text, values);
    } catch (error) {
      failure = error;
      throw driversError(error);
    }
    return rowsOf(answer, "tx");
  })();
  await calls.watch(text, rows).catch(() => {});
  if (failure !== undefined) throw failure;
  return answer;
}
