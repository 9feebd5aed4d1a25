// The statements about named limits. One that was given with its windows is reported first, as an enqueue would.
import { type RowTime, type Session, timeOf, timeOrNull } from "../db/session.js";
import { defineNamedLimit } from "./limit-statements.js";
import type { BoundedCount, NamePage } from "./overview-statements.js";

type Limit = Parameters<typeof defineNamedLimit>[1] | { readonly name: string; readonly windows?: undefined };

/** One window of a limit for one key. */
export interface LimitAvailability {
  readonly unit: string;
  readonly limit: number;
  readonly perMs: number;
  /** What counts in the window now. */
  readonly used: number;
  /** What was used beyond the window, and still has to count: until then no job starts. */
  readonly owed: number;
  readonly available: number;
  /** When the next unit is free; null: now. */
  readonly openAt: Date | null;
}

export interface NamedLimitOverview {
  readonly name: string;
  readonly windows: readonly { readonly unit: string; readonly limit: number; readonly perMs: number }[];
  readonly reportedAt: Date;
  /** Jobs that wait for its units. */
  readonly waiting: BoundedCount;
}

const LIMITS = "select name, windows, reported_at, waiting, waiting_full from fairmill.limits_v1($1, $2)";
const AVAILABLE = `select unit, max_units, per_ms::float8 as per_ms, used::float8 as used, owed::float8 as owed, available, open_at
  from fairmill.limit_available_v1($1, $2)`;

const told = async (db: Session, limit: Limit) =>
  limit.windows === undefined ? undefined : defineNamedLimit(db, { name: limit.name, windows: limit.windows });

export async function readNamedLimits(db: Session, page: Required<NamePage>): Promise<NamedLimitOverview[]> {
  type Row = {
    name: string;
    windows: { unit: string; limit: number; per_ms: number }[];
    reported_at: RowTime;
    waiting: number;
    waiting_full: boolean;
  };
  const rows = await db.query<Row>(LIMITS, [page.after, page.limit]);
  return rows.map((row) => ({
    name: row.name,
    windows: row.windows.map(({ unit, limit, per_ms }) => ({ unit, limit, perMs: per_ms })),
    reportedAt: timeOf(row.reported_at),
    waiting: { count: row.waiting, more: row.waiting_full },
  }));
}

export async function readAvailability(db: Session, limit: Limit, key: string): Promise<LimitAvailability[]> {
  type Row = {
    unit: string;
    max_units: number;
    per_ms: number;
    used: number;
    owed: number;
    available: number;
    open_at: RowTime | null;
  };
  await told(db, limit);
  const rows = await db.query<Row>(AVAILABLE, [limit.name, key]);
  return rows.map(({ unit, max_units, per_ms, used, owed, available, open_at }) => ({
    ...{ unit, limit: max_units, perMs: per_ms, used, owed, available },
    openAt: timeOrNull(open_at),
  }));
}

export async function useNamedLimit(
  db: Session,
  limit: Limit,
  key: string,
  units: Readonly<Record<string, number>>,
): Promise<void> {
  await told(db, limit);
  await db.query("select fairmill.use_limit_v1($1, $2, $3)", [limit.name, key, JSON.stringify(units)]);
}

export async function resetNamedLimit(db: Session, limit: Limit, key: string): Promise<void> {
  await told(db, limit);
  await db.query("select fairmill.reset_limit_v1($1, $2)", [limit.name, key]);
}
