// `fairmill rerun`: a new job like one that has ended, with other input.
import type { Duration } from "../../base/duration.js";
import { JobNotFoundError } from "../../base/errors.js";
import { duration, given, jobId, name, whole } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { definitionOf, readPayload } from "../../cli/payload.js";
import { findTarget, withClient } from "../../cli/target.js";

interface Options {
  readonly input?: string;
  readonly priority?: number;
  readonly delay?: Duration;
  readonly key?: string;
  readonly idempotencyKey?: string;
  readonly attempts?: number;
  readonly timeout?: Duration;
  readonly expire?: Duration;
  readonly tag?: readonly string[];
}

export const rerun = defineCommand<Options, [id: string]>({
  name: "rerun",
  summary: "store a new job like one that has ended, with other input",
  description: `The old job stays in the history, and both know of each other: see fairmill job. Kind, tenant and queue are the old one's.
When the config has a definition of the kind, the input must fit its schema. To run a job again as it was, use retry.`,
  examples: [
    ['fairmill rerun 17 --input \'{"to":"bob"}\'', "the same with another input"],
    ["fairmill rerun 17 --input - < fixed.json", "from a file"],
    ["fairmill rerun 17", "once more as it was, as a new job"],
  ],
  declare: (command) =>
    void command
      .argument("<id>", "the job that has ended", jobId)
      .option("--input <json>", 'the new input, or "-" for stdin (default: the old one)')
      .option("--priority <n>", "-1000 to 1000 (default: the old one)", whole("--priority", -1000, 1000))
      .option("--delay <duration>", "not before this long from now, like 10m", duration("--delay"))
      .option("--key <name>", "a finer key inside the tenant", name("--key"))
      .option("--idempotency-key <text>", "a second rerun with the same text returns the first one's job")
      .option("--attempts <n>", "how often it may be tried, 1 to 1000", whole("--attempts", 1, 1000))
      .option("--timeout <duration>", "time limit of a run; 0: none", duration("--timeout"))
      .option("--expire <duration>", "time to live in the queue", duration("--expire"))
      .option(
        "--tag <text>",
        "a word to find it by, in place of the old one's; may be repeated",
        (tag: string, before: readonly string[] = []) => [...before, tag],
      ),
  run: async ({ args: [id], options, out }) => {
    const { priority, delay, key, idempotencyKey, attempts, timeout, expire, tag: tags } = options;
    const input = options.input === undefined ? undefined : await readPayload(options.input);
    const target = await findTarget(options, "handlers");
    const made = await withClient(target, async (client) => {
      const old = await client.job(id);
      if (old === undefined) throw new JobNotFoundError(id);
      const definition = definitionOf(target.config?.settings, old.kind);
      const more = { idempotencyKey, attempts, timeout, expire, tags };
      return client.jobs.rerun(id, given({ input, definition, priority, delay, key, ...more }));
    });
    out.result(
      { ...made, rerunOf: id },
      made.created
        ? `Job ${made.id} is stored and repeats job ${id}. Follow it: fairmill job ${made.id}`
        : `Job ${made.id} was stored before under this idempotency key; nothing was added.`,
    );
    return 0;
  },
});
