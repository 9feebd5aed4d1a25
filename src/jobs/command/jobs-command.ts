// `fairmill jobs`: a page of jobs, newest first.
import { Option } from "commander";
import { systemClock } from "../../base/clock.js";
import { given, jobId, momentOrAgo, name, text, whole } from "../../cli/arguments.js";
import { colourOfState } from "../../cli/colours.js";
import { defineCommand } from "../../cli/command.js";
import { redactorOf } from "../../cli/payload.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { relative, spanOf } from "../../cli/times.js";
import { JOB_STATES, type JobState } from "../../core/job/states.js";
import { type Job, PAGE_ROWS_MAX } from "../read-jobs.js";

interface Options {
  readonly state?: JobState;
  readonly queue?: string;
  readonly kind?: string;
  readonly tenant?: string;
  readonly batch?: string;
  readonly tag?: string;
  readonly errorCode?: string;
  readonly errorText?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly limit: number;
  readonly before?: string;
}

export const jobs = defineCommand<Options>({
  name: "jobs",
  summary: "list jobs, newest first",
  examples: [
    ["fairmill jobs", "the newest"],
    ["fairmill jobs --state dead --kind mail.send", "mails that failed for good"],
    ["fairmill jobs --error-code ECONNREFUSED --since 2h", "what one cause ended in the last two hours"],
    ["fairmill jobs --tenant acme --before 1200", "the page before job 1200"],
  ],
  declare: (command) =>
    void command
      .addOption(new Option("--state <state>", "only jobs in this state").choices(JOB_STATES))
      .option("--queue <name>", "only jobs of this queue", name("--queue"))
      .option("--kind <kind>", "only jobs of this kind", name("--kind"))
      .option("--tenant <name>", "only jobs of this tenant", name("--tenant"))
      .option("--batch <id>", "only members of this batch or node", jobId)
      .option("--tag <text>", "only jobs with this tag", text("--tag"))
      .option("--error-code <code>", "only ended jobs whose error has this code", text("--error-code"))
      .option("--error-text <text>", "only ended jobs whose error message contains this", text("--error-text"))
      .option("--since <time>", "ended then or later: a time, or how long ago, like 2h", momentOrAgo("--since"))
      .option("--until <time>", "ended then or earlier", momentOrAgo("--until"))
      .option("--limit <n>", `how many, at most ${PAGE_ROWS_MAX}`, whole("--limit", 1, PAGE_ROWS_MAX), 50)
      .option("--before <id>", "only jobs with a lower id", jobId),
  run: async ({ options, out }) => {
    const { state, queue, kind, tenant, batch, tag, errorCode, errorText, since, until, before, limit } = options;
    const ended = { errorCode, errorText, endedSince: since, endedUntil: until };
    const filter = given({ state, queue, kind, tenant, batch, tag, before, ...ended });
    // The config says how payloads are opened, and what must not be shown of them and of errors.
    const target = await findTarget(options, "codec");
    const { job: shown } = redactorOf(target);
    const page = (await withClient(target, (client) => client.jobs.list({ ...filter, limit }))).map((job) =>
      shown(job),
    );
    const next = page.length === limit ? (page.at(-1)?.id ?? null) : null;
    if (page.length === 0) out.result({ jobs: [], next }, nothingFound(Object.keys(filter).length > 0));
    else {
      const more = next === null ? "" : `\nOlder ones: the same command with --before ${next}`;
      out.result({ jobs: page, next }, `${pageOf(page, out.columns, out.coloured)}${more}`);
    }
    return 0;
  },
});

const nothingFound = (filtered: boolean) =>
  filtered
    ? "No job fits these filters. Leave one out, or see all of them: fairmill jobs"
    : 'There are no jobs yet. Store one: fairmill enqueue <kind> \'{"some":"input"}\'';

function pageOf(page: readonly Job[], columnsMax: number, coloured: boolean): string {
  const nowMs = systemClock.now();
  const rows = page.map((job) => [
    job.id,
    job.state,
    job.kind,
    job.tenant,
    job.queue,
    `${job.attempt}/${job.maxAttempts}`,
    relative(job.createdAt, nowMs),
    remarkOn(job, nowMs),
  ]);
  return tableOf(
    ["ID", "STATE", "KIND", "TENANT", "QUEUE", "ATTEMPT", "CREATED", "REMARK"],
    rows,
    columnsMax,
    (heading, cell) => (coloured && heading === "STATE" ? colourOfState(cell) : cell),
  );
}

/** The one thing to know about a job in its state. */
function remarkOn(job: Job, nowMs: number): string {
  const lastError = job.error ?? job.failures.at(-1)?.error;
  switch (job.state) {
    case "running":
      return job.startedAt ? `for ${spanOf(nowMs - job.startedAt.getTime())}` : "";
    case "scheduled": {
      const due = job.runAt ? `due ${relative(job.runAt, nowMs)}` : "";
      return lastError ? `${due}, after: ${lastError.message}` : due;
    }
    case "done":
      return job.startedAt && job.endedAt ? `took ${spanOf(job.endedAt.getTime() - job.startedAt.getTime())}` : "";
    default:
      return lastError?.message ?? "";
  }
}
