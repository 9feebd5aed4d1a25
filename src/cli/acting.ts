// Which commands act, and on what: what a person does at the command line is recorded like what is done over HTTP, once the words of the command are
// understood and before anything changes.
import type { Action, Conclude } from "../audit/audit.js";
import { given } from "./arguments.js";
import type { GlobalOptions } from "./command.js";

interface Words {
  readonly args: readonly unknown[];
  readonly options: Readonly<Record<string, unknown>>;
}

const list = (ids: unknown) => [ids].flat().slice(0, 20).join(", ");
const pausing =
  (verb: string) =>
  ({ options: { queue, kind, tenant } }: Words) => {
    const [scope, name] = queue ? ["queue", queue] : kind ? ["kind", kind] : ["tenant", tenant];
    return { action: `${scope}.${verb}`, subject: `${scope} ${name}` };
  };
/** `verb` of one `thing`, which the command's first argument names. */
const on =
  (thing: string, verb: string) =>
  ({ args: [name] }: Words) => ({ action: `${thing}.${verb}`, subject: `${thing} ${list(name)}` });

/** By the words of the command: what it is about to do; undefined: it only looks. A command that is not here only looks, or records by itself. */
export const ACTS: Readonly<Record<string, (words: Words) => Action | undefined>> = {
  enqueue: ({ args: [kind] }) => ({ action: "job.enqueue", subject: `kind ${kind}` }),
  cancel: on("job", "cancel"),
  retry: (words) => on("job", words.options["despitePause"] ? "run-now" : "retry")(words),
  rerun: on("job", "rerun"),
  redrive: ({ options }) => (options["dryRun"] ? undefined : { action: "dead.redrive", subject: "jobs by a filter" }),
  pause: pausing("pause"),
  resume: pausing("resume"),
  "tenants set": on("tenant", "set"),
  "tenants erase": ({ args: [tenant] }) => ({ action: "tenant.erase", subject: `tenant ${tenant}` }),
  "queues set": on("queue", "set"),
  "kinds set": on("kind", "set"),
  "limits use": on("limit", "use"),
  "limits reset": on("limit", "reset"),
  "credits grant": ({ args: [account, amount] }) => ({
    action: "credits.grant",
    subject: `account ${account}`,
    detail: { amount },
  }),
  "credits refund": on("job", "refund"),
  "budgets set": ({ args: [tenant] }) => ({ action: "budget.set", subject: `tenant ${tenant}` }),
  "budgets remove": ({ args: [tenant] }) => ({ action: "budget.remove", subject: `tenant ${tenant}` }),
  "providers close": on("provider", "close"),
  "providers open": on("provider", "open"),
  "providers reset": on("provider", "reset"),
  "retention set": ({ options }) =>
    options["dryRun"] ? undefined : { action: "retention.set", subject: "ended jobs" },
  "retention remove": () => ({ action: "retention.remove", subject: "ended jobs" }),
  "outbox resolve": on("message", "resolve"),
  "schedules change": ({ args: [schedule], options: { dryRun, input } }) =>
    dryRun
      ? undefined
      : {
          action: "schedule.change",
          subject: `schedule ${schedule}`,
          // Inputs stay out of the record: they may hold what must not be shown.
          ...(input !== undefined && { detail: { input: "changed" } }),
        },
  "schedules pause": on("schedule", "pause"),
  "schedules resume": on("schedule", "resume"),
  "schedules run": on("schedule", "run"),
  "schedules remove": on("schedule", "remove"),
  "batches cancel": on("batch", "cancel"),
  "flows cancel": on("flow", "cancel"),
  "flows retry": on("flow", "retry"),
};

/** Settings of every command, which say nothing of what it does. */
const GLOBAL = ["databaseUrl", "schema", "config", "json", "by"];

let pending: { readonly action: Action; readonly by: string | undefined } | undefined;

/** Called before a command runs: what it does first is recorded. */
export function beginCommand(command: string, args: readonly unknown[], options: GlobalOptions): void {
  const words = options as Readonly<Record<string, unknown>>;
  const action = ACTS[command]?.({ args, options: words });
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
