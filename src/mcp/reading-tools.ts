// Tools that look: lists of jobs, one job, why it waits, what it logged, errors in groups, workers, the backlog by reason, what needs a person.
import {
  boundedText,
  id,
  integer,
  type JsonSchema,
  name,
  object,
  oneOf,
  optional,
  type Schema,
  time,
} from "../http/schema.js";
import { jobState, limitScope } from "../http/shapes.js";
import { withQuery } from "./api.js";
import { defineTool, type Tool, type ToolContext } from "./tool.js";

/** An agent reads every row: fewer than the dashboard shows. */
const ROWS_MAX = 50;
const ROWS = 20;

const said = <T extends Schema<unknown>>(schema: T, description: string): T => ({
  ...schema,
  json: { ...(schema.json as JsonSchema), description },
});

const limit = said(optional(integer(1, ROWS_MAX)), `rows, at most ${ROWS_MAX}; default ${ROWS}`);
const cursor = said(optional(boundedText(1, 1_000)), "next of the page before");

export const filterOfJobs = {
  state: optional(jobState),
  kind: optional(name),
  queue: optional(name),
  tenant: optional(name),
  key: optional(name),
  batch: optional(id),
  tag: optional(boundedText(1, 128)),
  errorCode: said(optional(boundedText(1, 1_000)), "only ended jobs whose error has this code"),
  errorText: said(optional(boundedText(1, 1_000)), "only ended jobs whose error message contains this"),
  createdSince: optional(time),
  createdUntil: optional(time),
  endedSince: optional(time),
  endedUntil: optional(time),
};

const read = async ({ api, signal }: ToolContext, path: string) => {
  const { ok, value } = await api.ask("GET", path, undefined, signal);
  return { value, isError: !ok };
};

const oneJob = object({ id: said(id, "the job's id, a whole number as a text") });
const scope = { queue: optional(name), kind: optional(name), tenant: optional(name) };
const HOUR_MS = 3_600_000;

export const READING_TOOLS: readonly Tool[] = [
  defineTool({
    name: "now",
    title: "What is going on",
    description:
      "Counts of waiting and running jobs, throughput, oldest wait, jobs that died, and what needs a person, most urgent first.",
    input: object({}),
    isReader: true,
    call: (_, context) => read(context, "/now"),
  }),
  defineTool({
    name: "list_jobs",
    title: "List jobs",
    description: "A page of jobs, newest first, by a filter. Nothing is counted: a page says where the next begins.",
    input: object({ ...filterOfJobs, limit, cursor }),
    isReader: true,
    call: (input, context) => read(context, withQuery("/jobs", { limit: ROWS, ...input })),
  }),
  defineTool({
    name: "job",
    title: "One job",
    description:
      "Everything about one job: payload (redacted by rule), attempts with their errors, result, where its time went.",
    input: oneJob,
    isReader: true,
    call: (input, context) => read(context, `/jobs/${input.id}`),
  }),
  defineTool({
    name: "why",
    title: "Why a job does not run",
    description: "Every check on the job's way to a worker, in order, passed or not, with the reason in words.",
    input: oneJob,
    isReader: true,
    call: (input, context) => read(context, `/jobs/${input.id}/why`),
  }),
  defineTool({
    name: "job_logs",
    title: "What a job logged",
    description: "Lines that the job's handler logged, oldest first.",
    input: object({ ...{ id }, level: optional(oneOf("debug", "info", "warn", "error")), limit, cursor }),
    isReader: true,
    call: ({ id: job, ...page }, context) => read(context, withQuery(`/jobs/${job}/logs`, { limit: ROWS, ...page })),
  }),
  defineTool({
    name: "errors",
    title: "Errors in groups",
    description:
      "Dead jobs grouped by kind and error, largest first: how many, since when, which tenants, a sample, and the filter that finds them.",
    input: object({
      ...scope,
      since: said(optional(time), "default: 24 hours ago"),
    }),
    isReader: true,
    call: (input, context) => read(context, withQuery("/errors", input)),
  }),
  defineTool({
    name: "workers",
    title: "Workers",
    description: "Workers, alive ones first: what each serves, runs, uses, and when it was heard last.",
    input: object({ state: optional(oneOf("alive", "lost", "stopped")), limit, cursor }),
    isReader: true,
    call: (input, context) => read(context, withQuery("/workers", { limit: ROWS, ...input })),
  }),
  defineTool({
    name: "backlog",
    title: "Why jobs wait",
    description:
      "The jobs that wait, by what keeps them: now, and on average over the last hour. Tells whether workers are missing or a limit is low.",
    input: object(scope),
    isReader: true,
    call: async (input, context) => {
      const since = new Date(context.nowMs() - HOUR_MS).toISOString();
      const { value, isError } = await read(context, withQuery("/backlog", { ...input, since, stepMs: 2 * HOUR_MS }));
      return { value: isError ? value : backlogOf(value as BacklogAnswer), isError };
    },
  }),
  defineTool({
    name: "limits",
    title: "Limits",
    description: "Every tenant, queue and kind with a cap, a rate or a pause, and how much of it is used now.",
    input: object({ scope: optional(limitScope), limit, cursor }),
    isReader: true,
    call: (input, context) => read(context, withQuery("/limits", { limit: ROWS, ...input })),
  }),
  defineTool({
    name: "schedules",
    title: "Schedules",
    description: "Schedules with their cron expression, next runs, last tick and last error.",
    input: object({ limit, cursor }),
    isReader: true,
    call: (input, context) => read(context, withQuery("/schedules", { limit: ROWS, ...input })),
  }),
  defineTool({
    name: "alerts",
    title: "Alerts",
    description: "Alerts that fire, are pending, or were resolved, newest first.",
    input: object({ state: optional(oneOf("firing", "pending", "resolved")), limit, cursor }),
    isReader: true,
    call: (input, context) => read(context, withQuery("/alerts", { limit: ROWS, ...input })),
  }),
];

interface BacklogAnswer {
  readonly reasons: readonly { readonly reason: string; readonly values: readonly (number | null)[] }[];
  readonly atLeast: readonly boolean[];
}

/** Of the series, the last point and the mean before it. */
function backlogOf({ reasons, atLeast }: BacklogAnswer) {
  const some = (pick: (values: readonly (number | null)[]) => number | null | undefined) =>
    Object.fromEntries(reasons.map(({ reason, values }) => [reason, pick(values)]).filter(([, value]) => value));
  return {
    now: some((values) => values.at(-1)),
    lastHour: some((values) => (values.length > 1 ? values[0] : null)),
    isLowerBound: atLeast.at(-1) ?? false,
  };
}
