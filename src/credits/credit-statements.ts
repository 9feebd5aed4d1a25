// The statements about credits: grants, balances, statements of accounts.
import { idOf, idOrNull, type RowId, type RowTime, type Session, timeOf } from "../db/session.js";

export interface Balance {
  /** Free to be reserved. */
  readonly available: number;
  /** Reserved by jobs that have not ended. */
  readonly reserved: number;
}

/** One movement of an account. */
export interface CreditEntry {
  readonly id: string;
  readonly kind: "grant" | "reservation" | "capture" | "release" | "refund";
  readonly amount: number;
  /** Of a capture: what of the amount was not used and went back. */
  readonly returned: number;
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

export async function grantCredits(
  db: Session,
  account: string,
  amount: number,
  key: string | undefined,
  reason: string | undefined,
): Promise<{ available: number; granted: boolean }> {
  const [row] = await db.query<{ balance: RowId; granted: boolean }>(
    "select * from fairmill.grant_v1($1, $2, $3, $4)",
    [account, amount, key ?? null, reason ?? null],
  );
  return { available: Number(row!.balance), granted: row!.granted };
}

export async function readBalance(db: Session, account: string): Promise<Balance> {
  const [row] = await db.query<{ available: RowId; reserved: RowId }>("select * from fairmill.balance_v1($1)", [
    account,
  ]);
  return { available: Number(row!.available), reserved: Number(row!.reserved) };
}

export async function readStatement(
  db: Session,
  account: string,
  page: StatementPage & { limit: number },
): Promise<CreditEntry[]> {
  const rows = await db.query<{
    id: RowId;
    kind: CreditEntry["kind"];
    amount: RowId;
    returned: RowId | null;
    job_id: RowId | null;
    reason: string | null;
    created_at: RowTime;
  }>(
    // id + 0: as the index has it, for a reason that its migration gives.
    `select id, kind, amount, returned, job_id, reason, created_at from fairmill.credit_entry
     where account = $1 and id + 0 < coalesce($2, 9223372036854775807) order by account desc, id + 0 desc limit $3`,
    [account, page.before ?? null, page.limit],
  );
  return rows.map((row) => ({
    id: idOf(row.id),
    kind: row.kind,
    amount: Number(row.amount),
    returned: Number(row.returned ?? 0),
    jobId: idOrNull(row.job_id),
    reason: row.reason,
    createdAt: timeOf(row.created_at),
  }));
}

/** What a refund came to. */
export interface Refunded {
  readonly account: string;
  /** How much was given back in all. */
  readonly refunded: number;
  /** False: it was given back before, and this call changed nothing. */
  readonly isNew: boolean;
}

export async function refundCredits(
  db: Session,
  jobId: string,
  amount: number | undefined,
  reason: string | undefined,
): Promise<Refunded | "not_captured" | "too_much" | "not_found"> {
  type Row = {
    answer: "refunded" | "known" | "not_captured" | "too_much" | "not_found";
    account: string;
    refunded: RowId;
  };
  const [row] = await db.query<Row>("select answer, account, refunded from fairmill.refund_v1($1, $2, $3)", [
    jobId,
    amount ?? null,
    reason ?? null,
  ]);
  const { answer, account, refunded } = row!;
  if (answer !== "refunded" && answer !== "known") return answer;
  return { account, refunded: Number(refunded), isNew: answer === "refunded" };
}
