// What a rule of retention says: which ended jobs it is about, and for how long they are kept.
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { nameOf, oneOf, readable, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";

export const ENDED_STATES = ["done", "dead", "cancelled"] as const;
export type EndedState = (typeof ENDED_STATES)[number];

/** Which ended jobs: at least one of these. What is left out means any. */
export interface RetentionScope {
  readonly kind?: string;
  readonly state?: EndedState;
  readonly tenant?: string;
}

export interface RetentionSettings {
  /** From the job's end on; at least a minute. */
  readonly keep: Duration | "forever";
}

/** A rule as a config declares it. */
export interface RetentionRule extends RetentionScope, RetentionSettings {}

/** As the database takes it; null: any, or for ever. */
export interface StoredRule {
  readonly kind: string | null;
  readonly state: EndedState | null;
  readonly tenant: string | null;
  readonly keep_ms: number | null;
}

const KEEP_MS_MIN = 60_000;
const RULES_MAX = 1_000;

export function checkScope(scope: RetentionScope, where: string, known: readonly string[] = []): RetentionScope {
  refuseUnknown(scope, ["kind", "state", "tenant", ...known], where);
  const { kind, state, tenant } = readable("scope", where, () => ({ ...scope }));
  if (kind === undefined && state === undefined && tenant === undefined)
    throw new ConfigError(
      "scope",
      `${where}: name a kind, a state or a tenant. For all other jobs set keepHistory of the workers.`,
    );
  return {
    ...(kind !== undefined && { kind: nameOf(kind, "kind") }),
    ...(state !== undefined && { state: oneOf(state, ENDED_STATES, "state", where) }),
    ...(tenant !== undefined && { tenant: nameOf(tenant, "tenant") }),
  };
}

/** In milliseconds; null: for ever. */
export function checkKeep(keep: unknown, where: string): number | null {
  if (keep === "forever") return null;
  const ms = toMs(keep as Duration, "keep");
  if (ms >= KEEP_MS_MIN) return Math.round(ms);
  throw new ConfigError("keep", `${where}: keep: ${showValue(keep)} is less than a minute.`);
}

export const storedRule = (scope: RetentionScope, keepMs: number | null): StoredRule => ({
  kind: scope.kind ?? null,
  state: scope.state ?? null,
  tenant: scope.tenant ?? null,
  keep_ms: keepMs,
});

/** The rules of a config; undefined: it declares none, and those of others stay. */
export function checkRules(rules: unknown, where: string): readonly StoredRule[] | undefined {
  if (rules === undefined) return undefined;
  if (!Array.isArray(rules) || rules.length > RULES_MAX)
    throw new ConfigError(
      "retention",
      `${where}: retention: must be a list of at most ${RULES_MAX} rules, like [{ state: "done", keep: "7d" }].`,
    );
  const stored = rules.map((rule: RetentionRule) => {
    const scope = checkScope(rule, `${where}: retention`, ["keep"]);
    return storedRule(scope, checkKeep(rule.keep, `${where}: retention`));
  });
  const scopes = stored.map(({ keep_ms: _, ...scope }) => JSON.stringify(scope));
  const twice = scopes.find((scope, n) => scopes.indexOf(scope) !== n);
  if (twice !== undefined)
    throw new ConfigError("retention", `${where}: retention: there are two rules for ${showValue(JSON.parse(twice))}.`);
  return stored;
}
