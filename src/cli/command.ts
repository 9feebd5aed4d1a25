// What a command of the CLI is: a name, its help, its options, and a function that does it.
import type { Command } from "commander";
import type { ExitCode } from "./failure.js";
import type { Output } from "./output.js";

/** Options that every command takes. */
export interface GlobalOptions {
  readonly databaseUrl?: string;
  readonly schema?: string;
  readonly config?: string;
  readonly json?: true;
  readonly by?: string;
}

export interface Call<Options, Args extends readonly unknown[]> {
  readonly args: Args;
  readonly options: Options & GlobalOptions;
  readonly out: Output;
}

export interface CliCommand {
  readonly name: string;
  /** Not shown in the help. */
  readonly hidden?: true;
  readonly summary: string;
  /** What `--help` says beyond the summary. */
  readonly description?: string;
  readonly examples: readonly (readonly [line: string, what: string])[];
  /** Adds arguments and options. */
  declare(command: Command): void;
  run(call: Call<object, readonly unknown[]>): Promise<ExitCode>;
}

/** Names the types of what `declare` declares and `run` gets: the parser fills them in. */
export function defineCommand<Options extends object, Args extends readonly unknown[] = []>(
  command: Omit<CliCommand, "run"> & { run(call: Call<Options, Args>): Promise<ExitCode> },
): CliCommand {
  return command as unknown as CliCommand;
}
