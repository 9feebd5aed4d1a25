// `fairmill credits`: what an account has and its last movements, and `grant`: gives it more.

import { systemClock } from "../../base/clock.js";
import { given, jobId, name, whole } from "../../cli/arguments.js";
import { defineCommand, type GlobalOptions } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine, shellWord } from "../../cli/text.js";
import { relative } from "../../cli/times.js";
import type { Client } from "../../client/client.js";
import { AMOUNT_MAX } from "../../core/job/job-credits.js";
import { type Balance, type CreditEntry, ENTRIES_MAX } from "../credit-statements.js";

interface Options {
  readonly limit?: number;
  readonly before?: string;
  readonly key?: string;
  readonly reason?: string;
}

const USAGE = "fairmill credits grant <account> <amount>";

export const credits = defineCommand<Options, [word: string, account: string | undefined, amount: string | undefined]>({
  name: "credits",
  summary: "show what an account has and its movements, or grant it credits",
  description: `Shows what is free, what jobs have reserved, and the movements, newest first. With the word grant in front, gives an account credits;
the same --key gives them once.`,
  examples: [
    ["fairmill credits user-17", "balance and last movements"],
    ["fairmill credits grant user-17 100 --key order-4711", "100 credits, once, however often it is called"],
    ["fairmill credits user-17 --json | jq .available", "for programs"],
  ],
  declare: (command) =>
    void command
      .argument("<account>", "whose credits; or the word grant, then the account and how many")
      .argument("[to]", "of grant: to whom", name("account"))
      .argument("[amount]", "of grant: how many, a whole number")
      .option("--limit <n>", `of the movements: how many, at most ${ENTRIES_MAX}`, whole("--limit", 1, ENTRIES_MAX))
      .option("--before <id>", "of the movements: only those before this one", jobId)
      .option("--key <text>", "of grant: the same key grants once")
      .option("--reason <text>", "of grant: why, for the statement"),
  run: async ({ args: [word, to, amount], options, out }) => {
    if (to !== undefined || word === "grant") {
      const granted = await grant(word, to, amount, options);
      const shown = `The account "${oneLine(granted.account)}" has ${granted.available} free.`;
      out.result(
        granted,
        granted.granted ? `Granted. ${shown}` : `This key granted before; nothing was added. ${shown}`,
      );
      return 0;
    }
    if (options.key !== undefined || options.reason !== undefined)
      throw new UsageError(`--key and --reason are for grants. Write "${USAGE}".`);
    const account = name("account")(word);
    const limit = options.limit ?? 20;
    const page = { limit, ...given({ before: options.before }) };
    const read = async (client: Client) =>
      [await client.balance(account), await client.statement(account, page)] as const;
    const [balance, entries] = await withClient(await findTarget(options), read);
    const next = entries.length === limit ? entries.at(-1)!.id : null;
    out.result({ account, ...balance, entries, next }, shownAccount(account, balance, entries, next, out.columns));
    return 0;
  },
});

async function grant(
  word: string,
  account: string | undefined,
  amount: string | undefined,
  options: Options & GlobalOptions,
) {
  if (word !== "grant") throw new UsageError(`Unknown word ${JSON.stringify(word)}. Write "${USAGE}".`);
  if (account === undefined || amount === undefined) throw new UsageError(`To whom, and how many? Write "${USAGE}".`);
  if (options.limit !== undefined || options.before !== undefined)
    throw new UsageError('--limit and --before are for movements. Write "fairmill credits <account>".');
  const units = whole("amount", 1, AMOUNT_MAX)(amount);
  const how = given({ idempotencyKey: options.key, reason: options.reason });
  const granted = await withClient(await findTarget(options), (client) => client.grant(account, units, how));
  return { account, ...granted };
}

function shownAccount(
  account: string,
  { available, reserved }: Balance,
  entries: readonly CreditEntry[],
  next: string | null,
  columnsMax: number,
): string {
  if (entries.length === 0 && available + reserved === 0)
    return `The account "${oneLine(account)}" has no credits and no movements. Give it some: fairmill credits grant ${shellWord(account)} 100`;
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
  return `Account ${oneLine(account)}: ${available} free, ${reserved} reserved by jobs\n\n${table}${more}`;
}

/** What a movement does to what is free. A capture takes what was not free any more. */
const SIGNS: Record<CreditEntry["kind"], string> = { grant: "+", reservation: "-", capture: "±0 of ", release: "+" };
