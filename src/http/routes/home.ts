// Who am I, and what is going on: the caller, and the first page with what needs a person.
import { VERSION } from "../../base/version.js";
import type { Backend } from "../backend.js";
import type { Caller } from "../gatekeeper.js";
import { patiently } from "../page.js";
import { readNow, readQueues, readSchedules, type TenantOverview } from "../rooms.js";
import { type Route, route } from "../route.js";
import * as shapes from "../shapes.js";
import { together } from "../together.js";
import { readChannels, readLost, readNowFigures, readOldest } from "../view-statements.js";
import { readTenantRow } from "./limits.js";

export const toMe = (http: Backend, { actor, role, tenant, via }: Caller) => ({
  actor,
  role,
  tenant: tenant ?? null,
  via,
  version: VERSION,
  schema: http.db.schema,
  features: {
    metrics: http.metrics !== undefined,
    alerts: http.alerts !== undefined,
    logs: http.logs !== undefined,
    scaling: http.scaling !== undefined,
    providers: http.providers !== undefined,
  },
  now: new Date(http.clock.now()),
});

interface Need {
  readonly code: string;
  readonly severity: "info" | "warning" | "critical";
  readonly subject: { readonly type: string; readonly name: string };
  readonly message: string;
  readonly since: Date | string | null;
  readonly count: number | null;
}

const SEVERITY = { critical: 0, warning: 1, info: 2 } as const;
const NEEDS_MAX = 50;
const PAGE = { after: "", limit: 200 };
/** A tick that is so late has been missed by every worker. */
const OVERDUE_MS = 60_000;
const STUCK_MS = 10 * 60_000;

const add = (a: { count: number; more: boolean }, b: { count: number; more: boolean }) => ({
  count: a.count + b.count,
  more: a.more || b.more,
});
const ZERO = { count: 0, more: false };

async function needsOf(http: Backend, queues: Awaited<ReturnType<typeof readQueues>>, dead: number): Promise<Need[]> {
  const needs: Need[] = [];
  for (const { queue, ready, workers, pausedAt } of queues) {
    const subject = { type: "queue", name: queue };
    if (ready.count === 0) continue;
    if (pausedAt !== null)
      needs.push({
        code: "paused_with_backlog",
        severity: "warning",
        subject,
        message: `The queue is paused, and jobs wait in it.`,
        since: pausedAt,
        count: ready.count,
      });
    else if (workers === 0)
      needs.push({
        code: "queue_without_workers",
        severity: "critical",
        subject,
        message: "Jobs wait, and no living worker serves this queue.",
        since: null,
        count: ready.count,
      });
  }
  for (const { channel, unknown, oldestOpenAt, lagMs } of await patiently(
    () => readChannels(http.lists, undefined),
    [],
  )) {
    const subject = { type: "channel", name: channel };
    if (unknown > 0)
      needs.push({
        code: "outbox_unknown",
        severity: "warning",
        subject,
        message: "Messages whose fate is unknown: say what became of them.",
        since: null,
        count: unknown,
      });
    if (lagMs !== null && lagMs > STUCK_MS)
      needs.push({
        code: "outbox_stuck",
        severity: "warning",
        subject,
        message: "The oldest open message waits for more than ten minutes.",
        since: oldestOpenAt,
        count: null,
      });
  }
  const nowMs = await readNow(http.view);
  for (const { name, lastError, nextRun, updatedAt } of await patiently(() => readSchedules(http.lists, PAGE), [])) {
    const subject = { type: "schedule", name };
    if (lastError !== null)
      needs.push({
        code: "schedule_failing",
        severity: "warning",
        subject,
        message: lastError.message,
        since: updatedAt,
        count: null,
      });
    if (nextRun !== null && nowMs - nextRun.getTime() > OVERDUE_MS)
      needs.push({
        code: "schedule_overdue",
        severity: "critical",
        subject,
        message: "Its tick is overdue: no worker ticks schedules.",
        since: nextRun,
        count: null,
      });
  }
  for (const { id, beatAt } of await readLost(http.view))
    needs.push({
      code: "worker_lost",
      severity: "warning",
      subject: { type: "worker", name: id },
      message: "The worker stopped answering; its jobs went on elsewhere.",
      since: beatAt,
      count: null,
    });
  for (const { rule, severity, message, since } of (await http.alerts?.firing?.()) ?? [])
    needs.push({ code: "alert_firing", severity, subject: { type: "alert", name: rule }, message, since, count: null });
  if (dead > 0)
    needs.push({
      code: "jobs_died",
      severity: "info",
      subject: { type: "jobs", name: "dead" },
      message: "Jobs died in the last 24 hours.",
      since: null,
      count: dead,
    });
  return needs.toSorted((a, b) => SEVERITY[a.severity] - SEVERITY[b.severity]).slice(0, NEEDS_MAX);
}

const DEAD_MAX = 1_000;

export const homeRoutes: readonly Route[] = [
  route("GET", "/me", {
    summary: "Who is asking, and what this server has",
    role: "viewer",
    also: ["enqueue"],
    tenants: "own",
    answer: shapes.me,
    handle: async ({ http, caller }) => toMe(http, caller),
  }),
  route("GET", "/now", {
    summary: "What is going on, and what needs a person",
    role: "viewer",
    tenants: "own",
    answer: shapes.now,
    handle: together("now", async ({ http, tenant }) => {
      const figures = await readNowFigures(http.view, tenant);
      const oldest = await patiently(() => readOldest(http.lists, tenant), undefined);
      const rates = await http.metrics?.rates?.({ queue: undefined, kind: undefined, tenant });
      const shared = {
        at: figures.at,
        oldestWaitMs: oldest?.waitMs ?? null,
        oldestWaitJob: oldest?.id ?? null,
        inPerSecond: rates?.inPerSecond ?? null,
        outPerSecond: rates?.outPerSecond ?? null,
        dead24h: { count: figures.dead, more: figures.dead >= DEAD_MAX },
      };
      if (tenant !== undefined) {
        const { ready, running } = (await readTenantRow(http, tenant)) as Pick<TenantOverview, "ready" | "running">;
        const counts = { ready, running, scheduled: null, blocked: null };
        return { ...shared, ...counts, capacity: null, workers: null, needsYou: [] };
      }
      const queues = await patiently(() => readQueues(http.lists, PAGE), []);
      const sum = (of: "ready" | "running" | "scheduled" | "blocked") =>
        queues.reduce((all, queue) => add(all, queue[of]), ZERO);
      return {
        ...shared,
        ready: sum("ready"),
        running: sum("running"),
        scheduled: sum("scheduled"),
        blocked: sum("blocked"),
        capacity: figures.capacity,
        workers: figures.workers,
        needsYou: await needsOf(http, queues, figures.dead),
      };
    }),
  }),
];
