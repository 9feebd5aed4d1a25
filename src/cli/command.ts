// What a command of the CLI is: a name, its help, its options, and a function that does it. Things with several verbs are groups of commands.
import type { Command } from "commander";
import type { ExitCode } from "./failure.js";
import type { Output } from "./output.js";

/** Options that every command takes. */
export interface GlobalOptions {
  readonly databaseUrl?: string;
  readonly schema?: string;
  readonly config?: string;
  readonly json?: true;
}

export interface Call<Options, Args extends readonly unknown[]> {
  readonly args: Args;
  readonly options: Options & GlobalOptions;
  readonly out: Output;
}

/** What the help says. */
interface Described {
  readonly name: string;
  readonly summary: string;
  /** What `--help` says beyond the summary. */
  readonly description?: string;
  readonly examples: readonly (readonly [line: string, what: string])[];
}

export interface CliCommand extends Described {
  /** Not shown in the help. */
  readonly hidden?: true;
  /** Adds arguments and options. */
  declare(command: Command): void;
  run(call: Call<object, readonly unknown[]>): Promise<ExitCode>;
}

/** A thing with verbs: `fairmill schedules pause nightly`. */
export interface CommandGroup extends Described {
  readonly verbs: readonly CliCommand[];
  /** The verb that is meant when none is named; undefined: the group alone shows its help. */
  readonly usual?: string;
}

/** Names the types of what `declare` declares and `run` gets: the parser fills them in. */
export function defineCommand<Options extends object, Args extends readonly unknown[] = []>(
  command: Omit<CliCommand, "run"> & { run(call: Call<Options, Args>): Promise<ExitCode> },
): CliCommand {
  return command as unknown as CliCommand;
}
