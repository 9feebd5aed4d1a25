// The server lists tenants that have settings or jobs at this moment. One that was served lately is a tenant as well: where the list has one page, it has its row.
import type { Fairness, Page, TenantRow } from "../../data/contract";

const NONE = { count: 0, more: false };

export function rowsOf(
  { items, next }: Page<TenantRow>,
  fairness: Fairness | undefined,
  isFirst: boolean,
): readonly TenantRow[] {
  if (next !== null || !isFirst) return items;
  const known = new Set(items.map(({ tenant }) => tenant));
  const idle = (fairness?.lanes ?? []).filter(({ tenant }) => !known.has(tenant)).map(idleRow);
  return [...items, ...idle].sort((a, b) => (a.tenant < b.tenant ? -1 : 1));
}

const idleRow = ({ tenant, weight }: Fairness["lanes"][number]): TenantRow => ({
  ...{ tenant, weight, maxRunning: null, rate: null, pausedAt: null, pausedUntil: null },
  ...{ ready: NONE, running: NONE },
});
