// Jobs: lists, one with everything about it, why it waits, its steps and logs.
import { type Duration, toMs } from "../../base/duration.js";
import { SharedLook } from "../../base/shared-look.js";
import { isEnded, type JobState } from "../../core/job/states.js";
import { readSplits } from "../../metrics/shares.js";
import { jobFor, tenantOf } from "../acting.js";
import { type Backend, wasTooSlow } from "../backend.js";
import { logLine } from "../figure-shapes.js";
import { type Notice, type Page, TOO_SLOW } from "../page.js";
import { HttpProblem, notFound, notWired, requestInvalid } from "../problem.js";
import {
  type JobRow,
  type JobSearch,
  type LogLine,
  openJob,
  openStep,
  readEnds,
  readJobDetail,
  readNewestId,
  readSteps,
  readWhy,
  type SeenJob,
  searchJobs,
} from "../rooms.js";
import { type Call, limitIn, paging, type Route, route } from "../route.js";
import {
  boundedText,
  duration,
  type Infer,
  id,
  name,
  object,
  oneOf,
  oneOrMore,
  optional,
  text,
  time,
} from "../schema.js";
import * as shapes from "../shapes.js";
import { readRateLimitedTimes } from "../view-statements.js";
import { firstWaitOf, toDetail, toRow, withoutOthers } from "./job-view.js";

export const jobFilter = {
  state: optional(oneOrMore(shapes.jobState)),
  queue: optional(name),
  kind: optional(name),
  tenant: optional(name),
  key: optional(name),
  batch: optional(id),
  errorCode: optional(boundedText(1, 6_000)),
  errorText: optional(boundedText(1, 6_000)),
  createdSince: optional(time),
  createdUntil: optional(time),
  endedSince: optional(time),
  endedUntil: optional(time),
  tag: optional(boundedText(1, 128)),
};
const jobQuery = object({ ...jobFilter, payload: optional(boundedText(2, 10_000)), ...paging });

/** Of a question that took too long, this many of the newest ids are looked at instead. */
const WINDOW_IDS = 20_000;

async function list(call: Call<Infer<typeof jobQuery>, undefined>): Promise<Page<JobRow>> {
  const { query, http } = call;
  const limit = limitIn(query);
  const { state, cursor, limit: _limit, tenant, payload, ...rest } = query;
  const search: JobSearch = {
    ...rest,
    tenant: tenantOf(call, tenant),
    states: state === undefined ? undefined : ([state].flat() as JobState[]),
    payload: payload === undefined ? undefined : containment(payload),
    before: cursor === undefined ? undefined : checkedId(cursor, "cursor"),
    limit: limit + 1,
  };
  try {
    return page(await searchJobs(http.lists, search), limit, null, null, http);
  } catch (error) {
    if (!wasTooSlow(error)) throw error;
  }
  const newest = search.before ?? String(BigInt(await readNewestId(http.lists)) + 1n);
  const floor = BigInt(newest) - BigInt(WINDOW_IDS);
  const after = String(floor > 0n ? floor : 0n);
  try {
    const rows = await searchJobs(http.lists, { ...search, before: newest, after });
    const message = `All jobs would have taken longer than two seconds: these are from the ids ${after} to ${newest}. The next page goes on behind them.`;
    return page(rows, limit, { code: "LOOKED_AT_PART", message }, floor > 0n ? String(floor + 1n) : null, http);
  } catch (error) {
    if (!wasTooSlow(error)) throw error;
    return { items: [], next: null, notice: TOO_SLOW };
  }
}

const page = (rows: readonly JobRow[], limit: number, notice: Notice | null, rest: string | null, http: Backend) => ({
  items: rows.slice(0, limit).map((row) => toRow(http, row)),
  next: rows.length > limit ? rows[limit - 1]!.id : rest,
  notice,
});

export function checkedId(value: string, path: string): string {
  if (/^\d{1,18}$/.test(value)) return value;
  throw requestInvalid([{ path, message: "is not what a page before this one answered" }]);
}

/** An object, as text: what is contained is asked of the database. */
function containment(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null && !/\\u0000/.test(json)) return JSON.stringify(value);
  } catch {
    // Said below.
  }
  throw requestInvalid([{ path: "payload", message: 'is not a JSON object, like {"userId":"u1"}' }]);
}

/** All callers that wait for the end of a job look together. */
const waiting = new WeakMap<Backend, SharedLook<SeenJob>>();
const lookOf = (http: Backend): SharedLook<SeenJob> => {
  let look = waiting.get(http);
  if (look === undefined) {
    const { clock, view } = http;
    look = new SharedLook(clock, {
      idsMax: 1_000,
      look: (ids) => readEnds(view, ids),
      isOver: ({ state }) => isEnded(state),
    });
    waiting.set(http, look);
  }
  return look;
};

const WAIT_MS_MAX = 30_000;

export const jobRoutes: readonly Route[] = [
  route("GET", "/jobs", {
    summary: "A page of jobs, newest first",
    role: "viewer",
    tenants: "own",
    query: jobQuery,
    answer: shapes.pageOf(shapes.jobRow),
    handle: list,
  }),
  route("GET", "/jobs/{id}", {
    summary: "One job, with its attempts and where its time went",
    role: "viewer",
    tenants: "own",
    answer: shapes.jobDetail,
    handle: async (call) => {
      const job = await jobFor(call);
      const steps = await readSteps(call.http.view, job.id);
      const { fromMs, untilMs } = firstWaitOf(job, steps, call.http.clock.now());
      const splits = await readSplits(call.http.view, "tenants", new Date(fromMs), new Date(untilMs), job.tenant);
      const rateLimitedTimes = await readRateLimitedTimes(call.http.view, job.id);
      return toDetail(call.http, job, { steps, rateLimitedTimes, split: splits.get(job.tenant) });
    },
  }),
  route("GET", "/jobs/{id}/why", {
    summary: "Why the job does not run: every check on its way",
    role: "viewer",
    tenants: "own",
    answer: shapes.why,
    handle: async (call) => {
      const job = await jobFor(call);
      const why = await readWhy<string>(call.http.view, "job", job.id);
      if (why === undefined) throw notFound("such job");
      return call.tenant === undefined ? why : withoutOthers(why);
    },
  }),
  route("GET", "/jobs/{id}/steps", {
    summary: "The steps that the job has come to, and its signals",
    role: "viewer",
    tenants: "own",
    answer: shapes.itemsOf(shapes.step),
    handle: async (call) => {
      const job = await jobFor(call);
      const { view, redact, context, redactor } = call.http;
      const { kind, payload } = openJob(context.codec, job);
      const steps = (await readSteps(view, job.id)).map((step) =>
        redactor.step({ kind, payload }, openStep(context.codec, job, step)),
      );
      return { items: redact ? steps.map((step) => ({ ...step, result: redact(step.result) })) : steps };
    },
  }),
  route("GET", "/jobs/{id}/logs", {
    summary: "What the job logged",
    role: "viewer",
    tenants: "own",
    query: object({ ...paging, level: optional(oneOf("trace", "debug", "info", "warn", "error", "fatal")) }),
    answer: shapes.pageOf(logLine),
    handle: async (call) => {
      const job = await jobFor(call);
      if (call.http.logs === undefined) throw notWired("What jobs log");
      const { cursor, level } = call.query;
      const { items, next } = await call.http.logs.logs(job.id, { cursor, level, limit: limitIn(call.query) });
      const { context, redactor, redact } = call.http;
      const { kind, payload } = openJob(context.codec, job);
      const lines = items.map((line) => redactor.line({ kind, payload }, line as LogLine));
      const shown = redact
        ? lines.map((line) => ({ ...line, message: redact(line.message), fields: redact(line.fields) }))
        : lines;
      return { items: shown, next, notice: null };
    },
  }),
  route("GET", "/jobs/{id}/public", {
    summary: "What the waiting caller of a job may know: state, progress, result",
    role: "viewer",
    also: ["enqueue", "job"],
    tenants: "own",
    query: object({ wait: optional(duration), token: optional(text) }),
    answer: shapes.publicJob,
    handle: async (call) => {
      let job = await jobFor(call);
      const waitMs = call.query.wait === undefined ? 0 : toMs(call.query.wait as Duration, "wait");
      if (waitMs > WAIT_MS_MAX) throw new HttpProblem(400, "FAIRMILL_HTTP_REQUEST_INVALID", "wait: at most 30s.");
      if (waitMs > 0 && !isEnded(job.state)) {
        await lookOf(call.http).wait(job.id, waitMs, call.request.signal);
        job = (await readJobDetail(call.http.view, job.id)) ?? job;
      }
      const {
        id: jobId,
        state,
        progress,
        result,
        error,
        createdAt,
        startedAt,
        endedAt,
      } = call.http.redactor.job(openJob(call.http.context.codec, job));
      const said = error && { code: error.code ?? null, message: error.message };
      const shown = call.http.redact ?? ((value: unknown) => value);
      return {
        id: jobId,
        state,
        progress: shown(progress),
        result: shown(result),
        error: said && shown(said),
        createdAt,
        startedAt,
        endedAt,
      };
    },
  }),
];
