// `fairmill outbox`: what was published and what became of it; `show` one of them, `resolve` one whose fate only people know.
import { Option } from "commander";
import { systemClock } from "../../base/clock.js";
import { given, jobId, name, whole } from "../../cli/arguments.js";
import { type Call, defineCommand } from "../../cli/command.js";
import { type ExitCode, UsageError } from "../../cli/failure.js";
import { redactorOf } from "../../cli/payload.js";
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

interface Options {
  readonly status?: MessageStatus;
  readonly channel?: string;
  readonly tenant?: string;
  readonly limit: number;
  readonly before?: string;
  readonly as?: "sent" | "failed" | "resend";
  readonly by?: string;
  readonly reason?: string;
}

type Args = [word: string | undefined, id: string | undefined];

const RESOLVE = "fairmill outbox resolve <id> --as sent|failed|resend";

export const outbox = defineCommand<Options, Args>({
  name: "outbox",
  summary: "list messages to receivers outside, show one, or say what became of one",
  description: `Lists messages, newest first. With the word show and an id, one message with its attempts and the receiver's answer. With the word
resolve, says what became of a message whose fate is unknown or that failed. Exit code 1 when that could not be done.`,
  examples: [
    ["fairmill outbox --status unknown", "messages that may have arrived: somebody must look"],
    ["fairmill outbox show 17", "its attempts, and what the receiver said"],
    ["fairmill outbox resolve 17 --as resend --reason 'not in their inbox'", "it did not arrive: send it again"],
  ],
  declare: (command) =>
    void command
      .argument("[word]", "show or resolve; left out, messages are listed")
      .argument("[id]", "of show and resolve: which message", jobId)
      .addOption(new Option("--status <status>", "of the list: only with this status").choices(MESSAGE_STATUSES))
      .option("--channel <name>", "of the list: only of this channel", name("--channel"))
      .option("--tenant <name>", "of the list: only of this tenant", name("--tenant"))
      .option("--limit <n>", `of the list: how many, at most ${MESSAGES_MAX}`, whole("--limit", 1, MESSAGES_MAX), 50)
      .option("--before <id>", "of the list: only messages with a lower id", jobId)
      .addOption(new Option("--as <what>", "of resolve: what became of it").choices(["sent", "failed", "resend"]))
      .option("--by <name>", "of resolve: who says so")
      .option("--reason <text>", "of resolve: how they know"),
  run: async (call) => {
    const [word, id] = call.args;
    if (word !== "resolve" && (call.options.as ?? call.options.by ?? call.options.reason) !== undefined)
      throw new UsageError(`--as, --by and --reason are for resolve. Write "${RESOLVE}".`);
    if (word === undefined) return list(call);
    if (word === "show" && id !== undefined) return show(call, id);
    if (word === "resolve" && id !== undefined) return resolve(call, id);
    throw new UsageError(
      id === undefined && (word === "show" || word === "resolve")
        ? `Which message? Write "${word === "show" ? "fairmill outbox show <id>" : RESOLVE}".`
        : `Unknown word ${JSON.stringify(word)}. Write show or resolve, or leave it out for the list.`,
    );
  },
});

async function list({ options, out }: Call<Options, Args>): Promise<ExitCode> {
  const { status, channel, tenant, before, limit } = options;
  const filter = given({ status, channel, tenant, before });
  const page = await withClient(await findTarget(options), (client) => client.outbox({ ...filter, limit }));
  const next = page.length === limit ? page.at(-1)!.id : null;
  out.result({ messages: page, next }, page.length === 0 ? nothing(filter) : shownPage(page, next, out.columns));
  return 0;
}

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

async function show({ options, out }: Call<Options, Args>, id: string): Promise<ExitCode> {
  const target = await findTarget(options, "codec");
  const found = await withClient(target, (client) => client.delivery(id));
  if (found === undefined) throw new MessageNotFoundError(id);
  const message = redactorOf(target.config?.settings).message(found);
  out.result(message, shownMessage(message, out.columns));
  return 0;
}

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
  held: "is not sent again now: another message of its order is under way. Say it again later.",
};

async function resolve({ options, out }: Call<Options, Args>, id: string): Promise<ExitCode> {
  const { as: verdict, by, reason } = options;
  if (verdict === undefined) throw new UsageError(`As what? Write "${RESOLVE}".`);
  const how = given({ by, reason });
  const answer = await withClient(await findTarget(options), (client) => client.resolveDelivery(id, verdict, how));
  const told = [{ id, as: verdict, answer }, `Message ${id} ${ANSWERS[answer]}`] as const;
  if (answer === "resolved" || answer === "known") {
    out.result(...told);
    return 0;
  }
  out.refusal(...told);
  return 1;
}
