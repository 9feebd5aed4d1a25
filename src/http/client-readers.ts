// The readers that a client brings by itself: figures over time, alerts and logs, in the shapes of the API. A handler that is given others uses those.

import type { Alert } from "../alerts/alert-statements.js";
import { FairmillError } from "../base/errors.js";
import type { Client } from "../client/client.js";
import type { Session } from "../db/session.js";
import { usualStepMs } from "../metrics/backlog.js";
import { readSeries, SERIES_NAMES, type Series, type SeriesName, type SeriesQuery } from "../metrics/series.js";
import { readRates } from "../metrics/shares.js";
import { backlogReader } from "./backlog-reader.js";
import { marksIn } from "./marks.js";
import { requestInvalid } from "./problem.js";
import { moneyReader } from "./provider-readers.js";
import type { AlertReader, LogReader, MetricsReader, Scope, SeriesBy, Span } from "./readers.js";
import { fairnessReader, timeReader } from "./share-readers.js";
import { trialReader } from "./trial-reader.js";

/** Of the names of the API, those that no record has yet: they are left out of the answer. */
const NOT_RECORDED = ["provider.cost", "credits.captured"];
const NOW_MS = 5 * 60_000;
const FIRING_MAX = 20;
const POINTS_MAX = 1_000;

export function metricsReader(view: Session, nowMs: () => number, creditWorth?: number): MetricsReader {
  const lineOf = async (query: SeriesQuery): Promise<Series | undefined> => {
    try {
      return await readSeries(view, query);
    } catch (error) {
      // It is not recorded by what the caller asks, or may ask.
      if (error instanceof FairmillError && (error as { setting?: string }).setting === "by") return undefined;
      throw error;
    }
  };
  return {
    rates: async ({ tenant }) => {
      const untilMs = nowMs();
      return readRates(view, new Date(untilMs - NOW_MS), new Date(untilMs), tenant);
    },
    series: async (span, scope, names, by) => {
      const items: Series[] = [];
      for (const name of new Set(names)) {
        if (NOT_RECORDED.includes(name)) continue;
        if (!SERIES_NAMES.includes(name as SeriesName))
          throw requestInvalid([{ path: "name", message: `is none of ${SERIES_NAMES.join(", ")}` }]);
        const found = await lineOf(queryOf(name as SeriesName, span, scope, by));
        if (found !== undefined) items.push(found);
      }
      return { items, marks: await marksIn(view, span, scope) };
    },
    backlog: backlogReader(view, nowMs),
    fairness: fairnessReader(view, nowMs),
    time: timeReader(view),
    money: moneyReader(view, creditWorth),
    tryLimit: trialReader(view, nowMs),
  };
}

function queryOf(name: SeriesName, { sinceMs, untilMs, stepMs }: Span, scope: Scope, by: SeriesBy): SeriesQuery {
  const { queue, kind, tenant } = scope;
  const points =
    stepMs === undefined
      ? Math.ceil((untilMs - sinceMs) / usualStepMs(untilMs - sinceMs))
      : Math.min(POINTS_MAX, Math.ceil((untilMs - sinceMs) / stepMs));
  const span = { name, since: new Date(sinceMs), until: new Date(untilMs), points };
  // What is told apart by anything else counts all tenants.
  if (tenant !== undefined) return { ...span, tenant, by: "tenant" };
  return {
    ...span,
    by: by as NonNullable<SeriesQuery["by"]>,
    ...(queue !== undefined && { queue }),
    ...(kind !== undefined && { kind }),
  };
}

export const alertReader = ({ alerts }: Client): AlertReader => ({
  list: async ({ state, cursor, limit }) => {
    const filter = {
      ...(state !== undefined && { state: state as Alert["state"] }),
      ...(cursor && { before: cursor }),
    };
    const items = await alerts.list({ ...filter, limit });
    return { items, next: items.length === limit ? items.at(-1)!.id : null };
  },
  rules: async () =>
    (await alerts.rules()).map(({ name, description, above, unit, forMs, severity }) => ({
      ...{ rule: name, description, threshold: above, unit, forMs, severity },
      enabled: true,
    })),
  silence: async (id, forMs, by, reason) => {
    const found = await alerts.get(id).catch((error: unknown) => {
      if (error instanceof FairmillError && error.code === "FAIRMILL_ALERT_NOT_FOUND") return undefined;
      throw error;
    });
    if (found === undefined) return undefined;
    const { rule, subject } = found;
    const what = { rule, ...(subject !== "" && { subject }), ...(reason !== undefined && { reason }) };
    await alerts.silence({ ...what, for: forMs, actor: by });
    return alerts.get(id);
  },
  firing: async () =>
    (await alerts.list({ state: "firing", limit: FIRING_MAX })).map(({ rule, subject, severity, message, since }) => ({
      ...{ rule, subject, severity, message },
      since: since.toISOString(),
    })),
});

export const logReader = ({ jobs }: Client): LogReader => ({
  logs: async (id, { cursor, limit, level }) => {
    // Lines of level trace are not kept, and fatal ones are kept as errors.
    const kept = { trace: "debug", fatal: "error" }[level ?? ""] ?? level;
    const filter = { ...(cursor && { after: cursor }), ...(kept !== undefined && { level: kept as "debug" }) };
    const items = await jobs.logs(id, { ...filter, limit });
    return { items, next: items.length === limit ? items.at(-1)!.id : null };
  },
});
