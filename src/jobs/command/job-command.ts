// `fairmill job <id>`: all there is to know about one job.
import { Option } from "commander";
import { systemClock } from "../../base/clock.js";
import type { ErrorRecord } from "../../base/error-record.js";
import { JobNotFoundError } from "../../base/errors.js";
import { given, jobId, whole } from "../../cli/arguments.js";
import { colourOfState } from "../../cli/colours.js";
import { defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { redactorOf } from "../../cli/payload.js";
import { findTarget, withClient } from "../../cli/target.js";
import { droppedText, indented, manyLines, oneLine, toJson } from "../../cli/text.js";
import { relative, spanOf } from "../../cli/times.js";
import { isSealed, keyIdOf } from "../../core/job/codec.js";
import { isEnded } from "../../core/job/states.js";
import type { LogLine } from "../../logs/log-page.js";
import { KEPT_LEVELS, type KeptLevel } from "../../logs/log-statements.js";
import type { JobStep } from "../../steps/step-statements.js";
import type { Failure, Job, JobDetail } from "../read-jobs.js";

interface Options {
  readonly full?: true;
  readonly logs?: true;
  readonly level?: KeptLevel;
  readonly after?: string;
  readonly limit?: number;
}

const LINES = 200;

export const job = defineCommand<Options, [id: string]>({
  name: "job",
  summary: "show one job: state, times, attempts with their errors, steps, payload, result",
  examples: [
    ["fairmill job 17", "for people"],
    ["fairmill job 17 --logs", "what its handler logged, oldest first"],
    ["fairmill job 17 --json | jq .failures", "for programs"],
  ],
  declare: (command) =>
    void command
      .argument("<id>", "the job's id, as enqueue printed it", jobId)
      .option("--full", `every text in full, not only its first ${TEXT_CHARS_MAX} characters`)
      .option("--logs", "what its handler has logged, instead of the rest")
      .addOption(new Option("--level <level>", "of --logs: this level and those above it").choices(KEPT_LEVELS))
      .option("--after <id>", "of --logs: only lines behind this one", jobId)
      .option("--limit <n>", `of --logs: how many lines (default: ${LINES})`, whole("--limit", 1, 1_000)),
  run: async ({ args: [id], options, out }) => {
    if (!options.logs && (options.level ?? options.after ?? options.limit) !== undefined)
      throw new UsageError(`--level, --after and --limit are for --logs. Write "fairmill job ${id} --logs".`);
    const target = await findTarget(options, "codec");
    const redactor = redactorOf(target);
    const page = given({ level: options.level, after: options.after, limit: options.limit ?? LINES });
    const [stored, kept, lines] = await withClient(target, (client) =>
      Promise.all([client.job(id), client.jobs.steps(id), options.logs ? client.jobs.logs(id, page) : []]),
    );
    if (stored === undefined) throw new JobNotFoundError(id);
    const found = redactor.job(stored);
    if (options.logs) {
      const logs = lines.map((line) => redactor.line(stored, line));
      const next = logs.length === (options.limit ?? LINES) ? logs.at(-1)!.id : null;
      out.result({ id, logs, next }, logText(id, logs, next));
      return 0;
    }
    const steps = kept.map((step) => redactor.step(stored, step));
    const cut = options.full ? (text: string) => text : firstPart;
    out.result({ ...found, steps }, detailOf(found, steps, { nowMs: systemClock.now(), coloured: out.coloured, cut }));
    return 0;
  },
});

function logText(id: string, lines: readonly LogLine[], next: string | null): string {
  if (lines.length === 0) return `Nothing that the handler of job ${id} logged is kept.`;
  const shown = lines.map(({ at, level, attempt, message, fields }) => {
    const facts = Object.entries(fields).map(([name, value]) => `${oneLine(name)}=${oneLine(toJson(value))}`);
    return `${at.toISOString()} ${level.padEnd(5)} #${attempt} ${[oneLine(message), ...facts].join("  ")}`;
  });
  return [...shown, ...(next === null ? [] : [`More of them: the same command with --after ${next}`])].join("\n");
}

/** A terminal cannot show a megabyte. */
const TEXT_CHARS_MAX = 2_000;

type Cut = (text: string) => string;

function firstPart(text: string): string {
  if (text.length <= TEXT_CHARS_MAX) return text;
  return `${text.slice(0, TEXT_CHARS_MAX)}…\n(${text.length} characters in all; --full prints them)`;
}

function detailOf(
  job: JobDetail,
  steps: readonly JobStep[],
  { nowMs, coloured, cut }: { nowMs: number; coloured: boolean; cut: Cut },
): string {
  const at = (moment: Date | null) => moment && `${moment.toISOString()} (${relative(moment, nowMs)})`;
  const took = job.startedAt && job.endedAt ? `, ran ${spanOf(job.endedAt.getTime() - job.startedAt.getTime())}` : "";
  const deaths = job.crashes > 0 ? `, ${job.crashes} of them ended with the death of the worker` : "";
  const facts: readonly (readonly [string, string | null])[] = [
    ["state", coloured ? colourOfState(job.state) : job.state],
    ["kind", oneLine(job.kind)],
    ["tenant", oneLine(job.tenant)],
    ["queue", `${oneLine(job.queue)}, priority ${job.priority}`],
    ["key", job.key && oneLine(job.key)],
    ["attempts", `${job.attempt} of ${job.maxAttempts}${deaths}`],
    ["worker", job.worker && oneLine(job.worker)],
    ["created", at(job.createdAt)],
    ["due", isEnded(job.state) ? null : at(job.runAt)],
    ["expires", isEnded(job.state) ? null : at(job.expireAt)],
    ["started", at(job.startedAt)],
    ["ended", job.endedAt && `${at(job.endedAt)}${took}`],
    ["batch", job.batch],
    ["repeats", job.rerunOf && `job ${job.rerunOf}`],
    ["repeated", job.reruns.length > 0 ? `by job ${job.reruns.join(", ")}` : null],
    ["schedule", job.tick && `${oneLine(job.tick.schedule)}, tick of ${job.tick.at.toISOString()}`],
    ["credits", job.credits && `${job.credits.amount} of ${oneLine(job.credits.account)}, ${job.credits.state}`],
    ["cancel", job.cancelRequestedAt && `asked for ${at(job.cancelRequestedAt)}`],
  ];
  return [
    `Job ${job.id}`,
    ...facts.flatMap(([label, value]) => (value ? [`  ${label.padEnd(9)}${value}`] : [])),
    ...attemptsOf(job, cut),
    ...stepsOf(steps, nowMs),
    ...section("Payload", job.payload, cut),
    ...section("Progress", job.progress, cut),
    ...section("Result", job.result, cut),
    ...nextStep(job),
  ].join("\n");
}

function attemptsOf(job: Job, cut: Cut): string[] {
  const lines = job.failures.flatMap((failure) => [
    ...(failure.dropped === undefined ? [] : [`  …  ${droppedText(failure.dropped)}`]),
    `  ${headOf(failure)}`,
    ...errorOf(failure.error, cut),
  ]);
  // What ended the job may be no attempt of its own: it expired, or it was cancelled with a reason.
  const isNews = job.error !== null && job.error.message !== job.failures.at(-1)?.error?.message;
  return [
    ...(lines.length > 0 ? ["", "Failed attempts", ...lines] : []),
    ...(isNews ? ["", "Ended because of", ...errorOf(job.error, cut)] : []),
  ];
}

function stepsOf(steps: readonly JobStep[], nowMs: number): string[] {
  if (steps.length === 0) return [];
  const width = Math.min(40, Math.max(...steps.map(({ name }) => oneLine(name).length)));
  return ["", "Steps", ...steps.map((step) => `  ${oneLine(step.name).padEnd(width)}  ${fateOf(step, nowMs)}`)];
}

function fateOf(
  { kind, position, startedAt, finishedAt, wakeAt, signalledAt, attempt }: JobStep,
  nowMs: number,
): string {
  const span = (end: Date) => spanOf(end.getTime() - startedAt.getTime());
  const until = wakeAt ? ` until ${wakeAt.toISOString()} (${relative(wakeAt, nowMs)})` : "";
  if (kind === "run") return `done in ${span(finishedAt!)}, attempt ${attempt}`;
  if (kind === "sleep") return finishedAt ? `slept ${span(finishedAt)}` : `sleeps${until}`;
  if (position === null) return `signal came ${relative(startedAt, nowMs)}, no run has waited for it yet`;
  if (signalledAt) return `signal came ${relative(signalledAt, nowMs)}`;
  return finishedAt ? `no signal came in ${span(finishedAt)}` : `waits for a signal${until}`;
}

const headOf = ({ attempt, outcome, startedAt, endedAt, worker }: Failure) =>
  `${attempt}  ${oneLine(outcome)} at ${endedAt.toISOString()} after ${spanOf(endedAt.getTime() - startedAt.getTime())}, worker ${oneLine(worker)}`;

const errorOf = (error: ErrorRecord | null, cut: Cut): string[] => {
  if (error === null) return [];
  const cause = error.cause ? `\ncaused by ${error.cause.name}: ${error.cause.message}` : "";
  return [indented(manyLines(cut(`${error.name}: ${error.message}${cause}`)), "     ")];
};

const section = (title: string, value: unknown, cut: Cut): string[] =>
  value === null || value === undefined
    ? []
    : ["", title, indented(isSealed(value) ? sealedBy(value) : cut(toJson(value, 2)))];

/** Ciphertext is of no use to the reader; the name of the missing key is. */
const sealedBy = (value: unknown) => `(sealed, key ${keyIdOf(value) ?? "unknown"})`;

function nextStep(job: Job): string[] {
  if (job.state === "dead" || job.state === "cancelled")
    return ["", `Run it again: fairmill retry ${job.id}`, `With other input: fairmill rerun ${job.id} --input '{…}'`];
  return isEnded(job.state) ? [] : ["", `Cancel it: fairmill cancel ${job.id}`];
}
