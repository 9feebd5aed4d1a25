// What a library must be able to do for these tests: run a transaction, and say that one is none.
import { defineJob, type Queryable } from "fairmill";

export interface AdaptedTransaction {
  readonly tx: Queryable;
  /** Runs a statement without parameters in the transaction, by the library itself. */
  run(text: string): Promise<unknown>;
}

/** A library that is connected to a database. */
export interface Connected {
  transaction<T>(work: (adapted: AdaptedTransaction) => Promise<T>): Promise<T>;
  /** Gives the adapter what is no transaction: the library's pool. */
  adaptPool(): Queryable;
  close(): Promise<unknown>;
}

export const plain = defineJob<Record<string, unknown>>({ kind: "plain" });

export const failed = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => {
      throw new Error("It did not fail.");
    },
    (error: unknown) => error,
  );
