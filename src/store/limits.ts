// The statements about limits: settings of tenants, queues and kinds, and the rules of kinds for their keys.
import type { GateScope, KeyRule } from "../model/limits.js";
import type { Database } from "./database.js";

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

export async function setGate(
  db: Database,
  scope: GateScope,
  name: string,
  settings: Record<string, unknown>,
): Promise<void> {
  await db.query("select fairmill.set_gate_v1($1, $2, $3)", [scope, name, JSON.stringify(settings)]);
}
