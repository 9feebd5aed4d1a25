// Job ids are whole numbers written as text: PostgreSQL's bigint does not fit a JavaScript number, and nobody calculates with ids.

import { ConfigError } from "./errors.js";
import { showValue } from "./show-value.js";

/** Throws unless the value is a job id. */
export function checkJobId(id: string): string {
  if (/^\d{1,18}$/.test(String(id))) return String(id);
  throw new ConfigError("id", `${showValue(id)} is not a job id: ids are whole numbers, as enqueue returned them.`);
}

/** Orders ids like the numbers they are. */
export const compareIds = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

/** Whether the items stand in the order of their ids. */
export function isSortedById<Item>(items: readonly Item[], idOf: (item: Item) => string): boolean {
  for (let i = 1; i < items.length; i++) if (compareIds(idOf(items[i - 1]!), idOf(items[i]!)) > 0) return false;
  return true;
}
