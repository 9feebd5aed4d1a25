// The statements about limits: settings of tenants, queues and kinds, and the rules of kinds for their keys.

import { ConfigError } from "../base/errors.js";
import { type NamedLimit, windowsText } from "../core/job/named-limit.js";
import type { Database, Queryable, Statement } from "../db/database.js";
import { sqlStateOf } from "../db/failures.js";
import { qualify } from "../db/schema-name.js";
import type { Session } from "../db/session.js";
import { type CheckedLimits, type LimitScope, storedLimits } from "./limit-settings.js";

/** A definition, as far as its limits go. */
export interface Ruled {
  readonly kind: string;
  readonly limits: CheckedLimits | undefined;
  readonly uses: readonly { readonly limit: Pick<NamedLimit, "name" | "windows"> }[] | undefined;
}

/** As set_key_limits_v1 and tell_key_limits_v1 take them. */
const limitsText = ({ limits }: Ruled) => JSON.stringify(limits === undefined ? null : storedLimits(limits));

/** Says what limits these kinds have; without limits, any that were said before are taken away. */
export async function setKeyRules(db: Database, definitions: readonly Ruled[]): Promise<void> {
  if (definitions.length === 0) return;
  // In one round trip, but each in a transaction of its own: a change locks what others take in another order.
  const limits = new Map(definitions.flatMap(({ uses = [] }) => uses.map(({ limit }) => [limit.name, limit])));
  const results = await db.pipeline([
    ...[...limits.values()].map((limit): Statement => [DEFINE, [limit.name, windowsText(limit), null]]),
    ...definitions.map(
      (definition): Statement => [
        "select fairmill.set_key_limits_v1($1, $2)",
        [definition.kind, limitsText(definition)],
      ],
    ),
  ]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

const DEFINE =
  "select is_new::text as is_new, first_reported_at::text as at from fairmill.define_limit_v1($1, $2, $3::text::timestamptz)";
const TELL =
  "select is_settled::text as settled, first_reported_at::text as at from fairmill.report_key_limits_v1($1, $2, $3::text::timestamptz)";

/**
 * The same inside a transaction of the caller, whose commit no session waits for. `firstToldAt`: what the first call for this definition
 * answered. `isSettled`: the rule is in force, or a later one is.
 */
export async function tellKeyRuleIn(
  tx: Queryable,
  schema: string,
  definition: Ruled,
  firstToldAt: string | undefined,
): Promise<{ readonly isSettled: boolean; readonly firstToldAt: string }> {
  const values = [definition.kind, limitsText(definition), firstToldAt ?? null];
  const { rows } = await tx.query(qualify(TELL, schema), values);
  const { settled, at } = rows[0] as { settled: string; at: string };
  let isSettled = settled === "true";
  for (const { limit } of definition.uses ?? []) isSettled = !(await defineLimitIn(tx, schema, limit, at)) && isSettled;
  return { isSettled, firstToldAt: at };
}

/** Reports a named limit inside a transaction of the caller; true: it was not in force before. */
async function defineLimitIn(
  tx: Queryable,
  schema: string,
  limit: Pick<NamedLimit, "name" | "windows">,
  reportedAt: string,
): Promise<boolean> {
  const { rows } = await tx.query(qualify(DEFINE, schema), [limit.name, windowsText(limit), reportedAt]);
  return (rows[0] as { is_new: string }).is_new === "true";
}

/** Reports a named limit. */
export async function defineNamedLimit(db: Session, limit: Pick<NamedLimit, "name" | "windows">): Promise<void> {
  await db.query(DEFINE, [limit.name, windowsText(limit), null]);
}

export async function setLimits(
  db: Session,
  scope: LimitScope,
  name: string,
  settings: Record<string, unknown>,
): Promise<void> {
  try {
    await db.query("select fairmill.set_limits_v1($1, $2, $3)", [scope, name, JSON.stringify(settings)]);
  } catch (error) {
    // Only the database knows what time it is there: whether the end of a pause has passed is seen by no check before.
    if (sqlStateOf(error) !== "FM001" || settings["paused_until"] === undefined) throw error;
    throw new ConfigError(
      "until",
      `until: ${String(settings["paused_until"])} has passed by the clock of the database. Give a later time, or for: "10m".`,
    );
  }
}
