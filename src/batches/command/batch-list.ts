// What the commands about batches and about flows have in common: the list, the facts of one, and the end of one.
import { type Command, Option } from "commander";
import { systemClock } from "../../base/clock.js";
import { batchId, given, name, whole } from "../../cli/arguments.js";
import { colourOfState } from "../../cli/colours.js";
import type { GlobalOptions } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import type { Output } from "../../cli/output.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { relative } from "../../cli/times.js";
import type { Client } from "../../client/client.js";
import { PAGE_ROWS_MAX } from "../../jobs/read-jobs.js";
import { BATCH_STATES, BatchNotFoundError, type BatchState } from "../batch.js";
import { type Batch, LIVE_COUNTED_MAX } from "../batch-statements.js";

export interface ListOptions {
  readonly state?: BatchState;
  readonly tenant?: string;
  readonly limit?: number;
  readonly before?: string;
}

type Role = "batch" | "flow";

const pluralOf = (role: Role) => (role === "batch" ? "batches" : "flows");

/** A node is waiting or skipped, a batch or flow that is listed never is. */
const LISTED = BATCH_STATES.filter((state) => state !== "waiting" && state !== "skipped");

export function declareList(command: Command, role: Role): void {
  const plural = pluralOf(role);
  command
    .addOption(new Option("--state <state>", `of the list: only ${plural} in this state`).choices(LISTED))
    .option("--tenant <name>", `of the list: only ${plural} of this tenant`, name("--tenant"))
    .option("--limit <n>", `of the list: how many, at most ${PAGE_ROWS_MAX}`, whole("--limit", 1, PAGE_ROWS_MAX))
    .option("--before <id>", `of the list: only ${plural} with a lower id`, batchId);
}

export async function list(role: Role, options: ListOptions & GlobalOptions, out: Output): Promise<0> {
  const { state, tenant, before, limit = 50 } = options;
  const filter = given({ state, tenant, before });
  const page = await withClient(await findTarget(options), (client) => client.batches.list({ role, ...filter, limit }));
  const next = page.length === limit ? (page.at(-1)?.id ?? null) : null;
  const more = next === null ? "" : `\nOlder ones: the same command with --before ${next}`;
  const text = page.length === 0 ? nothingIn(role, Object.keys(filter).length > 0) : `${tableFor(page, out)}${more}`;
  out.result({ [pluralOf(role)]: page, next }, text);
  return 0;
}

const nothingIn = (role: Role, filtered: boolean) =>
  filtered
    ? `No ${role} fits these filters. Leave one out, or see all of them: fairmill ${pluralOf(role)}`
    : `There are no ${pluralOf(role)} yet. ${role === "batch" ? "client.batch stores one" : "client.flow starts one"}: see the guide.`;

export const shownLive = (live: number): string =>
  live >= LIVE_COUNTED_MAX ? `${LIVE_COUNTED_MAX} or more` : String(live);

function tableFor(page: readonly Batch[], out: Output): string {
  const nowMs = systemClock.now();
  const rows = page.map((batch) => [
    batch.id,
    batch.state,
    batch.name ?? "",
    batch.tenant,
    String(batch.done),
    String(batch.dead),
    String(batch.cancelled),
    shownLive(batch.live),
    relative(batch.createdAt, nowMs),
    batch.endedAt === null ? "" : relative(batch.endedAt, nowMs),
  ]);
  return tableOf(
    ["ID", "STATE", "NAME", "TENANT", "DONE", "DEAD", "CANCELLED", "LIVE", "CREATED", "ENDED"],
    rows,
    out.columns,
    (heading, cell) => (out.coloured && heading === "STATE" ? colourOfState(cell) : cell),
  );
}

/** The batch or flow with this id; whoever names one of the other kind is told the command for it. */
export async function find(client: Client, role: Role, id: string): Promise<Batch> {
  const found = await client.batches.get(id);
  if (found === undefined) throw new BatchNotFoundError(role, id);
  if (role === "flow" && found.role !== "flow")
    throw new UsageError(`${id} is a ${found.role}, no flow. See it with "fairmill batches show ${id}".`);
  return found;
}

export function factsOf(batch: Batch, coloured: boolean): string {
  const nowMs = systemClock.now();
  const at = (moment: Date | null) => moment && `${moment.toISOString()} (${relative(moment, nowMs)})`;
  const { done, dead, cancelled, live, failed, lost, callbacks } = batch;
  const called = Object.entries(callbacks).flatMap(([event, job]) => (job === null ? [] : [`${event}: job ${job}`]));
  const facts: readonly (readonly [string, string | null])[] = [
    ["state", coloured ? colourOfState(batch.state) : batch.state],
    ["name", batch.name && oneLine(batch.name)],
    ["tenant", oneLine(batch.tenant)],
    ["inside", batch.parent && `batch ${batch.parent}`],
    ["jobs", `${done} done, ${dead} dead, ${cancelled} cancelled, ${shownLive(live)} live`],
    ["added", batch.registered > 0 ? `${batch.registered}, the last ${at(batch.lastRegisteredAt)}` : null],
    ["failed", failed > 0 ? `${failed} inside it` : null],
    ["lost", lost > 0 ? `${lost} who held it open and did not come back` : null],
    ["called", called.length > 0 ? called.join(", ") : null],
    ["created", at(batch.createdAt)],
    ["ended", at(batch.endedAt)],
    ["cancel", batch.cancelRequestedAt && `asked for ${at(batch.cancelRequestedAt)}`],
  ];
  const what = batch.role.charAt(0).toUpperCase() + batch.role.slice(1);
  return [
    `${what} ${batch.id}`,
    ...facts.flatMap(([label, value]) => (value ? [`  ${label.padEnd(9)}${value}`] : [])),
  ].join("\n");
}

export async function cancelOne(role: Role, id: string, options: GlobalOptions, out: Output): Promise<0> {
  await withClient(await findTarget(options), async (client) => {
    const before = await find(client, role, id);
    const state = before.endedAt === null ? await client.batches.cancel(id) : before.state;
    const live = state === "pending" ? (await client.batches.get(id))?.live : 0;
    const words =
      before.endedAt !== null
        ? `had ended before: ${state}.`
        : state === "pending"
          ? `ends with the jobs that still run, ${shownLive(live ?? 0)}: they were told.`
          : `is over: ${state}.`;
    out.result({ id, state, hadEnded: before.endedAt !== null }, `The ${role} ${id} ${words}`);
  });
  return 0;
}

/** Options of the list mean nothing beside a word. */
export function refuseListOptions(options: ListOptions, role: Role): void {
  const [first] = Object.keys(given({ ...pick(options) }));
  if (first !== undefined)
    throw new UsageError(`--${first}: this is for the list, as in "fairmill ${pluralOf(role)} --${first} …".`);
}

const pick = ({ state, tenant, limit, before }: ListOptions) => ({ state, tenant, limit, before });

/** The id that belongs to a word. */
export function idFor(word: string, id: string | undefined, role: Role): string {
  if (id !== undefined) return id;
  throw new UsageError(`Which ${role}? Write "fairmill ${pluralOf(role)} ${word} <id>".`);
}
