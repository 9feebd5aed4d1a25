// `fairmill/observe`: the types of what a client tells of logs, metrics, alerts and providers, and of their settings.

export type { AlertOptions } from "./alerts/alert-settings.js";
export type { Alert, Silence } from "./alerts/alert-statements.js";
export type { AlertFilter, Alerts, SilenceOptions } from "./alerts/alerts-client.js";
export type { AlertRule, AlertRules } from "./alerts/rule.js";
export type { AlertRuleSettings, Severity } from "./alerts/rule-settings.js";
export type { AlertMetric } from "./alerts/samples.js";
export type { LogFilter, LogLine } from "./logs/log-page.js";
export type { KeptLevel } from "./logs/log-statements.js";
export type { Figures } from "./metrics/figures.js";
export type { FleetMetricsOptions } from "./metrics/fleet-metrics.js";
export type { Measurement, Metrics } from "./metrics/metrics-client.js";
export type { Series, SeriesBy, SeriesName, SeriesQuery } from "./metrics/series.js";
export type { ProviderOptions } from "./providers/provider.js";
export type {
  CostFilter,
  CostGroup,
  CostSum,
  JobCharge,
  ProviderEvent,
  ProviderState,
} from "./providers/provider-statements.js";
export type { CloseOptions, Providers } from "./providers/providers-client.js";
export type { CallContext, CallOptions } from "./providers/run-calls.js";
