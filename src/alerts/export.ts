// The rules for those who watch with Prometheus and Grafana: the same thresholds over the metrics that /metrics shows.
import type { AlertRule } from "./rule.js";
import type { AlertMetric } from "./samples.js";

interface Expression {
  readonly expr: string;
  /** The label that says what it is about. */
  readonly label?: string;
  readonly title: string;
  readonly unit: "s" | "short" | "percentunit" | "bytes";
}

/** Of each figure, the metric that shows it. */
const EXPRESSIONS: Record<AlertMetric, Expression | undefined> = {
  longest_run: { expr: "fairmill_longest_run_seconds", label: "kind", title: "Longest run", unit: "s" },
  queue_depth: { expr: "fairmill_queue_depth", label: "queue", title: "Jobs that wait", unit: "short" },
  avg_processing_time: {
    expr: "fairmill_avg_processing_time_seconds",
    label: "kind",
    title: "Processing time",
    unit: "s",
  },
  avg_wait: { expr: "fairmill_avg_wait_seconds", label: "kind", title: "Wait", unit: "s" },
  error_rate: { expr: "fairmill_error_rate", label: "kind", title: "Error rate", unit: "percentunit" },
  api_latency: { expr: "fairmill_api_latency_seconds", label: "provider", title: "Latency of providers", unit: "s" },
  storage_size: { expr: "fairmill_storage_size_bytes", label: "store", title: "Storage", unit: "bytes" },
  database_size: { expr: "fairmill_database_size_bytes", title: "Database", unit: "bytes" },
  schedule_overdue: {
    expr: "fairmill_schedule_overdue_seconds",
    label: "schedule",
    title: "Overdue schedules",
    unit: "s",
  },
  // Names tenants, which metrics do not.
  budget_soft: undefined,
  outbox_unknown: { expr: "fairmill_outbox_unknown", title: "Messages that need review", unit: "short" },
  outbox_lag: { expr: "fairmill_outbox_lag_seconds", title: "Outbox lag", unit: "s" },
  unserved_jobs: {
    expr: "fairmill_queue_depth and on (queue) fairmill_queue_workers == 0",
    label: "queue",
    title: "Queues without workers",
    unit: "short",
  },
  worker_memory: { expr: "fairmill_worker_memory_bytes", label: "worker", title: "Memory of workers", unit: "bytes" },
  worker_cpu: { expr: "fairmill_worker_cpu", label: "worker", title: "CPU of workers", unit: "percentunit" },
  workers: { expr: "fairmill_workers", title: "Workers", unit: "short" },
  throttled: { expr: "fairmill_throttled", title: "Rate-limited", unit: "short" },
  leases_lost: { expr: "increase(fairmill_leases_lost_total[5m])", title: "Leases lost", unit: "short" },
  recovered: { expr: "increase(fairmill_jobs_recovered_total[5m])", title: "Recovered jobs", unit: "short" },
  dead: { expr: "increase(fairmill_jobs_dead_total[5m])", title: "Dead jobs", unit: "short" },
  oldest_transaction: { expr: "fairmill_oldest_transaction_seconds", title: "Oldest transaction", unit: "s" },
  notification_queue: {
    expr: "fairmill_notification_queue_usage",
    title: "Queue of notifications",
    unit: "percentunit",
  },
  // Of single ticks, which Prometheus does not see: the fleet evaluates these itself.
  tick_duration: undefined,
  lock_contention: undefined,
  jobs_per_tick: undefined,
  worker_queue_depth: undefined,
  reported: { expr: "fairmill_reported", label: "name", title: "Reported figures", unit: "short" },
};

/** "QueueDepth50" of "queue-depth-50". */
const alertName = (rule: string) =>
  rule
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "")
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join("");

/** Prometheus takes two braces for a template of its own. */
const untemplated = (text: string) => text.replaceAll("{{", '{{ "{{" }}');

/** JSON is YAML, and leaves nothing to be quoted wrongly. */
const yamlText = (text: string) => JSON.stringify(text);

const seconds = (ms: number) => `${Math.ceil(ms / 1000)}s`;

/** A file of rules for Prometheus, and the names of the rules that it cannot have. */
export function prometheusRules(rules: readonly AlertRule[]): {
  readonly text: string;
  readonly left: readonly string[];
} {
  const known = rules.filter(({ metric }) => EXPRESSIONS[metric] !== undefined);
  const lines = known.flatMap((rule) => {
    const { expr, label } = EXPRESSIONS[rule.metric]!;
    const only =
      rule.only === undefined || label === undefined
        ? ""
        : `{${label}=~${JSON.stringify(rule.only.map(escapeRegex).join("|"))}}`;
    const about = label === undefined ? "" : ` of {{ $labels.${label} }}`;
    return [
      `      - alert: Fairmill${alertName(rule.name)}`,
      `        expr: ${yamlText(`(${expr}${only}) > ${rule.above}`)}`,
      `        for: ${seconds(rule.forMs)}`,
      "        labels:",
      `          severity: ${rule.severity}`,
      "        annotations:",
      `          summary: ${yamlText(`${untemplated(rule.description)}${about}: {{ $value }} ${rule.unit}`)}`,
    ];
  });
  const text = ["groups:", "  - name: fairmill", "    rules:", ...lines, ""].join("\n");
  return { text, left: rules.filter((rule) => !known.includes(rule)).map(({ name }) => name) };
}

const escapeRegex = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A board for Grafana: a panel for each figure, with the thresholds of its rules. */
export function grafanaBoard(rules: readonly AlertRule[]): object {
  const shown = Object.entries(EXPRESSIONS).flatMap(([metric, expression]) =>
    expression === undefined ? [] : [{ metric: metric as AlertMetric, ...expression }],
  );
  const extra = [
    {
      title: "Runs that ended, a second",
      expr: "rate(fairmill_jobs_processed_total[5m])",
      unit: "short" as const,
      label: undefined,
      metric: undefined,
    },
    {
      title: "Run time, 95 of 100",
      expr: "histogram_quantile(0.95, sum by (le, kind) (rate(fairmill_run_seconds_bucket[5m])))",
      unit: "s" as const,
      label: "kind",
      metric: undefined,
    },
    {
      title: "Wait, 95 of 100",
      expr: "histogram_quantile(0.95, sum by (le, kind) (rate(fairmill_wait_seconds_bucket[5m])))",
      unit: "s" as const,
      label: "kind",
      metric: undefined,
    },
  ];
  const panels = [...extra, ...shown].map(({ title, expr, unit, label, metric }, n) => ({
    id: n + 1,
    type: "timeseries",
    title,
    gridPos: { x: (n % 2) * 12, y: Math.floor(n / 2) * 8, w: 12, h: 8 },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the board fills it in.
    datasource: { type: "prometheus", uid: "${datasource}" },
    targets: [{ refId: "A", expr, legendFormat: label === undefined ? title : `{{${label}}}` }],
    fieldConfig: {
      defaults: {
        unit,
        thresholds: { mode: "absolute", steps: thresholdsOf(rules.filter((rule) => rule.metric === metric)) },
      },
      overrides: [],
    },
    options: { legend: { displayMode: "list", placement: "bottom" } },
  }));
  return {
    title: "Fairmill",
    uid: "fairmill",
    schemaVersion: 39,
    version: 1,
    editable: true,
    tags: ["fairmill"],
    time: { from: "now-1h", to: "now" },
    refresh: "30s",
    templating: { list: [{ name: "datasource", type: "datasource", query: "prometheus", label: "Prometheus" }] },
    panels,
  };
}

const COLOURS = { info: "blue", warning: "orange", critical: "red" } as const;

const thresholdsOf = (rules: readonly AlertRule[]) => [
  { color: "green", value: null },
  ...rules
    .toSorted((a, b) => a.above - b.above)
    .map(({ above, severity }) => ({ color: COLOURS[severity], value: above })),
];
