// `fairmill batches`: a page of batches; `show` and `cancel`: one of them.
import { batchId } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { findTarget, withClient } from "../../cli/target.js";
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

export const batches = defineCommand<ListOptions, [word: string | undefined, id: string | undefined]>({
  name: "batches",
  summary: "list batches, newest first, show one, or cancel the rest of one",
  description: `Lists batches with what became of their jobs. With show, tells all about one; with cancel, ends what is left of one: jobs that wait
end at once, those that run are told, and no more are taken.`,
  examples: [
    ["fairmill batches", "the newest"],
    ["fairmill batches --state failed --tenant acme", "what went wrong for one tenant"],
    ["fairmill batches show 17", "counts, callbacks, times"],
    ["fairmill batches cancel 17", "end what is left of it"],
  ],
  declare: (command) => {
    command.argument("[what]", "show or cancel").argument("[id]", "which batch", batchId);
    declareList(command, "batch");
  },
  run: async ({ args: [word, id], options, out }) => {
    if (word === undefined) return list("batch", options, out);
    if (word !== "show" && word !== "cancel")
      throw new UsageError(
        `Unknown word ${JSON.stringify(word)}. Write "fairmill batches show <id>" or "fairmill batches cancel <id>".`,
      );
    const which = idFor(word, id, "batch");
    refuseListOptions(options, "batch");
    if (word === "cancel") return cancelOne("batch", which, options, out);
    const batch = await withClient(await findTarget(options), (client) => find(client, "batch", which));
    const hint = batch.role === "flow" ? `\nIts nodes: fairmill flows show ${batch.id}` : "";
    out.result(batch, `${factsOf(batch, out.coloured)}${hint}`);
    return 0;
  },
});
