// What went wrong and who must say something: errors in groups, approvals, alerts, and who did what.
import { type Duration, toMs } from "../../base/duration.js";
import { act, tenantOf } from "../acting.js";
import { readErrorGroups } from "../error-groups.js";
import { alert, alertRule } from "../figure-shapes.js";
import { mapPage, pageOf, patiently, TOO_SLOW } from "../page.js";
import { notFound, notWired, requestInvalid } from "../problem.js";
import type { Job } from "../rooms.js";
import { openJob, readAudit } from "../rooms.js";
import { limitIn, paging, type Route, route } from "../route.js";
import { boundedText, duration, list, name, nullable, object, oneOf, optional, time } from "../schema.js";
import * as shapes from "../shapes.js";
import { readApprovals } from "../view-statements.js";
import { checkedId } from "./jobs.js";

const DAY_MS = 86_400_000;

export const troubleRoutes: readonly Route[] = [
  route("GET", "/errors", {
    summary: "Errors of the newest 10,000 dead jobs, grouped, largest first",
    role: "viewer",
    tenants: "own",
    query: object({
      state: optional(oneOf("dead", "cancelled")),
      since: optional(time),
      queue: optional(name),
      kind: optional(name),
      tenant: optional(name),
    }),
    answer: object({ items: list(shapes.errorGroup), looked: shapes.count, notice: nullable(shapes.notice) }),
    handle: async (call) => {
      const { state = "dead", since, queue, kind, tenant } = call.query;
      const { http } = call;
      const from = since ?? new Date(http.clock.now() - DAY_MS).toISOString();
      const query = { state, since: from, queue, kind, tenant: tenantOf(call, tenant) } as const;
      const shown = http.redact ?? ((value: unknown) => value);
      return patiently(
        async () => {
          const { items, looked } = await readErrorGroups(http.lists, query);
          const redacted = items.map((item) => ({ ...item, message: shown(item.message) }));
          return { items: redacted as unknown[], looked, notice: null as unknown };
        },
        { items: [], looked: { count: 0, more: true }, notice: TOO_SLOW },
      );
    },
  }),
  route("GET", "/approvals", {
    summary: "Jobs that wait for a signal, oldest first",
    role: "viewer",
    tenants: "own",
    query: object({ tenant: optional(name), ...paging }),
    answer: shapes.pageOf(shapes.approval),
    handle: async (call) => {
      const { cursor, tenant } = call.query;
      const [, job, step] = /^(\d{1,18}):(.*)$/s.exec(cursor ?? "") ?? [];
      if (cursor !== undefined && job === undefined)
        throw requestInvalid([{ path: "cursor", message: "is not what a page before this one answered" }]);
      const after = job === undefined ? undefined : { job, name: step! };
      const read = (limit: number) => readApprovals(call.http.lists, tenantOf(call, tenant), after, limit);
      const page = await pageOf(limitIn(call.query), read, (row) => `${row.jobId}:${row.name}`);
      const shown = call.http.redact ?? ((value: unknown) => value);
      const { redactor, context } = call.http;
      const { codec } = context;
      return mapPage(page, (row) => {
        const bare = { payload: null, result: null, error: null, failures: [] };
        const { progress } = redactor.job(openJob(codec, { ...row, ...bare, progress: row.question } as never as Job));
        return { ...row, question: shown(progress) };
      });
    },
  }),
  route("GET", "/alerts", {
    summary: "A page of alerts",
    role: "viewer",
    tenants: "refused",
    query: object({ state: optional(oneOf("firing", "pending", "resolved")), ...paging }),
    answer: shapes.pageOf(alert),
    handle: async ({ http, query }) => {
      if (http.alerts === undefined) throw notWired("Alerts");
      const { state, cursor } = query;
      return { ...(await http.alerts.list({ state, cursor, limit: limitIn(query) })), notice: null };
    },
  }),
  route("GET", "/alerts/rules", {
    summary: "The rules that alerts come from",
    role: "viewer",
    tenants: "refused",
    answer: shapes.itemsOf(alertRule),
    handle: async ({ http }) => {
      if (http.alerts === undefined) throw notWired("Alerts");
      return { items: await http.alerts.rules() };
    },
  }),
  route("POST", "/alerts/{id}/silence", {
    summary: "Say nothing of an alert for a while",
    role: "operator",
    tenants: "refused",
    body: object({ for: duration, reason: optional(boundedText(1, 500)) }),
    answer: alert,
    handle: async (call) => {
      const { alerts } = call.http;
      if (alerts === undefined) throw notWired("Alerts");
      const { id = "" } = call.params;
      const forMs = toMs(call.body.for as Duration, "for");
      const silence = () => alerts.silence(id, forMs, call.caller.actor, call.body.reason);
      const alert = await act(call, "alert.silence", `alert ${id}`, silence, { detail: { ...call.body } });
      if (alert === undefined) throw notFound("such alert");
      return alert;
    },
  }),
  route("GET", "/audit", {
    summary: "Who did what, newest first",
    role: "viewer",
    tenants: "refused",
    query: object({
      actor: optional(name),
      action: optional(name),
      subject: optional(boundedText(1, 400)),
      since: optional(time),
      until: optional(time),
      ...paging,
    }),
    answer: shapes.pageOf(shapes.auditEvent),
    handle: ({ http, query }) => {
      const { cursor, limit: _limit, ...filter } = query;
      const before = cursor === undefined ? undefined : checkedId(cursor, "cursor");
      return pageOf(
        limitIn(query),
        (limit) => readAudit(http.lists, { ...filter, before, limit }),
        ({ id }) => id,
      );
    },
  }),
];
