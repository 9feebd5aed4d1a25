// Which queue, kind or tenant a command is about: one of three options.
import type { Command } from "commander";
import { given, name } from "../../cli/arguments.js";
import { UsageError } from "../../cli/failure.js";
import { oneLine } from "../../cli/text.js";
import type { LimitScope, PauseTarget } from "../limit-settings.js";

export interface GateOptions {
  readonly queue?: string;
  readonly kind?: string;
  readonly tenant?: string;
}

export const declareGate = (command: Command): void =>
  void command
    .option("--queue <name>", "this queue", name("--queue"))
    .option("--kind <kind>", "this kind of jobs", name("--kind"))
    .option("--tenant <name>", "this tenant", name("--tenant"));

/** As the client takes it, and as people read it. */
export function oneGate({ queue, kind, tenant }: GateOptions, verb: string): { gate: PauseTarget; words: string } {
  const gate = given({ queue, kind, tenant });
  const [[scope, value] = [], ...others] = Object.entries(gate) as [LimitScope, string][];
  if (scope === undefined || others.length > 0)
    throw new UsageError(`Say what to ${verb}: --queue, --kind or --tenant, one of them.`);
  return { gate: gate as PauseTarget, words: `${scope} "${oneLine(value!)}"` };
}
