// `fairmill enqueue`: stores one job.
import type { Duration } from "../../base/duration.js";
import { duration, given, moment, name, whole } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { definitionOf, readPayload, unknownKind } from "../../cli/payload.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { defineJob, type JobDefinition } from "../../core/job/job-definition.js";

interface Options {
  readonly tenant?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly delay?: Duration;
  readonly runAt?: Date;
  readonly idempotencyKey?: string;
  readonly key?: string;
  readonly attempts?: number;
  readonly timeout?: Duration;
  readonly expire?: Duration;
  readonly tag?: readonly string[];
}

export const enqueue = defineCommand<Options, [kind: string, payload: string | undefined]>({
  name: "enqueue",
  summary: "store a job",
  description: `The payload is JSON; "-" reads it from stdin; without one it is {}. When the config has a definition of this kind, the
payload must fit its schema, and its queue, priority and limits apply.`,
  examples: [
    ['fairmill enqueue mail.send \'{"to":"ann"}\'', "now"],
    ["fairmill enqueue report.make --tenant acme --delay 10m", "in ten minutes, in acme's lane"],
    ["fairmill enqueue mail.send --idempotency-key order-17 - < mail.json", "at most once, from a file"],
  ],
  declare: (command) =>
    void command
      .argument("<kind>", "kind of job", name("kind"))
      .argument("[payload]", 'the job\'s input as JSON, or "-" for stdin')
      .option("--tenant <name>", 'whose lane the job waits in (default: "default")', name("--tenant"))
      .option("--queue <name>", "queue (default: the definition's)", name("--queue"))
      .option("--priority <n>", "-1000 to 1000, higher goes first", whole("--priority", -1000, 1000))
      .option("--delay <duration>", "not before this long from now, like 10m", duration("--delay"))
      .option("--run-at <moment>", "not before this moment, like 2030-01-31T09:00:00Z", moment("--run-at"))
      .option("--idempotency-key <text>", "a second enqueue with the same text returns the first job")
      .option("--key <name>", "a finer key inside the tenant", name("--key"))
      .option("--attempts <n>", "how often it may be tried, 1 to 1000", whole("--attempts", 1, 1000))
      .option("--timeout <duration>", "time limit of a run; 0: none", duration("--timeout"))
      .option("--expire <duration>", "time to live in the queue", duration("--expire"))
      .option(
        "--tag <text>",
        "a word to find it by; may be repeated",
        (tag: string, before: readonly string[] = []) => [...before, tag],
      ),
  run: async ({ args: [kind, payload], options, out }) => {
    const { tenant, priority, delay, runAt, idempotencyKey, key, attempts, timeout, expire, tag: tags } = options;
    if (delay !== undefined && runAt !== undefined) throw new UsageError("Give --delay or --run-at, not both.");
    const input = await readPayload(payload ?? "{}");
    const target = await findTarget(options, "handlers");
    const known = definitionOf(target.config?.settings, kind);
    if (known === undefined && target.config !== undefined)
      out.note(`Note: ${unknownKind(target.config.settings, kind)}`);
    const base: JobDefinition = known ?? defineJob({ kind });
    const definition = options.queue === undefined ? base : { ...base, queue: options.queue };
    const { id, created, replaced } = await withClient(target, (client) =>
      client.enqueue(
        definition,
        input,
        given({ tenant, priority, delay, runAt, idempotencyKey, key, attempts, timeout, expire, tags }),
      ),
    );
    const words = `${oneLine(kind)}, tenant ${oneLine(tenant ?? "default")}, queue ${oneLine(definition.queue)}`;
    const repeated = replaced
      ? `Job ${id} was waiting under the same unique key and has the new payload now; nothing was added.`
      : `Job ${id} was stored before under ${idempotencyKey === undefined ? "the same unique" : "this idempotency"} key; nothing was added.`;
    out.result(
      { id, created, ...(replaced && { replaced }) },
      created ? `Job ${id} is stored (${words}). Follow it: fairmill job ${id}` : repeated,
    );
    return 0;
  },
});
