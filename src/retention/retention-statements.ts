// The statements about rules of retention: setting, reading and trying them.
import type { Session } from "../db/session.js";
import type { EndedState, StoredRule } from "./retention-rule.js";

/** A rule that is in force, or that a more specific one or one set by hand stands before. */
export interface RetentionRuleState {
  readonly kind: string | null;
  readonly state: EndedState | null;
  readonly tenant: string | null;
  /** Null: for ever. */
  readonly keepMs: number | null;
  /** By hand, or by the config of workers. */
  readonly source: "set" | "declared";
  readonly changedAt: Date;
}

/** What goes and stays of a day by one rule; of the general age where kind, state and tenant are null. */
export interface RetentionPreview {
  readonly part: string;
  readonly kind: string | null;
  readonly state: EndedState | null;
  readonly tenant: string | null;
  readonly keepMs: number | null;
  readonly removed: number;
  readonly kept: number;
}

const SET = "select fairmill.set_retention_v1($1, $2, $3, $4)";
const REMOVE = "select fairmill.remove_retention_v1($1, $2, $3) as removed";
const DECLARE = "select fairmill.declare_retention_v1($1) as changed";
const LIST = `select nullif(kind, '') as kind, nullif(state, '') as state, nullif(tenant, '') as tenant, keep_ms::float8 as "keepMs", source,
  changed_at as "changedAt" from fairmill.retention_rule order by tenant = '', tenant, kind = '', kind, state = '', state, source desc limit 1000`;
const PARTS = "select day as part from fairmill.preview_retention_v1(null)";
const PREVIEW = `select day as part, kind, state, tenant, keep_ms::float8 as "keepMs", removed::float8 as removed, kept::float8 as kept
  from fairmill.preview_retention_v1($1, $2 * interval '1 millisecond', $3)`;

export async function setRule(db: Session, { keep_ms, kind, state, tenant }: StoredRule): Promise<void> {
  await db.query(SET, [keep_ms, kind, state, tenant]);
}

export const removeRule = async (db: Session, { kind, state, tenant }: Omit<StoredRule, "keep_ms">): Promise<boolean> =>
  (await db.query<{ removed: boolean }>(REMOVE, [kind, state, tenant]))[0]!.removed;

/** Of a worker that starts: its config's rules take the place of those that were declared before. */
export async function declareRules(db: Session, rules: readonly StoredRule[]): Promise<void> {
  await db.query(DECLARE, [JSON.stringify(rules)]);
}

export const readRules = (db: Session): Promise<RetentionRuleState[]> => db.query<RetentionRuleState>(LIST);

/** One statement a day, so that none takes long. `rules`: instead of those that are in force. */
export async function previewRules(
  db: Session,
  historyKeepMs: number,
  rules: readonly StoredRule[] | undefined,
): Promise<RetentionPreview[]> {
  const found: RetentionPreview[] = [];
  const tried = rules === undefined ? null : JSON.stringify(rules);
  for (const { part } of await db.query<{ part: string }>(PARTS))
    found.push(...(await db.query<RetentionPreview>(PREVIEW, [part, historyKeepMs, tried])));
  return found;
}
