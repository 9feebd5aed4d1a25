// `fairmill outbox`: what was published and what became of it.
import { Option } from "commander";
import { systemClock } from "../../base/clock.js";
import { given, jobId, name, whole } from "../../cli/arguments.js";
import { type CommandGroup, defineCommand } from "../../cli/command.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { droppedText, oneLine } from "../../cli/text.js";
import { relative } from "../../cli/times.js";
import { MessageNotFoundError } from "../delivery-errors.js";
import {
  MESSAGE_STATUSES,
  MESSAGES_MAX,
  type Message,
  type MessageDetail,
  type MessageStatus,
  type ResolveAnswer,
} from "../outbox-statements.js";

const RESOLVE = "fairmill outbox resolve <id> --as sent|failed|resend";

interface ListOptions {
  readonly status?: MessageStatus;
  readonly channel?: string;
  readonly tenant?: string;
  readonly limit: number;
  readonly before?: string;
}

const list = defineCommand<ListOptions>({
  name: "list",
  summary: "list messages, newest first",
  examples: [["fairmill outbox --status unknown", "messages that may have arrived: a person must look"]],
  declare: (command) =>
    void command
      .addOption(new Option("--status <status>", "only with this status").choices(MESSAGE_STATUSES))
      .option("--channel <name>", "only of this channel", name("--channel"))
      .option("--tenant <name>", "only of this tenant", name("--tenant"))
      .option("--limit <n>", `how many, at most ${MESSAGES_MAX}`, whole("--limit", 1, MESSAGES_MAX), 50)
      .option("--before <id>", "only messages with a lower id", jobId),
  run: async ({ options, out }) => {
    const { status, channel, tenant, before, limit } = options;
    const filter = given({ status, channel, tenant, before });
    const page = await withClient(await findTarget(options), (client) => client.outbox.list({ ...filter, limit }));
    const next = page.length === limit ? page.at(-1)!.id : null;
    out.result({ messages: page, next }, page.length === 0 ? nothing(filter) : shownPage(page, next, out.columns));
    return 0;
  },
});

const nothing = (filter: object) =>
  Object.keys(filter).length > 0
    ? "No message fits these filters. Leave one out, or see all of them: fairmill outbox"
    : "The outbox is empty: nothing was published, or it was long ago.";

function shownPage(page: readonly Message[], next: string | null, columnsMax: number): string {
  const nowMs = systemClock.now();
  const rows = page.map((message) => [
    message.id,
    message.status,
    message.channel,
    message.tenant,
    message.idempotencyKey,
    String(message.attempts),
    message.jobId ?? "waits for its turn",
    relative(message.createdAt, nowMs),
  ]);
  const more = next === null ? "" : `\nOlder ones: the same command with --before ${next}`;
  return `${tableOf(["ID", "STATUS", "CHANNEL", "TENANT", "KEY", "TRIES", "JOB", "PUBLISHED"], rows, columnsMax)}${more}`;
}

const get = defineCommand<object, [id: string]>({
  name: "get",
  summary: "show one message with its attempts and the receiver's answer",
  examples: [["fairmill outbox get 17", "its attempts, and what the receiver said"]],
  declare: (command) => void command.argument("<id>", "which message", jobId),
  run: async ({ args: [id], options, out }) => {
    const message = await withClient(await findTarget(options, "codec"), (client) => client.outbox.get(id));
    if (message === undefined) throw new MessageNotFoundError(id);
    out.result(message, shownMessage(message, out.columns));
    return 0;
  },
});

function shownMessage(message: MessageDetail, columnsMax: number): string {
  const nowMs = systemClock.now();
  const facts = [
    `Message ${message.id}: ${message.status}`,
    `  channel  ${oneLine(message.channel)}, tenant ${oneLine(message.tenant)}`,
    `  key      ${oneLine(message.idempotencyKey)}`,
    ...(message.orderKey === null ? [] : [`  order    ${oneLine(message.orderKey)}`]),
    `  job      ${message.jobId ?? "none yet: it waits for its turn"}`,
    `  payload  ${oneLine(JSON.stringify(message.payload))}`,
    ...(message.answer === null ? [] : [`  answer   ${oneLine(JSON.stringify(message.answer))}`]),
  ];
  const rows = message.attempts.flatMap((attempt) => [
    ...(attempt.dropped === undefined ? [] : [["…", droppedText(attempt.dropped), "", ""]]),
    [
      relative(new Date(attempt.at), nowMs),
      attempt.outcome === "resolved" ? `resolved as ${attempt.as}` : (attempt.outcome ?? "began, and nothing after"),
      attempt.by ?? attempt.worker ?? "",
      attempt.reason ?? attempt.error?.message ?? "",
    ],
  ]);
  const table = rows.length === 0 ? "" : `\n\n${tableOf(["WHEN", "ATTEMPT", "BY", "WHY"], rows, columnsMax)}`;
  const advice =
    message.status === "unknown"
      ? `\n\nIt may have arrived. When you know: ${RESOLVE.replace("<id>", message.id)}`
      : "";
  return `${facts.join("\n")}${table}${advice}`;
}

const ANSWERS: Record<Exclude<ResolveAnswer, "not_found">, string> = {
  resolved: "is resolved.",
  known: "was resolved like that before.",
  open: "has nothing to resolve: its delivery is under way, or it was sent.",
  order_busy: "is not sent again now: another message of its order is under way. Say it again later.",
};

interface ResolveOptions {
  readonly as: "sent" | "failed" | "resend";
  readonly by?: string;
  readonly reason?: string;
}

const resolve = defineCommand<ResolveOptions, [id: string]>({
  name: "resolve",
  summary: "say what became of a message whose fate is unknown, or that failed",
  description: "Exit code 1 when there was nothing to resolve, or another message of its order is under way.",
  examples: [
    ["fairmill outbox resolve 17 --as resend --reason 'not in their inbox'", "it did not arrive: send it again"],
    ["fairmill outbox resolve 17 --as sent", "it arrived"],
  ],
  declare: (command) =>
    void command
      .argument("<id>", "which message", jobId)
      .addOption(
        new Option("--as <what>", "what became of it").choices(["sent", "failed", "resend"]).makeOptionMandatory(),
      )
      .option("--by <name>", "who says so (default: the database's user)")
      .option("--reason <text>", "how they know"),
  run: async ({ args: [id], options, out }) => {
    const { as: verdict, by, reason } = options;
    const how = given({ by, reason });
    const answer = await withClient(await findTarget(options), (client) => client.outbox.resolve(id, verdict, how));
    const told = [{ id, as: verdict, answer }, `Message ${id} ${ANSWERS[answer]}`] as const;
    if (answer === "resolved" || answer === "known") {
      out.result(...told);
      return 0;
    }
    out.refusal(...told);
    return 1;
  },
});

export const outbox: CommandGroup = {
  name: "outbox",
  summary: "messages to receivers outside: list them, show one, or say what became of one",
  examples: [
    ["fairmill outbox --status unknown", "messages that may have arrived: a person must look"],
    ["fairmill outbox get 17", "its attempts, and what the receiver said"],
    ["fairmill outbox resolve 17 --as resend", "it did not arrive: send it again"],
  ],
  usual: "list",
  verbs: [list, get, resolve],
};
