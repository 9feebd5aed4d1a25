// The statements about limits: settings of tenants, queues and kinds, and the rules of kinds for their keys.
import { BatchEndedError } from "../model/batch.js";
import type { FairmillError } from "../model/errors.js";
import { ActiveLimitError, CreditsExhaustedError, DuplicateJobError, RateLimitError } from "../model/limit-errors.js";
import type { GateScope, KeyRule } from "../model/limits.js";
import type { Database, Queryable } from "./database.js";
import { qualify } from "./schema-name.js";

/** A definition, as far as its limits go. */
export interface Ruled {
  readonly kind: string;
  readonly limits: KeyRule | undefined;
}

/** Says what limits these kinds have; without limits, any that were said before are taken away. */
export async function setKeyRules(db: Database, definitions: readonly Ruled[]): Promise<void> {
  if (definitions.length === 0) return;
  // In one round trip, but each in a transaction of its own: a change locks what others take in another order.
  const results = await db.together(
    definitions.map(({ kind, limits }) => [
      "select fairmill.set_key_rule_v1($1, $2)",
      [kind, JSON.stringify(limits ?? null)],
    ]),
  );
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

const TELL =
  "select is_settled::text as settled, first_told_at::text as at from fairmill.tell_key_rule_v1($1, $2, $3::text::timestamptz)";

/**
 * The same inside a transaction of the caller, whose commit nobody waits for. `firstToldAt`: what the first call for this definition
 * answered. `isSettled`: the rule is in force, or a later one is.
 */
export async function tellKeyRuleIn(
  tx: Queryable,
  schema: string,
  { kind, limits }: Ruled,
  firstToldAt: string | undefined,
): Promise<{ readonly isSettled: boolean; readonly firstToldAt: string }> {
  const values = [kind, JSON.stringify(limits ?? null), firstToldAt ?? null];
  const { rows } = await tx.query(qualify(TELL, schema), values);
  const { settled, at } = rows[0] as { settled: string; at: string };
  return { isSettled: settled === "true", firstToldAt: at };
}

export async function setGate(
  db: Database,
  scope: GateScope,
  name: string,
  settings: Record<string, unknown>,
): Promise<void> {
  await db.query("select fairmill.set_gate_v1($1, $2, $3)", [scope, name, JSON.stringify(settings)]);
}

/** Why a job was not taken, as the database says it. */
export type Refusal =
  | {
      readonly code: "FAIRMILL_RATE_LIMIT";
      readonly scope: GateScope | "key";
      readonly name: string;
      readonly limit: number;
      readonly per_ms: number;
      readonly how: "window" | "uniform";
      /** Missing: never, because a list that must come at once is longer than the rate. */
      readonly retry_at?: string;
    }
  | {
      readonly code: "FAIRMILL_ACTIVE_LIMIT";
      readonly key: string;
      readonly limit: number;
      readonly jobs: readonly number[] | null;
    }
  | {
      readonly code: "FAIRMILL_CREDITS_EXHAUSTED";
      readonly account: string;
      readonly amount: number;
      readonly balance: number;
    }
  | { readonly code: "FAIRMILL_BATCH_ENDED"; readonly batch: string }
  | { readonly code: "FAIRMILL_DUPLICATE_JOB"; readonly kind: string; readonly job_id: string | null };

export function toError(refusal: Refusal): FairmillError {
  if (refusal.code === "FAIRMILL_ACTIVE_LIMIT")
    return new ActiveLimitError(
      nameOfKey(refusal.key),
      refusal.limit,
      (refusal.jobs ?? []).map((id) => String(id)),
    );
  if (refusal.code === "FAIRMILL_CREDITS_EXHAUSTED")
    return new CreditsExhaustedError(refusal.account, refusal.amount, refusal.balance);
  if (refusal.code === "FAIRMILL_BATCH_ENDED") return new BatchEndedError(refusal.batch);
  if (refusal.code === "FAIRMILL_DUPLICATE_JOB")
    return new DuplicateJobError(refusal.kind, refusal.job_id ?? undefined);
  const { scope, name, limit, per_ms, how, retry_at } = refusal;
  const of = scope === "key" ? nameOfKey(name) : name;
  return new RateLimitError(
    scope,
    of,
    { limit, perMs: per_ms, how },
    retry_at === undefined ? undefined : new Date(retry_at),
  );
}

/** A limit_key is kind, tenant and key as a JSON array, or the first one or two of them. */
const nameOfKey = (limitKey: string): string => (JSON.parse(limitKey) as string[]).join(" / ");
