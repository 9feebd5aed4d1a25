// Schedules: their next runs, pausing, running now, changing them.
import { defineJob } from "../../core/job/job-definition.js";
import { act, ownOnly } from "../acting.js";
import { mapPage, pageOf } from "../page.js";
import {
  Cron,
  readNow,
  readSchedule,
  readScheduleJob,
  readSchedules,
  type Schedule,
  type ScheduleChange,
  type ScheduleOptions,
} from "../rooms.js";
import { Answered, type Call, limitIn, paging, type Route, route } from "../route.js";
import { shownInput } from "../schedule-input.js";
import { anyJson, boolean, boundedText, duration, integer, name, object, optional, time } from "../schema.js";
import * as shapes from "../shapes.js";

const RUNS = 5;

function toSchedule(schedule: Schedule, nowMs: number) {
  const { cron, timezone, nextRun } = schedule;
  const nextRuns: Date[] = [];
  if (nextRun !== null) {
    const times = new Cron(cron, timezone);
    // One that is due and not done comes first.
    for (let ms = Math.min(nowMs, nextRun.getTime() - 1); nextRuns.length < RUNS; ) {
      ms = times.next(ms);
      nextRuns.push(new Date(ms));
    }
  }
  const overdueMs = nextRun === null ? 0 : Math.max(0, nowMs - nextRun.getTime());
  return { ...schedule, nextRuns, overdueMs };
}

async function scheduleFor(call: Call<unknown, unknown>): Promise<Schedule> {
  const wanted = call.params["name"] ?? "";
  const found =
    wanted.includes("\0") || !wanted.isWellFormed() ? undefined : await readSchedule(call.http.view, wanted);
  return ownOnly(call, found, "such schedule");
}

const shown = async (call: Call<unknown, unknown>) =>
  toSchedule(await scheduleFor(call), await readNow(call.http.view));

export const scheduleRoutes: readonly Route[] = [
  route("GET", "/schedules", {
    summary: "A page of schedules by name, with their next five runs",
    role: "viewer",
    tenants: "own",
    query: object(paging),
    answer: shapes.pageOf(shapes.scheduleRow),
    handle: async ({ http, query, tenant }) => {
      const read = (limit: number) => readSchedules(http.lists, { after: query.cursor ?? "", limit });
      const page = await pageOf(limitIn(query), read, (row) => row.name);
      const nowMs = await readNow(http.view);
      const own = { ...page, items: page.items.filter((row) => tenant === undefined || row.tenant === tenant) };
      return mapPage(own, (row) => toSchedule(row, nowMs));
    },
  }),
  route("GET", "/schedules/{name}", {
    summary: "One schedule",
    role: "viewer",
    tenants: "own",
    answer: shapes.scheduleRow,
    handle: shown,
  }),
  route("GET", "/schedules/{name}/input", {
    summary: "The input of the jobs of a schedule, redacted as jobs are",
    role: "viewer",
    tenants: "own",
    answer: shapes.scheduleInput,
    handle: async (call) => {
      const schedule = await scheduleFor(call);
      const stored = await readScheduleJob(call.http.view, schedule.name);
      return shownInput(call.http, schedule, stored?.job ?? {}, stored?.payload ?? null);
    },
  }),
  route("GET", "/next-runs", {
    summary: "When an expression would tick next, by the clock of the database: a look before it is saved",
    role: "viewer",
    tenants: "own",
    query: object({ cron: boundedText(1, 500), timezone: optional(boundedText(1, 100)) }),
    answer: shapes.nextRuns,
    handle: async ({ http, query: { cron, timezone } }) => {
      const runs = await http.client.schedules.next({ cron, ...(timezone !== undefined && { timezone }) }, RUNS);
      return { timezone: timezone ?? "UTC", runs };
    },
  }),
  route("POST", "/schedules/{name}/change", {
    summary: "Change parts of a schedule; what is left out stays as it is",
    role: "admin",
    tenants: "own",
    body: object({
      cron: optional(boundedText(1, 500)),
      timezone: optional(boundedText(1, 100)),
      missed: optional(anyJson),
      jitter: optional(duration),
      input: optional(anyJson),
      paused: optional(boolean),
      unchangedSince: optional(time),
    }),
    bodyBytesMax: 1024 * 1024 + 64 * 1024,
    answer: shapes.scheduleRow,
    handle: async (call) => {
      const { name: ofName, tenant, kind } = await scheduleFor(call);
      const job = call.body.input === undefined ? undefined : call.http.definitions.get(kind);
      const change = { ...call.body, ...(job && { job }) } as ScheduleChange;
      const { input, unchangedSince: _since, ...detail } = call.body;
      await act(
        call,
        "schedule.change",
        `schedule ${ofName}`,
        () => call.http.client.schedules.change(ofName, change),
        // Inputs stay out of the record: they may hold what must not be shown.
        { tenant, detail: { ...detail, ...(input !== undefined && { input: "changed" }) } },
      );
      return shown(call);
    },
  }),
  ...(["pause", "resume"] as const).map((verb) =>
    route("POST", `/schedules/{name}/${verb}`, {
      summary: verb === "pause" ? "Make no more jobs by this schedule" : "Make jobs by this schedule again",
      role: "operator",
      tenants: "own",
      answer: shapes.scheduleRow,
      handle: async (call) => {
        const { name: ofName, tenant } = await scheduleFor(call);
        await act(call, `schedule.${verb}`, `schedule ${ofName}`, () => call.http.client.schedules[verb](ofName), {
          tenant,
        });
        return shown(call);
      },
    }),
  ),
  route("POST", "/schedules/{name}/run", {
    summary: "Enqueue the job of a schedule now",
    role: "operator",
    tenants: "own",
    answer: shapes.enqueued,
    status: 201,
    handle: async (call) => {
      const { name: ofName, tenant } = await scheduleFor(call);
      const made = await act(call, "schedule.run", `schedule ${ofName}`, () => call.http.client.schedules.run(ofName), {
        tenant,
      });
      return new Answered(made.created ? 201 : 200, {
        id: made.id,
        created: made.created,
        replaced: made.replaced ?? false,
      });
    },
  }),
  route("PUT", "/schedules/{name}", {
    summary: "Set a schedule: what it is from now on",
    role: "admin",
    tenants: "refused",
    body: object({
      cron: boundedText(1, 500),
      timezone: optional(boundedText(1, 100)),
      kind: name,
      input: optional(anyJson),
      queue: optional(name),
      tenant: optional(name),
      priority: optional(integer(-1000, 1000)),
      key: optional(name),
      missed: optional(anyJson),
      jitter: optional(duration),
    }),
    bodyBytesMax: 1024 * 1024 + 64 * 1024,
    answer: shapes.scheduleRow,
    handle: async (call) => {
      const { kind, queue, input = {}, ...rest } = call.body;
      const known = call.http.definitions.get(kind) ?? defineJob({ kind });
      const job = queue === undefined ? known : { ...known, queue };
      const options = { ...rest, job, input } as unknown as ScheduleOptions;
      const ofName = call.params["name"] ?? "";
      const { input: _input, ...detail } = call.body;
      await act(call, "schedule.set", `schedule ${ofName}`, () => call.http.client.schedules.set(ofName, options), {
        detail,
      });
      return shown(call);
    },
  }),
  route("DELETE", "/schedules/{name}", {
    summary: "Remove a schedule; the jobs that it made stay",
    role: "admin",
    tenants: "refused",
    handle: async (call) => {
      const { name: ofName, tenant } = await scheduleFor(call);
      await act(call, "schedule.remove", `schedule ${ofName}`, () => call.http.client.schedules.remove(ofName), {
        tenant,
      });
    },
  }),
];
