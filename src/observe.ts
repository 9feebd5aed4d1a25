// `fairmill/observe`: the types of what a client tells to those who operate: logs, metrics, alerts and providers with their settings, overviews of
// limits, redrives, and the details of batches, credits, messages and steps.

export type { AlertOptions } from "./alerts/alert-settings.js";
export type { Alert, Silence } from "./alerts/alert-statements.js";
export type { AlertFilter, Alerts, SilenceOptions } from "./alerts/alerts-client.js";
export type { AlertRule, AlertRules } from "./alerts/rule.js";
export type { AlertRuleSettings, Severity } from "./alerts/rule-settings.js";
export type { AlertMetric } from "./alerts/samples.js";
export type { StoredBatch } from "./batches/batch-filler.js";
export type { BatchHold } from "./batches/open-batch.js";
export type { CreditEntry } from "./credits/credit-statements.js";
export type { Granted } from "./credits/credits-client.js";
export type { Redriven, RedrivePreview } from "./jobs/redrive.js";
export type { RedriveFilter } from "./jobs/redrive-filter.js";
export type { KindOverview, QueueOverview, TenantOverview } from "./limits/overview-statements.js";
export type { LogFilter, LogLine } from "./logs/log-page.js";
export type { KeptLevel } from "./logs/log-statements.js";
export type { Figures } from "./metrics/figures.js";
export type { FleetMetricsOptions } from "./metrics/fleet-metrics.js";
export type { Measurement, Metrics } from "./metrics/metrics-client.js";
export type { ObservedMetrics, OpenTelemetryMeter } from "./metrics/open-telemetry.js";
export type { Series, SeriesBy, SeriesName, SeriesQuery } from "./metrics/series.js";
export type { MessageDetail } from "./outbox/outbox-statements.js";
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
export type { ErasableStorage } from "./retention/erasure-runner.js";
export type { Erasure, ErasureState } from "./retention/erasure-statements.js";
export type { PreviewOptions, Retention } from "./retention/retention-client.js";
export type { EndedState, RetentionRule, RetentionScope, RetentionSettings } from "./retention/retention-rule.js";
export type { RetentionPreview, RetentionRuleState } from "./retention/retention-statements.js";
export type { EraseOptions, ErasurePage, TenantsWithErase } from "./retention/tenants-client.js";
export type { ScheduleChange } from "./schedules/change-schedule.js";
export type { JobStep } from "./steps/step-statements.js";
