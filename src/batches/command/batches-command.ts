// `fairmill batches`: jobs that end together.
import { batchId } from "../../cli/arguments.js";
import { type CommandGroup, defineCommand } from "../../cli/command.js";
import { findTarget, withClient } from "../../cli/target.js";
import { cancelCommand, factsOf, find, listCommand } from "./batch-list.js";

const get = defineCommand<object, [id: string]>({
  name: "get",
  summary: "show one batch: counts, callbacks, times",
  examples: [["fairmill batches get 17", "what became of its jobs, and which callbacks were enqueued"]],
  declare: (command) => void command.argument("<id>", "which batch", batchId),
  run: async ({ args: [id], options, out }) => {
    const batch = await withClient(await findTarget(options), (client) => find(client, "batch", id));
    const hint = batch.role === "flow" ? `\nIts nodes: fairmill flows get ${batch.id}` : "";
    out.result(batch, `${factsOf(batch, out.coloured)}${hint}`);
    return 0;
  },
});

export const batches: CommandGroup = {
  name: "batches",
  summary: "jobs that end together: list them, show one, or cancel the rest of one",
  examples: [
    ["fairmill batches --state failed", "what went wrong"],
    ["fairmill batches get 17", "counts, callbacks, times"],
    ["fairmill batches cancel 17", "end what is left of it"],
  ],
  usual: "list",
  verbs: [listCommand("batch"), get, cancelCommand("batch")],
};
