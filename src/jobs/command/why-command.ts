// `fairmill why`: every check on the way of a job, a node or a message, passed or not, and the first that is not.
import { styleText } from "node:util";
import { type FairmillError, JobNotFoundError } from "../../base/errors.js";
import { BatchNotFoundError } from "../../batches/batch.js";
import { jobId } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine, shellWord } from "../../cli/text.js";
import { isEnded } from "../../core/job/states.js";
import { MessageNotFoundError } from "../../outbox/delivery-errors.js";
import type { Why, WhyCheck } from "../why-statements.js";

type Subject = "job" | "node" | "message";
const NOUNS = { job: "Job", node: "Node", message: "Message" } as const;

interface Options {
  readonly node?: boolean;
  readonly message?: boolean;
}

export const why = defineCommand<Options, [id: string]>({
  name: "why",
  summary: "say why a job does not run",
  description:
    "Lists every check on the way of a job, a node of a flow or a message, passed or not. Exit code 1 when there is no such thing.",
  examples: [
    ["fairmill why 17", "what holds job 17"],
    ["fairmill why 4 --node", "which nodes node 4 of a flow waits for"],
    ["fairmill why 12 --message", "why message 12 of the outbox is not sent"],
    ["fairmill why 17 --json | jq -r .reason", "the one sentence"],
  ],
  declare: (command) =>
    void command
      .argument("<id>", "the job's id, as enqueue printed it", jobId)
      .option("--node", "the id is that of a node of a flow")
      .option("--message", "the id is that of a message of the outbox"),
  run: async ({ args: [id], options, out }) => {
    const { node, message } = options;
    if (node && message) throw new UsageError("Give --node or --message, not both.");
    const told = await withClient(
      await findTarget(options),
      (client): Promise<Why<string> | undefined> =>
        node ? client.why({ node: id }) : message ? client.why({ message: id }) : client.why(id),
    );
    const what = node ? "node" : message ? "message" : "job";
    if (told === undefined) throw missing(what, id);
    out.result(told, pageOf(told, what, out.coloured));
    return 0;
  },
});

function missing(what: Subject, id: string): FairmillError {
  if (what === "message") return new MessageNotFoundError(id);
  return what === "node" ? new BatchNotFoundError("node", id) : new JobNotFoundError(id);
}

function pageOf(told: Why<string>, what: Subject, coloured: boolean): string {
  const holding = told.checks.find(({ passed }) => !passed);
  const reason = oneLine(told.reason);
  const lines = told.checks.map((check) => lineOf(check, check === holding, coloured));
  const hint = what === "job" && holding && hintOf(holding, told.id);
  return [
    `${NOUNS[what]} ${told.id} is ${told.state}. ${coloured ? styleText("bold", reason) : reason}`,
    "",
    ...lines,
    ...(hint ? ["", hint] : []),
  ].join("\n");
}

function lineOf({ check, passed, reason }: WhyCheck, isFirst: boolean, coloured: boolean): string {
  const line = `  ${passed ? "✓" : "✗"} ${check.padEnd(10)}  ${oneLine(reason)}`;
  if (!coloured) return line;
  if (passed) return styleText("gray", line);
  return styleText(isFirst ? ["red", "bold"] : "red", line);
}

/** What to do about it, where one command does it. */
function hintOf({ check, detail }: WhyCheck, id: string): string | undefined {
  if (check === "paused")
    return `Go on: fairmill resume --${String(detail!["scope"])} ${shellWord(String(detail!["name"]))}`;
  if (check === "worker") return "Start a worker that has a handler for it: fairmill work";
  if (check === "scheduled" && !detail!["rateLimited"]) return `Run it now: fairmill retry ${id}`;
  if (check === "state" && isEnded(detail!["state"] as Why["state"])) return `Run it again: fairmill retry ${id}`;
  return undefined;
}
