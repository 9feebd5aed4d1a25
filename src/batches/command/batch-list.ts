// What the commands about batches and about flows have in common: the list, the facts of one, and the end of one.
import { Option } from "commander";
import { systemClock } from "../../base/clock.js";
import { batchId, given, name, whole } from "../../cli/arguments.js";
import { colourOfState } from "../../cli/colours.js";
import { type CliCommand, defineCommand } from "../../cli/command.js";
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

interface ListOptions {
  readonly state?: BatchState;
  readonly tenant?: string;
  readonly limit: number;
  readonly before?: string;
}

type Role = "batch" | "flow";

const pluralOf = (role: Role) => (role === "batch" ? "batches" : "flows");

/** A node is waiting or skipped, a batch or flow that is listed never is. */
const LISTED = BATCH_STATES.filter((state) => state !== "waiting" && state !== "skipped");

export function listCommand(role: Role): CliCommand {
  const plural = pluralOf(role);
  return defineCommand<ListOptions>({
    name: "list",
    summary: `list ${plural}, newest first, with what became of their jobs`,
    examples: [
      [`fairmill ${plural}`, "the newest"],
      [`fairmill ${plural} --state failed --tenant acme`, "what went wrong for one tenant"],
    ],
    declare: (command) =>
      void command
        .addOption(new Option("--state <state>", `only ${plural} in this state`).choices(LISTED))
        .option("--tenant <name>", `only ${plural} of this tenant`, name("--tenant"))
        .option("--limit <n>", `how many, at most ${PAGE_ROWS_MAX}`, whole("--limit", 1, PAGE_ROWS_MAX), 50)
        .option("--before <id>", `only ${plural} with a lower id`, batchId),
    run: async ({ options, out }) => {
      const { state, tenant, before, limit } = options;
      const filter = given({ state, tenant, before });
      const page = await withClient(await findTarget(options), (client) =>
        client.batches.list({ role, ...filter, limit }),
      );
      const next = page.length === limit ? (page.at(-1)?.id ?? null) : null;
      const more = next === null ? "" : `\nOlder ones: the same command with --before ${next}`;
      const isFiltered = Object.keys(filter).length > 0;
      out.result(
        { [plural]: page, next },
        page.length === 0 ? nothingIn(role, isFiltered) : `${tableFor(page, out)}${more}`,
      );
      return 0;
    },
  });
}

const nothingIn = (role: Role, filtered: boolean) =>
  filtered
    ? `No ${role} fits these filters. Leave one out, or see all of them: fairmill ${pluralOf(role)}`
    : `There are no ${pluralOf(role)} yet. ${role === "batch" ? "client.batches.create stores one" : "client.flows.start starts one"}: see the guide.`;

const shownLive = (live: number): string => (live >= LIVE_COUNTED_MAX ? `${LIVE_COUNTED_MAX} or more` : String(live));

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

/** The batch or flow with this id; for an id of the other kind, the error names the command for it. */
export async function find(client: Client, role: Role, id: string): Promise<Batch> {
  const found = await client.batches.get(id);
  if (found === undefined) throw new BatchNotFoundError(role, id);
  if (role === "flow" && found.role !== "flow")
    throw new UsageError(`${id} is a ${found.role}, no flow. See it with "fairmill batches get ${id}".`);
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
    ["lost", lost > 0 ? `${lost} held it open and did not come back` : null],
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

export function cancelCommand(role: Role): CliCommand {
  const plural = pluralOf(role);
  return defineCommand<object, [id: string]>({
    name: "cancel",
    summary: `end what is left of a ${role}`,
    description:
      role === "batch"
        ? "Jobs that wait end at once, those that run are asked to stop, and no more are taken."
        : "Nodes that have not started never will; jobs that wait end at once, those that run are asked to stop.",
    examples: [[`fairmill ${plural} cancel 17`, "end what is left of it"]],
    declare: (command) => void command.argument("<id>", `which ${role}`, batchId),
    run: async ({ args: [id], options, out }) => {
      await withClient(await findTarget(options), async (client) => {
        const before = await find(client, role, id);
        const hadEnded = before.endedAt !== null;
        const state = hadEnded ? before.state : await client.batches.cancel(id);
        const live = state === "pending" ? (await client.batches.get(id))?.live : 0;
        const words = hadEnded
          ? `had ended before: ${state}.`
          : state === "pending"
            ? `ends with the jobs that still run, ${shownLive(live ?? 0)}: they were asked to stop.`
            : `is over: ${state}.`;
        out.result({ id, state, hadEnded }, `The ${role} ${id} ${words}`);
      });
      return 0;
    },
  });
}
