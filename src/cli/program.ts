// The command line: reads what was typed, finds the command, runs it, and turns whatever happens into an exit code.
import { Command, CommanderError } from "commander";
import { alerts } from "../alerts/command/alerts-command.js";
import { audit } from "../audit/command/audit-command.js";
import { distance } from "../base/settings.js";
import { VERSION } from "../base/version.js";
import { batches } from "../batches/command/batches-command.js";
import { flows } from "../batches/command/flows-command.js";
import { budgets } from "../budgets/command/budgets-command.js";
import { bulk } from "../bulk/command/bulk-command.js";
import { credits } from "../credits/command/credits-command.js";
import { doctor } from "../doctor/command/doctor-command.js";
import { serve } from "../http/command/serve-command.js";
import { init } from "../init/command/init-command.js";
import { cancel } from "../jobs/command/cancel.js";
import { enqueue } from "../jobs/command/enqueue-command.js";
import { job } from "../jobs/command/job-command.js";
import { jobs } from "../jobs/command/jobs-command.js";
import { redrive } from "../jobs/command/redrive-command.js";
import { rerun } from "../jobs/command/rerun-command.js";
import { retry } from "../jobs/command/retry.js";
import { why } from "../jobs/command/why-command.js";
import { kinds } from "../limits/command/kinds.js";
import { limits } from "../limits/command/limits.js";
import { pause } from "../limits/command/pause.js";
import { queues } from "../limits/command/queues.js";
import { resume } from "../limits/command/resume.js";
import { tenants } from "../limits/command/tenants.js";
import { mcp } from "../mcp/command/mcp-command.js";
import { top } from "../metrics/command/top-command.js";
import { outbox } from "../outbox/command/outbox-command.js";
import { supervise } from "../pool/command/supervise-command.js";
import { workers } from "../pool/command/workers-command.js";
import { providers } from "../providers/command/providers-command.js";
import { retention } from "../retention/command/retention-command.js";
import { roles } from "../roles/command/roles-command.js";
import { schedules } from "../schedules/command/schedules-command.js";
import { tick } from "../ticks/command/tick-command.js";
import { verify } from "../verify/command/verify-command.js";
import { beginCommand, endCommand } from "./acting.js";
import { databaseUrl, name, schemaName } from "./arguments.js";
import type { CliCommand, CommandGroup, GlobalOptions } from "./command.js";
import { dev } from "./commands/dev.js";
import { devWorker } from "./commands/dev-worker.js";
import { migrate } from "./commands/migrate-command.js";
import { work } from "./commands/work.js";
import { type ExitCode, reportFailure, UsageError } from "./failure.js";
import { Output } from "./output.js";

const COMMANDS: readonly (CliCommand | CommandGroup)[] = [
  init,
  dev,
  devWorker,
  migrate,
  work,
  supervise,
  workers,
  tick,
  serve,
  mcp,
  enqueue,
  jobs,
  job,
  why,
  cancel,
  retry,
  redrive,
  rerun,
  batches,
  flows,
  pause,
  resume,
  tenants,
  queues,
  limits,
  kinds,
  credits,
  budgets,
  providers,
  outbox,
  schedules,
  top,
  alerts,
  doctor,
  verify,
  bulk,
  retention,
  audit,
  roles,
];

const isGroup = (spec: CliCommand | CommandGroup): spec is CommandGroup => "verbs" in spec;

export async function run(argv: readonly string[]): Promise<ExitCode> {
  const out = new Output(wantsJson(argv));
  let exitCode: ExitCode = 0;
  const program = programOf(out, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.code === "commander.version") {
      out.result({ version: VERSION }, VERSION);
      return 0;
    }
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    if (error instanceof CommanderError && error.code === "commander.help") {
      const [, unknown] = program.args;
      if (unknown !== undefined) return reportFailure(unknownCommand(unknown), out, "fairmill --help");
      if (out.json) return reportFailure(new UsageError("Which command? None was given."), out, helpLine(argv));
      program.outputHelp();
      return 0;
    }
    return reportFailure(asUsage(error), out, helpLine(argv));
  }
}

function programOf(out: Output, ended: (code: ExitCode) => void): Command {
  const program = new Command("fairmill")
    .description("Fair background jobs on PostgreSQL.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .option(
      "--database-url <url>",
      "PostgreSQL to use (default: DATABASE_URL, the config, the one of `fairmill dev`)",
      databaseUrl("--database-url"),
    )
    .option("--schema <name>", 'schema of the jobs (default: FAIRMILL_SCHEMA, the config, "fairmill")', schemaName)
    .option("--config <path>", "config file (default: fairmill.config.ts, .js, .mjs or .json, found upwards)")
    .option("--no-config", "go without a config, and show what its rules would redact")
    .option("--json", "print one JSON value and nothing else")
    .option("--by <name>", "who acts, for the record (default: the user of the operating system)", name("--by"))
    .configureHelp({ showGlobalOptions: true })
    // The caller decides what is printed and when the process ends.
    .configureOutput({
      outputError: () => {},
      writeErr: () => {},
      // The version is a result like others, and the help is for people.
      writeOut: (text) => void (text === `${VERSION}\n` || process.stdout.write(text)),
    })
    .exitOverride()
    .addHelpText(
      "after",
      examplesOf([
        ["fairmill dev", "a PostgreSQL, the schema and a worker, in one terminal"],
        ['fairmill enqueue mail.send \'{"to":"ann"}\'', "a job, from another terminal"],
        ["fairmill jobs --state dead", "what went wrong"],
        ["fairmill why 17", "why a job does not run"],
      ]),
    );
  for (const spec of COMMANDS)
    if (isGroup(spec)) addGroup(program, spec, out, ended);
    else addCommand(program, spec, out, ended);
  return program;
}

type Ended = (code: ExitCode) => void;

function addCommand(parent: Command, spec: CliCommand, out: Output, ended: Ended, isDefault = false): Command {
  // `parent.command` hands the settings of the program down to the command.
  const command = parent.command(spec.name, { hidden: spec.hidden === true, isDefault });
  describe(command, spec);
  spec.declare(command);
  command.action(async () => {
    const options = command.optsWithGlobals<GlobalOptions>();
    const words = parent.parent === null ? spec.name : `${parent.name()} ${spec.name}`;
    beginCommand(words, command.processedArgs, options);
    try {
      const code = await spec.run({ args: command.processedArgs, options, out });
      await endCommand(code);
      ended(code);
    } catch (error) {
      await endCommand(1, error);
      throw error;
    }
  });
  return command;
}

function addGroup(program: Command, group: CommandGroup, out: Output, ended: Ended): void {
  const parent = program.command(group.name).helpCommand(false);
  describe(parent, group);
  for (const spec of group.verbs) {
    const isUsual = spec.name === group.usual;
    const command = addCommand(
      parent,
      isUsual ? { ...spec, summary: `${spec.summary} (default)` } : spec,
      out,
      ended,
      isUsual,
    );
    // What is no verb comes to the usual one, which takes no words: then the word was meant as a verb.
    if (isUsual)
      command.allowExcessArguments(true).hook("preAction", () => {
        const [word] = command.args;
        if (word !== undefined) throw unknownVerb(group, word);
      });
  }
  if (group.usual !== undefined) return;
  parent.allowExcessArguments(true).action(() => {
    const [word] = parent.args;
    if (word !== undefined) throw unknownVerb(group, word);
    if (out.json) throw new UsageError(`What about ${group.name}? Write ${verbsOf(group)}.`);
    parent.outputHelp();
  });
}

const verbsOf = ({ name, verbs }: CommandGroup) => verbs.map((verb) => `"fairmill ${name} ${verb.name}"`).join(", ");

/** Of `fairmill help <word>`. */
function unknownCommand(word: string): UsageError {
  const shown = COMMANDS.filter((spec) => isGroup(spec) || spec.hidden !== true).map(({ name }) => name);
  const nearest = shown.toSorted((a, b) => distance(a, word) - distance(b, word))[0]!;
  const hint = distance(nearest, word) <= 2 ? ` (Did you mean ${nearest}?)` : ".";
  return new UsageError(`Unknown command ${JSON.stringify(word)}${hint}`);
}

function unknownVerb(group: CommandGroup, word: string): UsageError {
  if (group.verbs.some(({ name }) => name === word))
    return new UsageError(`Write "${word}" right behind "fairmill ${group.name}", and options behind it.`);
  const nearest = group.verbs.toSorted((a, b) => distance(a.name, word) - distance(b.name, word))[0]!;
  const hint =
    distance(nearest.name, word) <= 2
      ? `Did you mean "fairmill ${group.name} ${nearest.name}"?`
      : `Known: ${verbsOf(group)}.`;
  return new UsageError(`"fairmill ${group.name}" has no subcommand ${JSON.stringify(word)}. ${hint}`);
}

function describe(command: Command, spec: CliCommand | CommandGroup): void {
  command
    .summary(spec.summary)
    .description(descriptionOf(spec))
    .helpOption("-h, --help", "show this help")
    .addHelpText("after", examplesOf(spec.examples));
}

function examplesOf(examples: CliCommand["examples"]): string {
  const width = Math.max(...examples.map(([line]) => line.length));
  return `\nExamples:\n${examples.map(([line, what]) => `  ${line.padEnd(width)}  # ${what}`).join("\n")}`;
}

/** The parser's complaints, in our words where its own say nothing. */
function asUsage(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  const text = error.message.replace(/^error: /, "").replace("\n", " ");
  return new UsageError(sentence(text));
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.)]$/.test(text) ? "" : "."}`;

/** The help wraps its lines itself. */
const descriptionOf = ({ summary, description }: CliCommand | CommandGroup) =>
  description === undefined ? sentence(summary) : `${sentence(summary)}\n\n${description.replaceAll("\n", " ")}`;

/** Asked of the raw words: the answer is needed even when they cannot be parsed. */
const wantsJson = (argv: readonly string[]): boolean => {
  const end = argv.indexOf("--");
  return (end === -1 ? argv : argv.slice(0, end)).includes("--json");
};

function helpLine(argv: readonly string[]): string {
  const spec = argv.map((word) => COMMANDS.find(({ name }) => name === word)).find((found) => found !== undefined);
  if (spec === undefined) return "fairmill --help";
  const next = argv[argv.indexOf(spec.name) + 1];
  const verb = isGroup(spec) && spec.verbs.some(({ name }) => name === next) ? ` ${next}` : "";
  return `fairmill ${spec.name}${verb} --help`;
}
