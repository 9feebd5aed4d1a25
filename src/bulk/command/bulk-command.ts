// `fairmill bulk`: acts on all jobs that fit a filter, as a tracked object that any process can go on with.
import type { Command } from "commander";
import { audited, cliActor } from "../../audit/audit.js";
import { systemClock } from "../../base/clock.js";
import { batchId, given, jobId, momentOrAgo, name, text } from "../../cli/arguments.js";
import { type CommandGroup, defineCommand, type GlobalOptions } from "../../cli/command.js";
import { confirm } from "../../cli/confirm.js";
import { type ExitCode, UsageError } from "../../cli/failure.js";
import type { Output } from "../../cli/output.js";
import { catchSignals } from "../../cli/signals.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withDatabase } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { JOB_STATES, type JobState } from "../../core/job/states.js";
import type { Database } from "../../db/database.js";
import { BULK_ACTIONS, type BulkActionName, type BulkFilter, checkBulkFilter, shownFilter } from "../bulk-filter.js";
import { type BulkPreview, previewBulk, runBulk } from "../bulk-runner.js";
import { endBulk, readBulk, readBulks, type StoredBulk, startBulk } from "../bulk-statements.js";

interface Options {
  readonly state?: readonly JobState[];
  readonly kind?: string;
  readonly queue?: string;
  readonly tenant?: string;
  readonly key?: string;
  readonly batch?: string;
  readonly tag?: string;
  readonly errorCode?: string;
  readonly errorText?: string;
  readonly createdSince?: Date;
  readonly createdUntil?: Date;
  readonly since?: Date;
  readonly until?: Date;
  readonly reason?: string;
  readonly dryRun?: true;
  readonly yes?: true;
}

const states = (word: string, before: readonly JobState[] = []): readonly JobState[] => {
  if (JOB_STATES.includes(word as JobState)) return [...before, word as JobState];
  throw new UsageError(`--state: ${JSON.stringify(word)} is none of ${JOB_STATES.join(", ")}.`);
};

const declareFilter = (command: Command): void =>
  void command
    .option("--state <state>", "only jobs in this state; may be repeated", states)
    .option("--kind <kind>", "only jobs of this kind", name("--kind"))
    .option("--queue <name>", "only jobs of this queue", name("--queue"))
    .option("--tenant <name>", "only jobs of this tenant", name("--tenant"))
    .option("--key <name>", "only jobs of this key", name("--key"))
    .option("--batch <id>", "only members of this batch", batchId)
    .option("--tag <text>", "only jobs with this tag", text("--tag"))
    .option("--error-code <code>", "only jobs whose error has this code", text("--error-code"))
    .option("--error-text <text>", "only jobs whose error message contains this", text("--error-text"))
    .option(
      "--created-since <moment>",
      "enqueued then or later: a moment, or how long ago",
      momentOrAgo("--created-since"),
    )
    .option("--created-until <moment>", "enqueued then or earlier", momentOrAgo("--created-until"))
    .option("--since <moment>", "ended then or later", momentOrAgo("--since"))
    .option("--until <moment>", "ended then or earlier", momentOrAgo("--until"))
    .option("--reason <text>", "why, for the record", text("--reason"))
    .option("--dry-run", "only show what fits")
    .option("--yes", "do not ask");

const SUMMARIES: Record<BulkActionName, readonly [summary: string, example: string]> = {
  cancel: ["cancel all live jobs that fit", "--tenant acme --kind mail.send --dry-run"],
  retry: ["run all dead and cancelled jobs that fit again, and scheduled ones now", "--kind mail.send --since 2h"],
  redrive: ["run all dead jobs that fit again", "--error-code ECONNREFUSED --yes"],
  rerun: ["store a new job like each ended one that fits", "--tag nightly --since 1d"],
};

const actions = BULK_ACTIONS.map((action) =>
  defineCommand<Options>({
    name: action,
    summary: SUMMARIES[action][0],
    description: "Shows what fits, asks, and acts in bounded steps. A filter that says nothing is refused.",
    examples: [[`fairmill bulk ${action} ${SUMMARIES[action][1]}`, SUMMARIES[action][0]]],
    declare: declareFilter,
    run: ({ options, out }) => act(action, options, out),
  }),
);

const one = (verb: "get" | "stop" | "resume", summary: string) =>
  defineCommand<object, [id: string]>({
    name: verb,
    summary,
    examples: [[`fairmill bulk ${verb} 17`, summary]],
    declare: (command) => void command.argument("<id>", "which bulk action", jobId),
    run: async ({ args: [id], options, out }) =>
      withDatabase(await findTarget(options), (db) => steer(db, verb, id, options, out)),
  });

const listed = defineCommand<object>({
  name: "list",
  summary: "list bulk actions, newest first",
  examples: [["fairmill bulk", "the last fifty"]],
  declare: () => {},
  run: async ({ options, out }) => withDatabase(await findTarget(options), (db) => list(db, out)),
});

export const bulk: CommandGroup = {
  name: "bulk",
  summary: "act on all jobs that fit a filter, and follow it",
  description: `cancel: jobs that live; retry: dead and cancelled ones, and scheduled ones now; redrive: dead ones; rerun: a new job like each that has
ended. Shows what fits, asks, and acts in bounded steps. Ctrl-C leaves the rest to any process that goes on with it: fairmill serve, or "bulk
resume". Jobs that are enqueued after it began are not touched.`,
  examples: [
    ["fairmill bulk cancel --tenant acme --kind mail.send --dry-run", "what would be cancelled"],
    ["fairmill bulk redrive --error-code ECONNREFUSED --yes", "runs them again, without a question"],
    ["fairmill bulk get 17", "how far it is"],
  ],
  usual: "list",
  verbs: [
    listed,
    ...actions,
    one("get", "show how far one is"),
    one("stop", "end one before its end; what was done stays"),
    one("resume", "go on with one that was stopped, failed or left"),
  ],
};

async function act(action: BulkActionName, options: Options & GlobalOptions, out: Output): Promise<ExitCode> {
  const asks = !options.dryRun && !options.yes;
  if (asks && (out.json || !process.stdin.isTTY || !process.stderr.isTTY))
    throw new UsageError("There is no terminal to ask in. Look first with --dry-run, then say --yes.");
  const { state, kind, queue, tenant, key, batch, tag, errorCode, errorText, createdSince, createdUntil } = options;
  const filter: BulkFilter = given({
    ...{ state, kind, queue, tenant, key, batch, tag, errorCode, errorText, createdSince, createdUntil },
    ...{ endedSince: options.since, endedUntil: options.until },
  });
  const stored = checkBulkFilter(action, filter);
  return withDatabase(await findTarget(options), async (db) => {
    if (!options.yes || options.dryRun) {
      const preview = await previewBulk(db, action, stored);
      if (options.dryRun || preview.count === 0) {
        out.result(preview, previewText(preview, out));
        return 0;
      }
      out.note(previewText(preview, out));
      if (!(await confirm(`${action} ${countOf(preview)}?`))) {
        out.note("Nothing was changed.");
        return 1;
      }
    }
    const actor = cliActor(options.by);
    const record = {
      action: `bulk.${action}`,
      subject: "jobs by a filter",
      tenant,
      detail: { filter: shownFilter(stored) },
    };
    const start = () =>
      startBulk(db, { action, filter: stored, actor: actor.name, tenant: undefined, reason: options.reason });
    return follow(db, await audited(db, actor, record, start), out);
  });
}

/** Carries it out until its end, or until a signal: then another process may go on with the rest. */
async function follow(db: Database, id: string, out: Output): Promise<ExitCode> {
  const stop = new AbortController();
  const signals = catchSignals(() => stop.abort());
  const isWatched = !out.json && process.stderr.isTTY;
  const onStep = (one: StoredBulk) => void (isWatched && process.stderr.write(`\r\u001b[K${figures(one)}`));
  try {
    const done = await runBulk(db, systemClock, id, { signal: stop.signal, onStep });
    if (isWatched) process.stderr.write("\r\u001b[K");
    const rest = done?.state === "running" ? ` Go on: fairmill bulk resume ${id}` : "";
    out.result(
      shown(done!),
      `Bulk action ${id} is ${done!.state}: ${figures(done!)}.${done!.error ? ` ${oneLine(done!.error)}` : ""}${rest}`,
    );
    return done!.state === "done" ? 0 : 1;
  } finally {
    signals.release();
  }
}

async function steer(
  db: Database,
  word: "get" | "stop" | "resume",
  id: string,
  options: GlobalOptions,
  out: Output,
): Promise<ExitCode> {
  const found = await readBulk(db, id);
  if (found === undefined) {
    out.refusal({ id, state: "not_found" }, `There is no bulk action ${id}. See them: fairmill bulk`);
    return 1;
  }
  const text = (one: StoredBulk) =>
    `Bulk action ${id} (${one.action}, by ${oneLine(one.actor)}) is ${one.state}: ${figures(one)}.`;
  if (word === "get") {
    out.result(shown(found), text(found));
    return 0;
  }
  const record = { action: `bulk.${word}`, subject: `bulk action ${id}` };
  if (word === "resume" && found.state === "running") return follow(db, id, out);
  const wanted = word === "stop" ? "stopped" : "running";
  const state = await audited(db, cliActor(options.by), record, () => endBulk(db, id, wanted));
  if (state !== wanted) {
    out.refusal({ id, state }, `Bulk action ${id} is ${state}: there is nothing to ${word}.`);
    return 1;
  }
  if (word === "resume") return follow(db, id, out);
  out.result(shown((await readBulk(db, id))!), `Bulk action ${id} is stopped; what was done stays.`);
  return 0;
}

async function list(db: Database, out: Output): Promise<ExitCode> {
  const found = await readBulks(db, { limit: 50 });
  const rows = found.map((one) => [
    one.id,
    one.action,
    one.state,
    String(one.changed),
    String(one.skipped),
    oneLine(one.actor),
    one.createdAt.toISOString(),
  ]);
  const headings = ["ID", "ACTION", "STATE", "CHANGED", "SKIPPED", "ACTOR", "BEGAN"];
  const list = rows.length === 0 ? "There is no bulk action." : tableOf(headings, rows, out.columns);
  out.result({ actions: found.map(shown) }, list);
  return 0;
}

const shown = ({ filter, ...one }: StoredBulk) => ({ ...one, filter: shownFilter(filter) });
const figures = ({ changed, skipped, seen }: StoredBulk) => `${changed} changed, ${skipped} skipped, ${seen} looked at`;
const countOf = ({ count, more }: BulkPreview) =>
  more ? `at least ${count} jobs` : count === 1 ? "1 job" : `${count} jobs`;

function previewText(preview: BulkPreview, out: Output): string {
  if (preview.count === 0) return `No job fits${preview.more ? " among those that were looked at" : ""}.`;
  const rows = preview.groups.map(({ state, kind, errorCode, count }) => [
    String(count),
    state,
    kind,
    errorCode ?? "-",
  ]);
  return `${countOf(preview)}:\n${tableOf(["JOBS", "STATE", "KIND", "ERROR CODE"], rows, out.columns)}`;
}
