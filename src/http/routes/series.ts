// What interval records tell: series, the backlog by reason, fairness lanes, where the time went, money. Read by another room; 501 without it.
import { tenantOf } from "../acting.js";
import type { Backend } from "../backend.js";
import * as figures from "../figure-shapes.js";
import { notWired } from "../problem.js";
import type { MetricsReader, Scope, SeriesBy } from "../readers.js";
import { type Call, type Route, route } from "../route.js";
import { integer, integerText, name, nullable, number, object, oneOf, oneOrMore, optional } from "../schema.js";
import * as shapes from "../shapes.js";
import { spanIn, spanQuery } from "../span.js";
import { together } from "../together.js";
import { rateBody } from "./limits.js";

const scopeQuery = { queue: optional(name), kind: optional(name), tenant: optional(name) };

const scopeIn = (call: Call<{ queue?: string; kind?: string; tenant?: string }, unknown>): Scope => ({
  queue: call.query.queue,
  kind: call.query.kind,
  tenant: tenantOf(call, call.query.tenant),
});

/** What the reader has of this, bound to it. */
function metricsOf<Name extends keyof MetricsReader>(http: Backend, what: Name): NonNullable<MetricsReader[Name]> {
  const read = http.metrics?.[what];
  if (read === undefined) throw notWired("What happened over time");
  return read.bind(http.metrics) as NonNullable<MetricsReader[Name]>;
}

const BY: readonly SeriesBy[] = ["none", "queue", "kind", "tenant", "worker", "provider", "version"];

export const seriesRoutes: readonly Route[] = [
  route("GET", "/series", {
    summary: "Figures over time",
    role: "viewer",
    tenants: "own",
    query: object({ ...spanQuery, ...scopeQuery, name: oneOrMore(name), by: optional(oneOf(...BY)) }),
    answer: figures.seriesAnswer,
    handle: together("series", async (call) =>
      metricsOf(call.http, "series")(
        await spanIn(call.query, call.http),
        scopeIn(call),
        [call.query.name].flat() as string[],
        call.query.by ?? "none",
      ),
    ),
  }),
  route("GET", "/backlog", {
    summary: "Why the whole backlog waits, over time",
    role: "viewer",
    tenants: "own",
    query: object({ ...spanQuery, ...scopeQuery }),
    answer: figures.backlogAnswer,
    handle: together("backlog", async (call) =>
      metricsOf(call.http, "backlog")(await spanIn(call.query, call.http), scopeIn(call)),
    ),
  }),
  route("GET", "/fairness", {
    summary: "What each tenant was given and what it was entitled to",
    role: "viewer",
    tenants: "own",
    query: object({ ...spanQuery, ...scopeQuery, limit: optional(integerText(1, 50)) }),
    answer: figures.fairnessAnswer,
    handle: together("fairness", async (call) =>
      metricsOf(call.http, "fairness")(await spanIn(call.query, call.http), scopeIn(call), call.query.limit ?? 20),
    ),
  }),
  route("GET", "/time", {
    summary: "Where the time of jobs went",
    role: "viewer",
    tenants: "own",
    query: object({ ...spanQuery, ...scopeQuery, by: optional(oneOf("kind", "queue", "tenant")) }),
    answer: figures.timeAnswer,
    handle: together("time", async (call) =>
      metricsOf(call.http, "time")(await spanIn(call.query, call.http), scopeIn(call), call.query.by ?? "kind"),
    ),
  }),
  route("GET", "/money", {
    summary: "Captured credits beside what providers cost",
    role: "viewer",
    tenants: "own",
    query: object({ ...spanQuery, ...scopeQuery, by: optional(oneOf("kind", "tenant")) }),
    answer: figures.moneyAnswer,
    handle: async (call) =>
      metricsOf(call.http, "money")(await spanIn(call.query, call.http), scopeIn(call), call.query.by ?? "tenant"),
  }),
  route("GET", "/providers", {
    summary: "Providers: breakers, latency, cost",
    role: "viewer",
    tenants: "refused",
    query: object(spanQuery),
    answer: shapes.itemsOf(figures.providerRow),
    handle: async ({ http, query }) => {
      if (http.providers === undefined) throw notWired("What providers do");
      return { items: await http.providers.providers(await spanIn(query, http)) };
    },
  }),
  route("POST", "/limits/try", {
    summary: "A limit or weight replayed on the last hour, before it is set",
    role: "viewer",
    tenants: "refused",
    body: object({
      scope: shapes.limitScope,
      name,
      weight: optional(nullable(number)),
      maxRunning: optional(nullable(integer(0, 1_000_000))),
      rate: optional(nullable(rateBody)),
    }),
    answer: shapes.trial,
    handle: async ({ http, body }) => {
      const { scope, name: ofName, ...settings } = body;
      const tryLimit = http.metrics?.tryLimit;
      if (tryLimit === undefined) throw notWired("A replay of limits");
      return tryLimit.call(http.metrics, scope, ofName, settings);
    },
  }),
];
