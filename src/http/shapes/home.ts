// Who asks, and the first page.
import { boolean, id, list, named, number, object, oneOf, text, time } from "../schema.js";
import { count, maybe, role } from "./common.js";

export const me = named(
  "Me",
  object({
    actor: text,
    role,
    tenant: maybe(text),
    via: oneOf("none", "cookie", "bearer", "basic", "token"),
    version: text,
    schema: text,
    features: object({ metrics: boolean, alerts: boolean, logs: boolean, scaling: boolean, providers: boolean }),
    now: time,
  }),
);

export const need = named(
  "Need",
  object({
    code: text,
    severity: oneOf("info", "warning", "critical"),
    subject: object({ type: text, name: text }),
    message: text,
    since: maybe(time),
    count: maybe(number),
  }),
);
export const now = named(
  "Now",
  object({
    at: time,
    ready: count,
    running: count,
    scheduled: maybe(count),
    blocked: maybe(count),
    capacity: maybe(number),
    workers: maybe(number),
    oldestWaitMs: maybe(number),
    oldestWaitJob: maybe(id),
    inPerSecond: maybe(number),
    outPerSecond: maybe(number),
    dead24h: count,
    needsYou: list(need),
  }),
);
