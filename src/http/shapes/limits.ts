// Tenants, queues, kinds and their limits.
import { boolean, list, named, number, object, oneOf, text, time } from "../schema.js";
import { count, limitScope, maybe } from "./common.js";

export const rate = named(
  "Rate",
  object({ limit: number, perMs: number, how: oneOf("window", "uniform"), at: oneOf("start", "enqueue") }),
);
const limits = { maxRunning: maybe(number), rate: maybe(rate), pausedAt: maybe(time), pausedUntil: maybe(time) };
export const tenantRow = named(
  "TenantRow",
  object({ tenant: text, weight: number, ...limits, running: count, ready: count }),
);
export const queueRow = named(
  "QueueRow",
  object({ queue: text, ...limits, workers: number, running: count, ready: count, scheduled: count, blocked: count }),
);
export const kindRow = named(
  "KindRow",
  object({
    kind: text,
    ...limits,
    workers: number,
    definition: maybe(
      object({
        per: oneOf("key", "tenant", "kind"),
        maxRunning: maybe(number),
        whenFull: oneOf("wait", "refuse"),
        rate: maybe(rate),
      }),
    ),
  }),
);
export const limitGauge = named(
  "LimitGauge",
  object({
    scope: limitScope,
    name: text,
    ...limits,
    running: maybe(number),
    spent: maybe(number),
    nextFreeAt: maybe(time),
  }),
);
export const namedLimit = named(
  "NamedLimit",
  object({
    name: text,
    windows: list(object({ unit: text, limit: number, perMs: number })),
    reportedAt: time,
    waiting: count,
  }),
);
export const budget = named(
  "Budget",
  object({
    ...{ tenant: text, per: oneOf("day", "month"), provider: maybe(text), kind: maybe(text), currency: text },
    ...{ timeZone: text, soft: maybe(number), hard: maybe(number), spent: number },
    ...{ state: oneOf("within", "soft", "spent"), periodFrom: time, periodUntil: time, softAt: maybe(time) },
  }),
);
export const facets = object({ queues: list(text), kinds: list(text), tenants: list(text), channels: list(text) });
const trialFigures = object({
  starts: number,
  delayed: number,
  notStarted: number,
  delayMeanMs: number,
  delayMaxMs: number,
  mostAtOnce: number,
  shareEntitled: maybe(number),
});
export const trial = named(
  "Trial",
  object({
    before: trialFigures,
    after: trialFigures,
    heldByLimits: maybe(number),
    message: text,
    basis: object({ runs: number, since: time, until: time, isPart: boolean, note: text }),
  }),
);
