// `fairmill flows`: flows of nodes, with a picture of one.
import { styleText } from "node:util";
import { batchId, given, name } from "../../cli/arguments.js";
import { colourOfState } from "../../cli/colours.js";
import { type CommandGroup, defineCommand } from "../../cli/command.js";
import type { Output } from "../../cli/output.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { BatchNotFoundError } from "../batch.js";
import type { RetryFlowAnswer } from "../flow-statements.js";
import type { Flow } from "../flows-client.js";
import { cancelCommand, factsOf, find, listCommand } from "./batch-list.js";
import { flowPicture, MARKS } from "./flow-picture.js";

const get = defineCommand<object, [id: string]>({
  name: "get",
  summary: "draw the nodes of a flow from top to bottom, each below those that it waits for",
  examples: [["fairmill flows get 17", "a picture of its nodes"]],
  declare: (command) => void command.argument("<id>", "which flow", batchId),
  run: async ({ args: [id], options, out }) => {
    const flow = await withClient(await findTarget(options), async (client) => {
      await find(client, "flow", id);
      const found = await client.flows.get(id);
      if (found === undefined) throw new BatchNotFoundError("flow", id);
      return found;
    });
    out.result(flow, `${factsOf(flow, out.coloured)}\n\n${pictureOf(flow, out)}`);
    return 0;
  },
});

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

const retry = defineCommand<{ readonly from?: string }, [id: string]>({
  name: "retry",
  summary: "run nodes again that failed or were cancelled, and everything behind them",
  description: "Exit code 1 when nothing was changed: a node runs, none failed, or none has that name.",
  examples: [
    ["fairmill flows retry 17", "again, from every node that failed"],
    ["fairmill flows retry 17 --from render", "again, from this node on"],
  ],
  declare: (command) =>
    void command
      .argument("<id>", "which flow", batchId)
      .option("--from <node>", "begin with this node", name("--from")),
  run: async ({ args: [id], options, out }) => {
    const { from } = options;
    const told = await withClient(await findTarget(options), async (client) => {
      await find(client, "flow", id);
      return client.flows.retry(id, given({ from }));
    });
    const words = `The flow ${id} ${wordsOf(told, id, from)}`;
    if (told.answer !== "started") {
      out.refusal({ id, ...told }, words);
      return 1;
    }
    out.result({ id, ...told }, words);
    return 0;
  },
});

function wordsOf({ answer, nodes }: RetryFlowAnswer, id: string, from: string | undefined): string {
  const where = from === undefined ? "" : ` from "${oneLine(from)}" on`;
  if (answer === "started") return `runs again${where}: ${nodes} ${nodes === 1 ? "node" : "nodes"}.`;
  if (answer === "running") return "was left as it is: one of these nodes runs. Wait for it, or cancel the flow first.";
  return from === undefined
    ? "was left as it is: no node of it failed or was cancelled. Name one to begin with: --from <node>"
    : `was left as it is: it has no node "${oneLine(from)}". See them: fairmill flows get ${id}`;
}

export const flows: CommandGroup = {
  name: "flows",
  summary: "flows of nodes: list them, draw one, run it again from a node, or cancel it",
  examples: [
    ["fairmill flows --state failed", "what went wrong"],
    ["fairmill flows get 17", "a picture of its nodes"],
    ["fairmill flows retry 17 --from render", "again, from this node on"],
  ],
  usual: "list",
  verbs: [listCommand("flow"), get, retry, cancelCommand("flow")],
};
