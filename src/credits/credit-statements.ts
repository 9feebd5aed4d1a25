// The statements about credits: grants, balances, statements of accounts.
import type { Queryable } from "../db/database.js";

export interface Balance {
  /** Free to be reserved. */
  readonly available: number;
  /** Held by jobs that have not ended. */
  readonly reserved: number;
}

/** One movement of an account. */
export interface CreditEntry {
  readonly id: string;
  readonly kind: "grant" | "reservation" | "capture" | "release";
  readonly amount: number;
  /** Of a reservation or its end. */
  readonly jobId: string | null;
  readonly reason: string | null;
  readonly createdAt: Date;
}

export interface StatementPage {
  /** Only older entries: the last id of the page before. */
  readonly before?: string;
  /** Page size, at most 200; default 50. */
  readonly limit?: number;
}

/** Movements of one page. */
export const ENTRIES_MAX = 200;

type Query = <Row>(text: string, values: unknown[]) => Promise<Row[]>;

/** Statements as a database runs them, or a transaction of the caller. */
export const asQuery =
  (tx: Queryable, qualified: (text: string) => string): Query =>
  async <Row>(text: string, values: unknown[]) =>
    (await tx.query(qualified(text), values)).rows as Row[];

export async function grantCredits(
  query: Query,
  account: string,
  amount: number,
  key: string | undefined,
  reason: string | undefined,
): Promise<{ available: number; granted: boolean }> {
  const [row] = await query<{ balance: string; granted: boolean }>("select * from fairmill.grant_v1($1, $2, $3, $4)", [
    account,
    amount,
    key ?? null,
    reason ?? null,
  ]);
  return { available: Number(row!.balance), granted: row!.granted };
}

export async function readBalance(query: Query, account: string): Promise<Balance> {
  const [row] = await query<{ available: string; reserved: string }>("select * from fairmill.balance_v1($1)", [
    account,
  ]);
  return { available: Number(row!.available), reserved: Number(row!.reserved) };
}

export async function readStatement(
  query: Query,
  account: string,
  page: StatementPage & { limit: number },
): Promise<CreditEntry[]> {
  const rows = await query<{
    id: string;
    kind: CreditEntry["kind"];
    amount: string;
    job_id: string | null;
    reason: string | null;
    created_at: Date;
  }>(
    // id + 0: as the index has it, for a reason that its migration tells.
    `select id, kind, amount, job_id, reason, created_at from fairmill.credit_entry
     where account = $1 and id + 0 < coalesce($2, 9223372036854775807) order by account desc, id + 0 desc limit $3`,
    [account, page.before ?? null, page.limit],
  );
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    amount: Number(row.amount),
    jobId: row.job_id,
    reason: row.reason,
    createdAt: new Date(row.created_at),
  }));
}
