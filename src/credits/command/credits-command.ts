// `fairmill credits`: what an account has, its movements, and more for it.

import { systemClock } from "../../base/clock.js";
import { given, jobId, name, whole } from "../../cli/arguments.js";
import { type CommandGroup, defineCommand } from "../../cli/command.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine, shellWord } from "../../cli/text.js";
import { relative } from "../../cli/times.js";
import { AMOUNT_MAX } from "../../core/job/job-credits.js";
import { type Balance, type CreditEntry, ENTRIES_MAX } from "../credit-statements.js";

const balance = defineCommand<object, [account: string]>({
  name: "balance",
  summary: "show what an account has free, and what jobs have reserved of it",
  examples: [
    ["fairmill credits balance user-17", "free and reserved"],
    ["fairmill credits balance user-17 --json | jq .available", "for programs"],
  ],
  declare: (command) => void command.argument("<account>", "whose credits", name("account")),
  run: async ({ args: [account], options, out }) => {
    const found = await withClient(await findTarget(options), (client) => client.credits.balance(account));
    out.result({ account, ...found }, shownBalance(account, found));
    return 0;
  },
});

const statement = defineCommand<{ readonly limit: number; readonly before?: string }, [account: string]>({
  name: "statement",
  summary: "show what an account has and its movements, newest first",
  examples: [
    ["fairmill credits statement user-17", "balance and last movements"],
    ["fairmill credits statement user-17 --before 4711", "older ones"],
  ],
  declare: (command) =>
    void command
      .argument("<account>", "whose credits", name("account"))
      .option("--limit <n>", `how many movements, at most ${ENTRIES_MAX}`, whole("--limit", 1, ENTRIES_MAX), 20)
      .option("--before <id>", "only movements before this one", jobId),
  run: async ({ args: [account], options, out }) => {
    const { limit, before } = options;
    const page = { limit, ...given({ before }) };
    const [found, entries] = await withClient(
      await findTarget(options),
      async ({ credits }) => [await credits.balance(account), await credits.statement(account, page)] as const,
    );
    const next = entries.length === limit ? entries.at(-1)!.id : null;
    out.result({ account, ...found, entries, next }, shownAccount(account, found, entries, next, out.columns));
    return 0;
  },
});

interface GrantOptions {
  readonly idempotencyKey?: string;
  readonly reason?: string;
}

const grant = defineCommand<GrantOptions, [account: string, amount: number]>({
  name: "grant",
  summary: "give an account credits",
  description: "An account that does not exist is made. The same --idempotency-key grants once.",
  examples: [
    [
      "fairmill credits grant user-17 100 --idempotency-key order-4711",
      "100 credits, once, however often it is called",
    ],
  ],
  declare: (command) =>
    void command
      .argument("<account>", "the account to grant to", name("account"))
      .argument("<amount>", "how many, a whole number", whole("amount", 1, AMOUNT_MAX))
      .option("--idempotency-key <text>", "the same text grants once")
      .option("--reason <text>", "why, for the statement"),
  run: async ({ args: [account, amount], options, out }) => {
    const how = given({ idempotencyKey: options.idempotencyKey, reason: options.reason });
    const granted = await withClient(await findTarget(options), (client) => client.credits.grant(account, amount, how));
    const shown = `The account "${oneLine(account)}" has ${granted.available} free.`;
    const said = granted.granted ? `Granted. ${shown}` : `This key granted before; nothing was added. ${shown}`;
    out.result({ account, ...granted }, said);
    return 0;
  },
});

interface RefundOptions {
  readonly amount?: number;
  readonly reason?: string;
}

const refund = defineCommand<RefundOptions, [id: string]>({
  name: "refund",
  summary: "give back what a job that is done has captured",
  description: "Once for each job: a repeated call changes nothing.",
  examples: [["fairmill credits refund 4711 --reason 'the sticker did not arrive'", "all that it captured"]],
  declare: (command) =>
    void command
      .argument("<id>", "the job", jobId)
      .option("--amount <n>", "less than all that was captured", whole("--amount", 1, AMOUNT_MAX))
      .option("--reason <text>", "why, for the statement"),
  run: async ({ args: [id], options, out }) => {
    const how = given({ amount: options.amount, reason: options.reason });
    const done = await withClient(await findTarget(options), (client) => client.credits.refund(id, how));
    const said = `${done.refunded} to the account "${oneLine(done.account)}"`;
    out.result({ job: id, ...done }, done.isNew ? `Refunded ${said}.` : `Refunded before: ${said}. Nothing changed.`);
    return 0;
  },
});

export const credits: CommandGroup = {
  name: "credits",
  summary: "show what an account has and its movements, or grant it credits",
  examples: [
    ["fairmill credits balance user-17", "free and reserved"],
    ["fairmill credits statement user-17", "the last movements, too"],
    ["fairmill credits grant user-17 100 --idempotency-key order-4711", "100 credits, once"],
  ],
  verbs: [balance, statement, grant, refund],
};

const isEmpty = ({ available, reserved }: Balance) => available + reserved === 0;
const advice = (account: string) => `Give it some: fairmill credits grant ${shellWord(account)} 100`;

const shownBalance = (account: string, found: Balance) =>
  `Account ${oneLine(account)}: ${found.available} free, ${found.reserved} reserved by jobs${isEmpty(found) ? `. ${advice(account)}` : ""}`;

function shownAccount(
  account: string,
  found: Balance,
  entries: readonly CreditEntry[],
  next: string | null,
  columnsMax: number,
): string {
  if (entries.length === 0 && isEmpty(found))
    return `The account "${oneLine(account)}" has no credits and no movements. ${advice(account)}`;
  const nowMs = systemClock.now();
  const rows = entries.map((entry) => [
    entry.id,
    relative(entry.createdAt, nowMs),
    entry.kind,
    `${SIGNS[entry.kind]}${entry.amount}`,
    entry.jobId ?? "",
    entry.reason ?? "",
  ]);
  const more = next === null ? "" : `\nOlder ones: the same command with --before ${next}`;
  const table = tableOf(["ID", "WHEN", "MOVEMENT", "FREE", "JOB", "REASON"], rows, columnsMax);
  return `${shownBalance(account, found)}\n\n${table}${more}`;
}

/** What a movement does to what is free. A capture takes what was not free any more. */
const SIGNS: Record<CreditEntry["kind"], string> = {
  grant: "+",
  reservation: "-",
  capture: "±0 of ",
  release: "+",
  refund: "+",
};
