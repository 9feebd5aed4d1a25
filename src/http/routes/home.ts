// Who am I, and what is going on: the caller, and the first page with what needs a person.
import { VERSION } from "../../base/version.js";
import type { Backend } from "../backend.js";
import type { Caller } from "../gatekeeper.js";
import { readNeeds } from "../needs.js";
import { patiently } from "../page.js";
import { readQueues, type TenantOverview } from "../rooms.js";
import { type Route, route } from "../route.js";
import * as shapes from "../shapes.js";
import { together } from "../together.js";
import { readNowFigures, readOldest } from "../view-statements.js";
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

const PAGE = { after: "", limit: 200 };

const add = (a: { count: number; more: boolean }, b: { count: number; more: boolean }) => ({
  count: a.count + b.count,
  more: a.more || b.more,
});
const ZERO = { count: 0, more: false };

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
      const dead24h = { count: figures.dead, more: figures.dead >= DEAD_MAX };
      const shared = {
        at: figures.at,
        oldestWaitMs: oldest?.waitMs ?? null,
        oldestWaitJob: oldest?.id ?? null,
        inPerSecond: rates?.inPerSecond ?? null,
        outPerSecond: rates?.outPerSecond ?? null,
        dead24h,
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
        needsYou: await readNeeds(http, queues, dead24h),
      };
    }),
  }),
];
