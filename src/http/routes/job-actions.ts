// Acting on jobs: enqueue, cancel, retry, rerun, signal, and a token for one of them.
import type { Duration } from "../../base/duration.js";
import type { Enqueued, EnqueueOptions } from "../../core/job/enqueue-options.js";
import { defineJob, type JobDefinition } from "../../core/job/job-definition.js";
import { JOB_STATES, LIVE_STATES } from "../../core/job/states.js";
import { signJobToken } from "../../jobs/job-token.js";
import { act, jobFor, tenantOf } from "../acting.js";
import type { Backend } from "../backend.js";
import { needsSecret } from "../problem.js";
import type { RerunOptions } from "../rooms.js";
import { Answered, type Route, route } from "../route.js";
import { anyJson, boolean, boundedText, duration, integer, list, name, object, optional, time } from "../schema.js";
import * as shapes from "../shapes.js";

const how = {
  priority: optional(integer(-1000, 1000)),
  runAt: optional(time),
  delay: optional(duration),
  idempotencyKey: optional(boundedText(1, 500)),
  key: optional(name),
  attempts: optional(integer(1, 1_000)),
  timeout: optional(duration),
  expire: optional(duration),
  tags: optional(list(boundedText(1, 128), 16)),
};
const item = { input: optional(anyJson), tenant: optional(name), ...how };
/** A payload of 1 MiB, and what is said beside it. */
const ENQUEUE_BYTES_MAX = 1024 * 1024 + 64 * 1024;
const ITEMS_MAX = 1_000;
const MANY_BYTES_MAX = 16 * 1024 * 1024;

const definitionFor = (http: Backend, kind: string, queue: string | undefined): JobDefinition => {
  const known = http.definitions.get(kind) ?? defineJob({ kind });
  return queue === undefined ? known : { ...known, queue };
};

const toEnqueued = ({ id, created, replaced }: Enqueued) => ({ id, created, replaced: replaced ?? false });
const optionsOf = (given: object): EnqueueOptions => {
  const { input: _input, kind: _kind, queue: _queue, ...options } = given as Record<string, unknown>;
  return options as EnqueueOptions;
};

export const jobActionRoutes: readonly Route[] = [
  route("POST", "/jobs", {
    summary: "Store a job",
    role: "operator",
    also: ["enqueue"],
    tenants: "own",
    body: object({ kind: name, queue: optional(name), ...item }),
    bodyBytesMax: ENQUEUE_BYTES_MAX,
    answer: shapes.enqueued,
    status: 201,
    handle: async (call) => {
      const { kind, queue, input = {}, tenant } = call.body;
      const definition = definitionFor(call.http, kind, queue);
      const ofTenant = tenantOf(call, tenant);
      const options = { ...optionsOf(call.body), ...(ofTenant !== undefined && { tenant: ofTenant }) };
      const enqueue = () => call.http.client.enqueue(definition, input, options);
      // A program that enqueues is no person that acts: its jobs are the record.
      const made =
        call.caller.role === "enqueue"
          ? await enqueue()
          : await act(call, "job.enqueue", `kind ${kind}`, enqueue, { tenant: ofTenant });
      return new Answered(made.created ? 201 : 200, toEnqueued(made));
    },
  }),
  route("POST", "/jobs/many", {
    summary: "Store up to 1,000 jobs of a kind: all of them or none",
    role: "operator",
    also: ["enqueue"],
    tenants: "own",
    body: object({ kind: name, queue: optional(name), items: list(object(item), ITEMS_MAX) }),
    bodyBytesMax: MANY_BYTES_MAX,
    answer: shapes.itemsOf(shapes.enqueued),
    status: 201,
    handle: async (call) => {
      const { kind, queue, items } = call.body;
      const definition = definitionFor(call.http, kind, queue);
      const wanted = items.map(({ input = {}, tenant, ...options }) => {
        const ofTenant = tenantOf(call, tenant);
        return { ...options, input, ...(ofTenant !== undefined && { tenant: ofTenant }) } as { input: unknown };
      });
      const enqueue = () => call.http.client.enqueueMany(definition, wanted);
      const made =
        call.caller.role === "enqueue"
          ? await enqueue()
          : await act(call, "job.enqueue", `kind ${kind}`, enqueue, { detail: { jobs: items.length } });
      return { items: made.map(toEnqueued) };
    },
  }),
  route("POST", "/jobs/{id}/cancel", {
    summary: "Cancel a job",
    role: "operator",
    tenants: "own",
    answer: shapes.answer("cancelled", "requested", "ended"),
    handle: async (call) => {
      const { id, tenant } = await jobFor(call);
      return { answer: await act(call, "job.cancel", `job ${id}`, () => call.http.client.cancel(id), { tenant }) };
    },
  }),
  route("POST", "/jobs/{id}/retry", {
    summary: "Run a dead or cancelled job again, or a scheduled one now",
    role: "operator",
    tenants: "own",
    body: object({ fromStart: optional(boolean) }),
    answer: shapes.answer(...LIVE_STATES, "done", "no_credits", "order_busy"),
    handle: async (call) => {
      const { id, tenant } = await jobFor(call);
      const { fromStart = false } = call.body;
      const retry = () => call.http.client.retry(id, { fromStart });
      const answer = await act(call, "job.retry", `job ${id}`, retry, { tenant, detail: { ...call.body } });
      return { answer };
    },
  }),
  route("POST", "/jobs/{id}/run-now", {
    summary: "Run a waiting job now although its tenant, queue or kind is paused",
    role: "operator",
    tenants: "own",
    answer: shapes.answer(...JOB_STATES),
    handle: async (call) => {
      const { id, tenant } = await jobFor(call);
      return {
        answer: await act(call, "job.run-now", `job ${id}`, () => call.http.client.jobs.runNow(id), { tenant }),
      };
    },
  }),
  route("POST", "/jobs/{id}/rerun", {
    summary: "A new job like one that has ended, with other input",
    role: "operator",
    tenants: "own",
    body: object({ input: optional(anyJson), ...how }),
    bodyBytesMax: ENQUEUE_BYTES_MAX,
    answer: shapes.enqueued,
    status: 201,
    handle: async (call) => {
      const { id, tenant, kind } = await jobFor(call);
      const definition = call.body.input === undefined ? undefined : call.http.definitions.get(kind);
      const options = { ...call.body, ...(definition && { definition }) } as RerunOptions;
      const made = await act(call, "job.rerun", `job ${id}`, () => call.http.client.jobs.rerun(id, options), {
        tenant,
        detail: { edited: call.body.input !== undefined },
      });
      return new Answered(made.created ? 201 : 200, toEnqueued(made));
    },
  }),
  route("POST", "/jobs/{id}/signal", {
    summary: "Send a job the signal that it waits for",
    role: "operator",
    tenants: "own",
    body: object({ name, value: optional(anyJson) }),
    answer: shapes.answer("sent", "known", "late", "ended"),
    handle: async (call) => {
      const { id, tenant } = await jobFor(call);
      const { name: ofName, value } = call.body;
      const send = () => call.http.client.signal(id, ofName, value);
      return { answer: await act(call, "job.signal", `job ${id}`, send, { tenant, detail: { name: ofName } }) };
    },
  }),
  route("POST", "/jobs/{id}/token", {
    summary: "A token that may read this job and nothing else",
    role: "operator",
    tenants: "own",
    body: object({ for: optional(duration) }),
    answer: object({ token: shapes.textShape, expiresAt: time, path: shapes.textShape }),
    status: 201,
    handle: async (call) => {
      const { id, tenant } = await jobFor(call);
      const { tokens, clock } = call.http;
      if (tokens === undefined) throw needsSecret("Tokens cannot be signed here");
      const lifetime = (call.body.for ?? "10m") as Duration;
      const made = await act(call, "job.token", `job ${id}`, async () => signJobToken(tokens, clock, id, lifetime), {
        tenant,
      });
      return { ...made, path: `/api/v1/jobs/${id}/public` };
    },
  }),
];
