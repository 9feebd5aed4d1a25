// `fairmill why`: every gate on a job's way, passed or not, and the first that is not.
import { styleText } from "node:util";
import { JobNotFoundError } from "../../model/errors.js";
import { isEnded } from "../../model/states.js";
import type { Why, WhyGate } from "../../store/why.js";
import { jobId } from "../arguments.js";
import { defineCommand } from "../command.js";
import { findTarget, withClient } from "../target.js";
import { oneLine, shellWord } from "../text.js";

export const why = defineCommand<object, [id: string]>({
  name: "why",
  summary: "say why a job does not run",
  description: "Lists every gate on the job's way, passed or not. Exit code 1 when there is no such job.",
  examples: [
    ["fairmill why 17", "what holds job 17"],
    ["fairmill why 17 --json | jq -r .reason", "the one sentence"],
  ],
  declare: (command) => void command.argument("<id>", "the job's id, as enqueue printed it", jobId),
  run: async ({ args: [id], options, out }) => {
    const told = await withClient(await findTarget(options), (client) => client.why(id));
    if (told === undefined) throw new JobNotFoundError(id);
    out.result(told, pageOf(told, out.coloured));
    return 0;
  },
});

function pageOf(told: Why, coloured: boolean): string {
  const holding = told.gates.find(({ passed }) => !passed);
  const reason = oneLine(told.reason);
  const lines = told.gates.map((gate) => lineOf(gate, gate === holding, coloured));
  const hint = holding && hintOf(holding, told.id);
  return [
    `Job ${told.id} is ${told.state}. ${coloured ? styleText("bold", reason) : reason}`,
    "",
    ...lines,
    ...(hint ? ["", hint] : []),
  ].join("\n");
}

function lineOf({ gate, passed, reason }: WhyGate, isFirst: boolean, coloured: boolean): string {
  const line = `  ${passed ? "✓" : "✗"} ${gate.padEnd(10)}  ${oneLine(reason)}`;
  if (!coloured) return line;
  if (passed) return styleText("gray", line);
  return styleText(isFirst ? ["red", "bold"] : "red", line);
}

/** What to do about it, where one command does it. */
function hintOf({ gate, detail }: WhyGate, id: string): string | undefined {
  if (gate === "paused")
    return `Go on: fairmill resume --${String(detail!["scope"])} ${shellWord(String(detail!["name"]))}`;
  if (gate === "worker") return "Start a worker that has a handler for it: fairmill work";
  if (gate === "scheduled" && !detail!["putBack"]) return `Run it now: fairmill retry ${id}`;
  if (gate === "state" && isEnded(detail!["state"] as Why["state"])) return `Run it again: fairmill retry ${id}`;
  return undefined;
}
