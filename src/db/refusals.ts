// What the database says of a job that it did not take, as the error that a caller gets. SQL functions answer with a code and facts; the core and
// each feature add the codes of their own (`addRefusals`), so that this file knows none of them.
import { FairmillError } from "../base/errors.js";

/** Why a job was not taken, as the database says it: a code, and the facts that belong to the code. */
export interface Refusal {
  readonly code: string;
}

/** By code, the error that a caller gets. Each entry declares the facts that its SQL function sends. */
// biome-ignore lint/suspicious/noExplicitAny: the facts of a code are known to the feature that declares the entry.
export type RefusalTable = Readonly<Record<string, (facts: any) => FairmillError>>;

const TABLE = new Map<string, RefusalTable[string]>();

/** Adds codes. Called once a process, where clients and workers are put together (`src/client/refusals.ts`); a second call changes nothing. */
export function addRefusals(table: RefusalTable): void {
  for (const [code, toError] of Object.entries(table)) TABLE.set(code, toError);
}

/** The error of a refusal. A code that this library does not know comes from a newer schema: it is handed on as it is. */
export function toError(refusal: Refusal): FairmillError {
  const known = TABLE.get(refusal.code);
  if (known) return known(refusal);
  return new FairmillError(refusal.code, `Not enqueued: PostgreSQL refused with ${JSON.stringify(refusal)}.`);
}
