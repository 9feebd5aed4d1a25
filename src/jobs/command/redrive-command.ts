// `fairmill redrive`: dead jobs run again, all that fit a filter; first a look at them, then a question, then batch by batch.
import { Option } from "commander";
import { given, jobId, momentOrAgo, name, rate, text, whole } from "../../cli/arguments.js";
import { defineCommand, type GlobalOptions } from "../../cli/command.js";
import { confirm } from "../../cli/confirm.js";
import { type ExitCode, UsageError } from "../../cli/failure.js";
import type { Output } from "../../cli/output.js";
import { catchSignals } from "../../cli/signals.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import type { Client } from "../../client/client.js";
import type { RateLimit } from "../../limits/limit-settings.js";
import type { Redriven, RedrivePreview } from "../redrive.js";
import type { RedriveFilter } from "../redrive-filter.js";

interface Options {
  readonly kind?: string;
  readonly queue?: string;
  readonly tenant?: string;
  readonly errorCode?: string;
  readonly errorText?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly state: "dead" | "cancelled";
  readonly batch: number;
  readonly rate?: Pick<RateLimit, "limit" | "per">;
  readonly after?: string;
  readonly dryRun?: true;
  readonly yes?: true;
}

export const redrive = defineCommand<Options>({
  name: "redrive",
  summary: "run all dead jobs again that fit a filter",
  description: `Shows what fits, asks, and puts it back in batches: each is a transaction of its own. Ctrl-C stops between two batches; what
was put back stays. Without a terminal to ask in, --yes is needed. Exit code 1 when it was stopped before its end.`,
  examples: [
    ["fairmill redrive --dry-run", "what is dead, by kind and error"],
    ["fairmill redrive --kind mail.send --since 2h", "mails that died in the last two hours"],
    ["fairmill redrive --error-code ECONNREFUSED --rate 100/1m --yes", "a hundred a minute, without a question"],
  ],
  declare: (command) =>
    void command
      .option("--kind <kind>", "only jobs of this kind", name("--kind"))
      .option("--queue <name>", "only jobs of this queue", name("--queue"))
      .option("--tenant <name>", "only jobs of this tenant", name("--tenant"))
      .option("--error-code <code>", "only jobs whose error has this code", text("--error-code"))
      .option("--error-text <text>", "only jobs whose error message contains this", text("--error-text"))
      .option("--since <moment>", "ended then or later: a moment, or how long ago, like 2h", momentOrAgo("--since"))
      .option("--until <moment>", "ended then or earlier", momentOrAgo("--until"))
      .addOption(new Option("--state <state>", "which jobs").choices(["dead", "cancelled"]).default("dead"))
      .option("--batch <n>", "jobs of one transaction, at most 5000", whole("--batch", 1, 5_000), 500)
      .option("--rate <rate>", "no more than so many in a time, like 100/1m", rate("--rate"))
      .option("--after <id>", "only jobs with a higher id: go on where a redrive was stopped", jobId)
      .option("--dry-run", "only show what would be put back")
      .option("--yes", "do not ask"),
  run: async ({ options, out }) => {
    const asks = !options.dryRun && !options.yes;
    if (asks && (out.json || !process.stdin.isTTY || !process.stderr.isTTY))
      throw new UsageError("There is no terminal to ask in. Look first with --dry-run, then say --yes.");
    const { kind, queue, tenant, errorCode, errorText, since, until, state, after } = options;
    const filter: RedriveFilter = given({
      ...{ kind, queue, tenant, errorCode, errorText, state },
      ...{ endedSince: since, endedUntil: until },
    });
    return withClient(await findTarget(options), async (client) => {
      // Without a question nobody reads it: then the look is left out.
      const preview = options.yes && !options.dryRun ? undefined : await client.dead.preview(filter, given({ after }));
      if (preview !== undefined && (options.dryRun || preview.count === 0)) {
        out.result(preview, previewOf(preview, options, out));
        return 0;
      }
      if (preview !== undefined) {
        out.note(previewOf(preview, options, out));
        if (!(await confirm(`Put ${countOf(preview)} back into the queue?`))) {
          out.note("Nothing was changed.");
          return 1;
        }
      }
      return putBack(client, filter, options, out);
    });
  },
});

async function putBack(
  client: Client,
  filter: RedriveFilter,
  options: Options & GlobalOptions,
  out: Output,
): Promise<ExitCode> {
  const stop = new AbortController();
  const signals = catchSignals(() => stop.abort());
  const line = progressLine(out);
  let last: Redriven | undefined;
  try {
    const { batch, rate, after } = options;
    const done = await client.dead.redrive(filter, {
      ...given({ batch, rate, after }),
      signal: stop.signal,
      onProgress: (progress) => {
        last = progress;
        line.show(`${jobs(progress.redriven)} put back, ${progress.seen} looked at`);
      },
    });
    line.end();
    const said = `${jobs(done.redriven)} put back into the queue, ${done.seen} looked at.`;
    out.result(done, done.complete ? said : `Stopped: ${said} ${goOn(done)}`);
    return done.complete ? 0 : 1;
  } catch (error) {
    line.end();
    if (last !== undefined) out.note(`${jobs(last.redriven)} were put back before this. ${goOn(last)}`);
    throw error;
  } finally {
    signals.release();
  }
}

const goOn = ({ after }: Redriven) => `Go on: the same command with --after ${after}`;
const jobs = (count: number) => `${count} ${count === 1 ? "job" : "jobs"}`;
const countOf = ({ count, more }: RedrivePreview) => (more ? `${count} jobs and more` : jobs(count));

/** One line that is written over, where somebody watches. */
function progressLine(out: Output): { show(text: string): void; end(): void } {
  if (out.json || !process.stderr.isTTY) return { show: () => {}, end: () => {} };
  let shown = false;
  return {
    show: (line) => {
      shown = true;
      process.stderr.write(`\r\u001b[K${line}`);
    },
    end: () => {
      if (shown) process.stderr.write("\r\u001b[K");
    },
  };
}

function previewOf(preview: RedrivePreview, { state }: Options, out: Output): string {
  if (preview.count === 0)
    return `No ${state} job fits${preview.more ? " among those that were looked at" : ""}. See them: fairmill jobs --state ${state}`;
  const rows = preview.groups.map(({ kind, errorCode, count }) => [String(count), kind, errorCode ?? "-"]);
  const samples = preview.samples.map(
    ({ id, tenant, error }) => `  ${id}  ${oneLine(tenant)}  ${oneLine(error?.message ?? "").slice(0, 100)}`,
  );
  return [
    `${countOf(preview)} ${preview.count === 1 && !preview.more ? "fits" : "fit"}:`,
    tableOf(["JOBS", "KIND", "ERROR CODE"], rows, out.columns),
    "",
    "The oldest:",
    ...samples,
  ].join("\n");
}
