// The statements about budgets.
import { type RowTime, type Session, timeOf, timeOrNull } from "../db/session.js";
import type { BudgetName, checkBudget } from "./budget-settings.js";

/** A budget as it stands. */
export interface Budget {
  readonly tenant: string;
  readonly per: "day" | "month";
  /** Null: of all of them. */
  readonly provider: string | null;
  readonly kind: string | null;
  readonly currency: string;
  readonly timeZone: string;
  readonly soft: number | null;
  readonly hard: number | null;
  /** In the period that runs: calls that are under way as they are expected. */
  readonly spent: number;
  /** spent: jobs that need a provider are refused, or wait. */
  readonly state: "within" | "soft" | "spent";
  readonly periodFrom: Date;
  readonly periodUntil: Date;
  /** Since when it is at its soft threshold. */
  readonly softAt: Date | null;
}

export const BUDGETS_MAX = 1_000;

interface Row {
  tenant: string;
  per: Budget["per"];
  provider: string;
  kind: string;
  currency: string;
  time_zone: string;
  soft: string | null;
  hard: string | null;
  spent: string;
  state: Budget["state"];
  period_from: RowTime;
  period_until: RowTime;
  soft_at: RowTime | null;
}

const SET = "select fairmill.set_budget_v1($1, $2, $3::text::numeric, $4::text::numeric, $5, $6, $7, $8)";
const REMOVE = "select fairmill.remove_budget_v1($1, $2, $3, $4, $5)::text as removed";
const LIST = `select tenant, per, provider, kind, currency, time_zone, soft::text as soft, hard::text as hard, spent::text as spent, state,
    period_from, period_until, soft_at
  from fairmill.budgets_v1($1, $2, $3)`;

export async function setBudget(db: Session, budget: ReturnType<typeof checkBudget>): Promise<void> {
  const { tenant, per, soft, hard, provider, kind, currency, timeZone } = budget;
  await db.query(SET, [tenant, per, amountText(soft), amountText(hard), provider, kind, currency, timeZone]);
}

const amountText = (amount: number | undefined): string | null => (amount === undefined ? null : String(amount));

export async function removeBudget(db: Session, name: Required<BudgetName>): Promise<boolean> {
  const { tenant, per, provider, kind, currency } = name;
  const [row] = await db.query<{ removed: string }>(REMOVE, [tenant, per, provider, kind, currency]);
  return row!.removed === "true";
}

/** `after`: as [tenant, per, provider, kind, currency]. */
export async function readBudgets(
  db: Session,
  tenant: string | undefined,
  after: readonly string[] | undefined,
  limit: number,
): Promise<Budget[]> {
  const rows = await db.query<Row>(LIST, [tenant ?? null, after ?? null, limit]);
  return rows.map((row) => ({
    tenant: row.tenant,
    per: row.per,
    provider: row.provider === "" ? null : row.provider,
    kind: row.kind === "" ? null : row.kind,
    currency: row.currency,
    timeZone: row.time_zone,
    soft: row.soft === null ? null : Number(row.soft),
    hard: row.hard === null ? null : Number(row.hard),
    spent: Number(row.spent),
    state: row.state,
    periodFrom: timeOf(row.period_from),
    periodUntil: timeOf(row.period_until),
    softAt: timeOrNull(row.soft_at),
  }));
}
