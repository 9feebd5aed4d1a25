// `fairmill audit`: who did what.
import { jobId, momentOrAgo, name, text, whole } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withDatabase } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { readAudit } from "../audit.js";

interface Options {
  readonly actor?: string;
  readonly action?: string;
  readonly subject?: string;
  readonly since?: Date;
  readonly before?: string;
  readonly limit: number;
}

export const audit = defineCommand<Options>({
  name: "audit",
  summary: "list who did what",
  description: `Every action of a person over HTTP and by this command is recorded before it happens, with its outcome after. An outcome
that is missing means that the process ended in between.`,
  examples: [
    ["fairmill audit --since 1d", "what people did in the last day"],
    ["fairmill audit --subject 'job 17'", "who touched job 17"],
  ],
  declare: (command) =>
    void command
      .option("--actor <name>", "only what this one did", name("--actor"))
      .option("--action <name>", "only this action, like job.cancel", name("--action"))
      .option("--subject <text>", "only what was done to this, like 'job 17'", text("--subject"))
      .option("--since <moment>", "then or later: a moment, or how long ago, like 2h", momentOrAgo("--since"))
      .option("--before <id>", "only older ones: the last id of the page before", jobId)
      .option("--limit <n>", "page size, at most 200", whole("--limit", 1, 200), 50),
  run: async ({ options, out }) => {
    const { actor, action, subject, since, before, limit } = options;
    const found = await withDatabase(await findTarget(options), (db) =>
      readAudit(db, { actor, action, subject, since: since?.toISOString(), before, limit }),
    );
    const rows = found.map((one) => [
      one.id,
      one.at.toISOString(),
      oneLine(one.actor),
      one.via,
      one.action,
      oneLine(one.subject),
      one.outcome ?? "not known",
    ]);
    out.result(
      { events: found },
      rows.length === 0
        ? "Nothing is on record."
        : tableOf(["ID", "AT", "ACTOR", "VIA", "ACTION", "SUBJECT", "OUTCOME"], rows, out.columns),
    );
    return 0;
  },
});
