// What can be said of an alert rule.
import type { Duration } from "../base/duration.js";
import type { AlertMetric } from "./samples.js";

export const SEVERITIES = ["info", "warning", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface AlertRuleSettings {
  /** The figure it looks at. Rules out of the box have one already. */
  readonly metric?: AlertMetric;
  /** Fires above this. */
  readonly above?: number;
  /** Is over at this or below; default: nine tenths of `above`. So a figure that swings around the threshold fires once. */
  readonly clearAt?: number;
  /** How long it has to be above before it fires. */
  readonly for?: Duration;
  /** How long it has to be clear before it is resolved; default "1m". */
  readonly clearFor?: Duration;
  readonly severity?: Severity;
  readonly description?: string;
  /** Only of these queues, kinds, providers …; default: all. */
  readonly only?: readonly string[];
}
