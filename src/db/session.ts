// What runs statements: the database over connections of ours, or a transaction of the caller over the caller's one connection. Statements
// written for a session read the same in both, whatever the caller's driver makes of times, big numbers and JSON.

import { ConfigError } from "../base/errors.js";
import type { Queryable } from "../base/queryable.js";
import { qualify } from "./schema-name.js";

/** A database is one, and so is a transaction of the caller. */
export interface Session {
  readonly schema: string;
  /** Times in the rows may be Dates or ISO texts, ids texts or numbers: `timeOf` and `idOf` read both. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/**
 * Each row comes as one JSON text: drivers and ORMs differ in what they make of the types of columns, and agree on texts. No statement has a
 * column that is called like the row: that would be taken for the column.
 */
const asJson = (text: string) => `select to_json(the_row)::text as answer from (${text}) as the_row`;

export const transactionSession = (tx: Queryable, schema: string): Session => ({
  schema,
  query: async <Row>(text: string, values: readonly unknown[] = []) => {
    const { rows } = await tx.query(qualify(asJson(text), schema), [...values]);
    return rows.map((row) => {
      const answer = (row as { answer?: unknown } | null)?.answer;
      if (typeof answer === "string") return JSON.parse(answer) as Row;
      throw new ConfigError("tx", "client.in(tx): tx.query(…) answered with rows that lack their columns.");
    });
  },
});

/** A time as a session's row has it. */
export type RowTime = Date | string;
/** An id as a session's row has it: sequences stay far below 2^53. */
export type RowId = string | number;

export const timeOf = (time: RowTime): Date => (time instanceof Date ? time : new Date(time));
export const timeOrNull = (time: RowTime | null): Date | null => (time === null ? null : timeOf(time));
export const idOf = (id: RowId): string => String(id);
export const idOrNull = (id: RowId | null): string | null => (id === null ? null : String(id));
