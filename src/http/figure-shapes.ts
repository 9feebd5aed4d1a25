// The shapes of figures over time, scaling, alerts and logs, as the OpenAPI document and the tests know them.
import { CHILD_STATES } from "../pool/life-cycle.js";
import { anyJson, boolean, list, named, nullable, number, object, oneOf, record, text, time } from "./schema.js";

const values = list(nullable(number));
const window = { since: time, until: time, stepMs: number, times: list(number) };
const mark = named(
  "Mark",
  object({ at: number, kind: oneOf("deploy", "scaling", "alert", "setting"), label: text, detail: record }),
);
const line = object({ key: text, values });
export const seriesAnswer = object({
  items: list(
    named(
      "Series",
      object({
        ...window,
        name: text,
        unit: oneOf("count", "perSecond", "ms", "ratio", "bytes", "credits"),
        lines: list(line),
      }),
    ),
  ),
  marks: list(mark),
});
export const backlogAnswer = named(
  "Backlog",
  object({ ...window, reasons: list(object({ reason: text, values })), atLeast: list(boolean), marks: list(mark) }),
);
export const fairnessAnswer = named(
  "Fairness",
  object({
    ...window,
    jain: values,
    jainNow: nullable(number),
    lanes: list(
      object({
        ...{ tenant: text, weight: number, served: values, demand: values, fair: values },
        ...{ shareGiven: number, shareEntitled: number },
        ...{ waitP95Ms: nullable(number), limitedRatio: nullable(number) },
      }),
    ),
  }),
);
export const timeAnswer = object({
  items: list(
    named(
      "TimeRow",
      object({
        ...{ key: text, jobs: number, waitedTurnMs: number, waitedLimitsMs: number, waitedWorkerMs: number },
        ...{ ranMs: number, sleptMs: number, retriedMs: number },
      }),
    ),
  ),
  since: time,
  until: time,
});

export const scalingDecision = named(
  "ScalingDecision",
  object({
    ...{ id: text, at: time, pool: text, actual: number, wanted: number, done: number, reason: text },
    ...{ cappedBy: nullable(text), suppressed: boolean, inputs: record },
    leftOut: list(object({ reason: text, count: number })),
  }),
);
export const poolRow = named(
  "PoolRow",
  object({
    ...{ pool: text, policy: text, min: number, max: number, wanted: number, actual: number, ready: number },
    ...{ supervisor: text, host: nullable(text), heldBy: nullable(text) },
    children: list(
      object({
        ...{ worker: nullable(text), pid: number, state: oneOf(...CHILD_STATES), draining: boolean, since: time },
        ...{ exit: nullable(text), restarts: number, rssBytes: nullable(number), cpu: nullable(number) },
      }),
    ),
  }),
);

export const moneyAnswer = object({
  items: list(
    named(
      "MoneyRow",
      object({
        ...{ key: text, captured: number, providerCost: nullable(number), currency: nullable(text) },
        ...{ margin: nullable(number), jobs: number },
      }),
    ),
  ),
  creditWorth: nullable(number),
});
const breaker = oneOf("closed", "half", "open");
export const providerRow = named(
  "ProviderRow",
  object({
    ...{ provider: text, breaker, since: nullable(time), nextTryAt: nullable(time) },
    ...{ latencyP50Ms: nullable(number), latencyP95Ms: nullable(number), errorRate: nullable(number) },
    ...{ limitedUntil: nullable(time), costToday: nullable(number), currency: nullable(text) },
    strip: list(object({ from: number, to: number, state: breaker })),
  }),
);

const severity = oneOf("info", "warning", "critical");
export const alert = named(
  "Alert",
  object({
    ...{ id: text, rule: text, severity, state: oneOf("pending", "firing", "resolved"), subject: text, message: text },
    ...{ value: number, threshold: number, unit: text, since: time },
    ...{
      firedAt: nullable(time),
      resolvedAt: nullable(time),
      silencedUntil: nullable(time),
      silencedBy: nullable(text),
    },
  }),
);
export const alertRule = named(
  "AlertRule",
  object({ rule: text, description: text, threshold: number, unit: text, forMs: number, severity, enabled: boolean }),
);
export const logLine = named(
  "LogLine",
  object({
    ...{ id: text, at: time, level: oneOf("trace", "debug", "info", "warn", "error", "fatal") },
    ...{ message: anyJson, fields: anyJson, attempt: number },
  }),
);
