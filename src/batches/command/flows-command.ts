// `fairmill flows`: a page of flows; `show`: one with a picture of its nodes; `retry` and `cancel`.
import { styleText } from "node:util";
import { batchId, given, name } from "../../cli/arguments.js";
import { colourOfState } from "../../cli/colours.js";
import { defineCommand, type GlobalOptions } from "../../cli/command.js";
import { type ExitCode, UsageError } from "../../cli/failure.js";
import type { Output } from "../../cli/output.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { BatchNotFoundError } from "../batch.js";
import type { Flow } from "../flows.js";
import {
  cancelOne,
  declareList,
  factsOf,
  find,
  idFor,
  type ListOptions,
  list,
  refuseListOptions,
} from "./batch-list.js";
import { flowPicture, MARKS } from "./flow-picture.js";

interface Options extends ListOptions {
  readonly from?: string;
}

const USAGE =
  'Write "fairmill flows show <id>", "fairmill flows retry <id> [--from <node>]" or "fairmill flows cancel <id>".';

export const flows = defineCommand<Options, [word: string | undefined, id: string | undefined]>({
  name: "flows",
  summary: "list flows, newest first, show the nodes of one, run it again from a node, or cancel it",
  description: `With show, draws the nodes of a flow from top to bottom, each below those that it waits for. With retry, runs nodes again that failed
or were cancelled, and everything behind them; --from names another node to begin with. With cancel, ends what is left: nodes that have not
started never will.`,
  examples: [
    ["fairmill flows --state failed", "what went wrong"],
    ["fairmill flows show 17", "a picture of its nodes"],
    ["fairmill flows retry 17", "again, from every node that failed"],
    ["fairmill flows retry 17 --from render", "again, from this node on"],
  ],
  declare: (command) => {
    command.argument("[what]", "show, retry or cancel").argument("[id]", "which flow", batchId);
    declareList(command, "flow");
    command.option("--from <node>", "of retry: begin with this node", name("--from"));
  },
  run: async ({ args: [word, id], options, out }) => {
    if (options.from !== undefined && word !== "retry")
      throw new UsageError('--from is for retry: "fairmill flows retry <id> --from <node>".');
    if (word === undefined) return list("flow", options, out);
    if (!["show", "retry", "cancel"].includes(word))
      throw new UsageError(`Unknown word ${JSON.stringify(word)}. ${USAGE}`);
    const which = idFor(word, id, "flow");
    refuseListOptions(options, "flow");
    if (word === "show") return show(which, options, out);
    return word === "cancel" ? cancelOne("flow", which, options, out) : retry(which, options, out);
  },
});

async function show(id: string, options: GlobalOptions, out: Output): Promise<ExitCode> {
  const flow = await withClient(await findTarget(options), async (client) => {
    await find(client, "flow", id);
    const found = await client.flows.get(id);
    if (found === undefined) throw new BatchNotFoundError("flow", id);
    return found;
  });
  out.result(flow, `${factsOf(flow, out.coloured)}\n\n${pictureOf(flow, out)}`);
  return 0;
}

function pictureOf(flow: Flow, out: Output): string {
  if (flow.nodes.length === 0) return "It has no nodes.";
  const paint = (state: string, text: string) =>
    text === state ? colourOfState(text) : styleText("bold", colourOfState(state).replace(state, text));
  const picture = flowPicture(flow.id, flow.nodes, { columns: out.columns, ...(out.coloured ? { paint } : {}) });
  const failed = flow.nodes.filter(({ state }) => state === "failed");
  const states = new Set(flow.nodes.map(({ state }) => state));
  const legend = Object.entries(MARKS).flatMap(([state, mark]) =>
    states.has(state as "failed") ? `${mark} ${state}` : [],
  );
  const again = failed.length > 0 && flow.endedAt !== null ? `\nRun it again: fairmill flows retry ${flow.id}` : "";
  return `${picture}\n\n${legend.join("  ")}${again}`;
}

async function retry(id: string, options: Options & GlobalOptions, out: Output): Promise<ExitCode> {
  const { from } = options;
  const told = await withClient(await findTarget(options), async (client) => {
    await find(client, "flow", id);
    return client.flows.retry(id, given({ from }));
  });
  const where = from === undefined ? "" : ` from "${oneLine(from)}" on`;
  const words =
    told.answer === "started"
      ? `The flow ${id} runs again${where}: ${told.nodes} ${told.nodes === 1 ? "node" : "nodes"}.`
      : told.answer === "running"
        ? `The flow ${id} was left as it is: one of these nodes runs. Wait for it, or cancel the flow first.`
        : from === undefined
          ? `The flow ${id} was left as it is: no node of it failed or was cancelled. Name one to begin with: --from <node>`
          : `The flow ${id} was left as it is: it has no node "${oneLine(from)}". See them: fairmill flows show ${id}`;
  if (told.answer !== "started") {
    out.refusal({ id, ...told }, words);
    return 1;
  }
  out.result({ id, ...told }, words);
  return 0;
}
