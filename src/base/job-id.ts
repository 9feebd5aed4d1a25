// Job ids are whole numbers written as text: PostgreSQL's bigint does not fit a JavaScript number, and no code calculates with ids.

import { ConfigError } from "./errors.js";
import { showValue } from "./show-value.js";

/** The id as text, where a value is one: texts, and numbers that are exact. A list of one id is none, though its text looks like one. */
export function idOf(value: unknown): string | undefined {
  const text = typeof value === "string" ? value : isNumber(value) ? String(value) : "";
  return /^\d{1,18}$/.test(text) ? text : undefined;
}

const isNumber = (value: unknown) => typeof value === "bigint" || Number.isSafeInteger(value);

/** Throws unless the value is a job id. `setting` is where it was given. */
export function checkJobId(id: string, setting = "id"): string {
  const text = idOf(id);
  if (text !== undefined) return text;
  const where = setting === "id" ? "" : `${setting}: `;
  throw new ConfigError(
    setting,
    `${where}${showValue(id)} is not a job id: ids are whole numbers, as enqueue returned them.`,
  );
}

/** Orders ids like the numbers they are. */
export const compareIds = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

/** Whether the items stand in the order of their ids. */
export function isSortedById<Item>(items: readonly Item[], idOf: (item: Item) => string): boolean {
  for (let i = 1; i < items.length; i++) if (compareIds(idOf(items[i - 1]!), idOf(items[i]!)) > 0) return false;
  return true;
}

/** Throws unless the value is the id of a batch. */
export function checkBatchId(id: string, setting = "batch"): string {
  const text = idOf(id);
  if (text !== undefined) return text;
  throw new ConfigError(setting, `${setting}: ${showValue(id)} is not the id of a batch: ids are whole numbers.`);
}
