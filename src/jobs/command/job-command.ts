// `fairmill job <id>`: all there is to know about one job.
import { systemClock } from "../../base/clock.js";
import type { ErrorRecord } from "../../base/error-record.js";
import { JobNotFoundError } from "../../base/errors.js";
import { jobId } from "../../cli/arguments.js";
import { colourOfState } from "../../cli/colours.js";
import { defineCommand } from "../../cli/command.js";
import { findTarget, withClient } from "../../cli/target.js";
import { droppedText, indented, manyLines, oneLine, toJson } from "../../cli/text.js";
import { relative, spanOf } from "../../cli/times.js";
import { isSealed, keyIdOf } from "../../core/job/codec.js";
import { isEnded } from "../../core/job/states.js";
import type { JobStep } from "../../steps/step-statements.js";
import type { Failure, Job, JobDetail } from "../read-jobs.js";

export const job = defineCommand<{ readonly full?: true }, [id: string]>({
  name: "job",
  summary: "show one job: state, times, attempts with their errors, steps, payload, result",
  examples: [
    ["fairmill job 17", "for people"],
    ["fairmill job 17 --json | jq .failures", "for programs"],
  ],
  declare: (command) =>
    void command
      .argument("<id>", "the job's id, as enqueue printed it", jobId)
      .option("--full", `every text in full, not only its first ${TEXT_CHARS_MAX} characters`),
  run: async ({ args: [id], options, out }) => {
    const [found, steps] = await withClient(await findTarget(options, "codec"), (client) =>
      Promise.all([client.job(id), client.jobs.steps(id)]),
    );
    if (found === undefined) throw new JobNotFoundError(id);
    const cut = options.full ? (text: string) => text : firstPart;
    out.result({ ...found, steps }, detailOf(found, steps, { nowMs: systemClock.now(), coloured: out.coloured, cut }));
    return 0;
  },
});

/** A terminal is no place for a megabyte. */
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
  const took =
    job.startedAt && job.completedAt ? `, ran ${spanOf(job.completedAt.getTime() - job.startedAt.getTime())}` : "";
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
    ["ended", job.completedAt && `${at(job.completedAt)}${took}`],
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
  // What ended the job may be no attempt of its own: it expired, or somebody cancelled it with a reason.
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
  if (position === null) return `signal came ${relative(startedAt, nowMs)}, nobody has waited for it yet`;
  if (signalledAt) return `signal came ${relative(signalledAt, nowMs)}`;
  return finishedAt ? `no signal came in ${span(finishedAt)}` : `waits for a signal${until}`;
}

const headOf = ({ attempt, outcome, startedAt, completedAt, worker }: Failure) =>
  `${attempt}  ${oneLine(outcome)} at ${completedAt.toISOString()} after ${spanOf(completedAt.getTime() - startedAt.getTime())}, worker ${oneLine(worker)}`;

const errorOf = (error: ErrorRecord | null, cut: Cut): string[] => {
  if (error === null) return [];
  const cause = error.cause ? `\ncaused by ${error.cause.name}: ${error.cause.message}` : "";
  return [indented(manyLines(cut(`${error.name}: ${error.message}${cause}`)), "     ")];
};

const section = (title: string, value: unknown, cut: Cut): string[] =>
  value === null || value === undefined
    ? []
    : ["", title, indented(isSealed(value) ? sealedBy(value) : cut(toJson(value, 2)))];

/** Ciphertext tells nobody anything; which key is missing does. */
const sealedBy = (value: unknown) => `(sealed, key ${keyIdOf(value) ?? "unknown"})`;

function nextStep(job: Job): string[] {
  if (job.state === "dead" || job.state === "cancelled")
    return ["", `Run it again: fairmill retry ${job.id}`, `With other input: fairmill rerun ${job.id} --input '{…}'`];
  return isEnded(job.state) ? [] : ["", `Cancel it: fairmill cancel ${job.id}`];
}
