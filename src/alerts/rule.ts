// What an alert rule is: a figure, a threshold, how long it has to be over it, and how long below it again. Rules out of the box are data, and each
// can be changed or switched off by its name.
import { toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { nameOf, oneOf, refuseUnknown } from "../base/settings.js";
import { DEFAULT_RULES } from "./default-rules.js";
import { type AlertRuleSettings, SEVERITIES, type Severity } from "./rule-settings.js";
import { ALERT_METRICS, type AlertMetric, UNITS } from "./samples.js";

/** By name: what a rule says, or false for none. */
export type AlertRules = Readonly<Record<string, AlertRuleSettings | false>>;

export interface AlertRule {
  readonly name: string;
  readonly description: string;
  readonly severity: Severity;
  readonly metric: AlertMetric;
  readonly unit: string;
  readonly above: number;
  readonly clearAt: number;
  readonly forMs: number;
  readonly clearForMs: number;
  readonly only: readonly string[] | undefined;
}

const KNOWN = ["metric", "above", "clearAt", "for", "clearFor", "severity", "description", "only"];
const RULES_MAX = 200;
const CLEAR_FOR = "1m";

/** The rules out of the box with what the project changes, adds and switches off. */
export function rulesInForce(own: AlertRules = {}): AlertRule[] {
  const settings = new Map<string, AlertRuleSettings>(Object.entries(DEFAULT_RULES));
  for (const [name, changed] of Object.entries(own)) {
    nameOf(name, "alerts.rules");
    if (changed === false) {
      if (!settings.delete(name)) throw unknownRule(name);
      continue;
    }
    const where = `alerts.rules["${name}"]`;
    refuseUnknown(changed, KNOWN, where);
    settings.set(name, { ...settings.get(name), ...changed });
  }
  if (settings.size > RULES_MAX) throw new ConfigError("alerts.rules", `alerts.rules: at most ${RULES_MAX} rules.`);
  return [...settings].map(([name, rule]) => checked(name, rule));
}

const unknownRule = (name: string) =>
  new ConfigError(
    "alerts.rules",
    `alerts.rules: there is no rule "${name}" to switch off. Known: ${Object.keys(DEFAULT_RULES).join(", ")}.`,
  );

function checked(name: string, rule: AlertRuleSettings): AlertRule {
  const where = `alerts.rules["${name}"]`;
  const metric = oneOf(rule.metric, ALERT_METRICS, "metric", where);
  const above = finite(rule.above, "above", where);
  const clearAt = rule.clearAt === undefined ? above * 0.9 : finite(rule.clearAt, "clearAt", where);
  if (clearAt > above)
    throw new ConfigError(
      "clearAt",
      `${where}: clearAt must not lie over above, or it would fire and be over at once.`,
    );
  const { only } = rule;
  if (only !== undefined && !(Array.isArray(only) && only.every((subject) => typeof subject === "string")))
    throw new ConfigError("only", `${where}: only must be a list of names.`);
  return {
    name,
    description: rule.description ?? `${metric} above ${above} ${UNITS[metric]}`,
    severity: oneOf(rule.severity ?? "warning", SEVERITIES, "severity", where),
    metric,
    unit: UNITS[metric],
    above,
    clearAt,
    forMs: toMs(rule.for ?? 0, `${where}.for`),
    clearForMs: toMs(rule.clearFor ?? CLEAR_FOR, `${where}.clearFor`),
    only,
  };
}

function finite(value: unknown, setting: string, where: string): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new ConfigError(setting, `${where}: ${setting} must be a number.`);
}
