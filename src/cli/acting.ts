// Which commands act, and on what: what a person does at the command line is recorded like what is done over HTTP, once the words of the command are
// understood and before anything changes.
import type { Action, Conclude } from "../audit/audit.js";
import { given } from "./arguments.js";
import type { GlobalOptions } from "./command.js";

interface Words {
  readonly args: readonly unknown[];
  readonly options: Readonly<Record<string, unknown>>;
}

const isWord = (value: unknown, ...words: readonly string[]): value is string => words.includes(value as string);
const list = (ids: unknown) => [ids].flat().slice(0, 20).join(", ");
const limitsOf =
  (scope: string) =>
  ({ args: [word, name] }: Words) =>
    word === "set" ? { action: `${scope}.set`, subject: `${scope} ${name}` } : undefined;
const pausing =
  (verb: string) =>
  ({ options: { queue, kind, tenant } }: Words) => {
    const [scope, name] = queue ? ["queue", queue] : kind ? ["kind", kind] : ["tenant", tenant];
    return { action: `${scope}.${verb}`, subject: `${scope} ${name}` };
  };
const byWord =
  (thing: string, ...words: readonly string[]) =>
  ({ args: [word, id] }: Words) =>
    isWord(word, ...words) ? { action: `${thing}.${word}`, subject: `${thing} ${id}` } : undefined;

/** By command: what it is about to do; undefined: it only looks. */
const ACTS: Readonly<Record<string, (words: Words) => Action | undefined>> = {
  enqueue: ({ args: [kind] }) => ({ action: "job.enqueue", subject: `kind ${kind}` }),
  cancel: ({ args: [ids] }) => ({ action: "job.cancel", subject: `job ${list(ids)}` }),
  retry: ({ args: [ids] }) => ({ action: "job.retry", subject: `job ${list(ids)}` }),
  rerun: ({ args: [id] }) => ({ action: "job.rerun", subject: `job ${id}` }),
  redrive: ({ options }) => (options["dryRun"] ? undefined : { action: "dead.redrive", subject: "jobs by a filter" }),
  pause: pausing("pause"),
  resume: pausing("resume"),
  tenants: limitsOf("tenant"),
  queues: limitsOf("queue"),
  kinds: limitsOf("kind"),
  credits: ({ args: [word, account, amount] }) =>
    word === "grant" && amount !== undefined
      ? { action: "credits.grant", subject: `account ${account}`, detail: { amount } }
      : undefined,
  outbox: byWord("message", "resolve"),
  cron: byWord("schedule", "pause", "resume", "run", "remove"),
  batches: byWord("batch", "cancel"),
  flows: byWord("flow", "cancel", "retry"),
};

/** Settings of every command, which say nothing of what it does. */
const GLOBAL = ["databaseUrl", "schema", "config", "json", "by"];

let pending: { readonly action: Action; readonly by: string | undefined } | undefined;

/** Called before a command runs: what it does first is recorded. */
export function beginCommand(name: string, args: readonly unknown[], options: GlobalOptions): void {
  const words = options as Readonly<Record<string, unknown>>;
  const action = ACTS[name]?.({ args, options: words });
  const said = Object.fromEntries(Object.entries(words).filter(([option]) => !GLOBAL.includes(option)));
  pending = action && { action: { ...action, detail: { ...said, ...action.detail } }, by: options.by };
}

let underWay: { readonly conclude: Conclude; readonly close: () => Promise<void> } | undefined;

/** Called when a command has found its database and is about to do what it was asked. */
export async function recordCommand(target: {
  readonly databaseUrl: string;
  readonly schema: string | undefined;
}): Promise<void> {
  const acts = pending;
  pending = undefined;
  if (acts === undefined) return;
  const [{ recordAction, cliActor }, { Database }, { explaining }] = await Promise.all([
    import("../audit/audit.js"),
    import("../db/database.js"),
    import("../db/explain-failure.js"),
  ]);
  const options = { databaseUrl: target.databaseUrl, ...given({ schema: target.schema }) };
  const db = new Database(options, { connectionsMax: 1, applicationName: "fairmill audit" });
  try {
    const conclude = await explaining(db.schema, () => recordAction(db, cliActor(acts.by), acts.action));
    underWay = { conclude, close: () => db.close() };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Called when a command has ended, with its exit code or with what it threw. */
export async function endCommand(exitCode: number, error?: unknown): Promise<void> {
  const ended = underWay;
  underWay = undefined;
  if (ended === undefined) return;
  await ended.conclude(exitCode === 0 ? "done" : "refused", error);
  await ended.close();
}
