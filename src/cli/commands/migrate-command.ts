// `fairmill migrate`: brings the schema up to date, or says what that would do.
import { Option } from "commander";
import { type MigrationWait, printMigrations } from "../../db/migrate/migrate.js";
import { DEFAULT_SCHEMA } from "../../db/schema-name.js";
import { defineCommand, type GlobalOptions } from "../command.js";
import { findConfig, loadConfig } from "../config-file.js";
import { findTarget, schemaSaid, shownUrl, withClient } from "../target.js";

interface Options {
  readonly print?: true;
  readonly check?: true;
}

export const migrate = defineCommand<Options>({
  name: "migrate",
  summary: "bring the schema in the database up to date",
  description: "Safe to run at every deployment, also by several processes at once.",
  examples: [
    ["fairmill migrate", "apply what is missing, and put right what was changed"],
    ["fairmill migrate --check", "exit with 1 when something is missing or was changed, and change nothing"],
    ["fairmill migrate --print > fairmill.sql", "the whole schema as SQL, without a database"],
  ],
  declare: (command) =>
    void command
      .addOption(new Option("--print", "write the whole SQL script, without a database").conflicts("check"))
      .option("--check", "list what is missing or was changed; exit with 1 when there is something"),
  run: async ({ options, out }) => {
    if (options.print) {
      const sql = await printMigrations((await schemaAlone(options)) ?? DEFAULT_SCHEMA);
      out.result({ sql }, sql.trimEnd());
      return 0;
    }
    // What is made must be made where the config wants it: without its word on the schema only a look is harmless.
    const target = await findTarget(
      options,
      options.check || schemaSaid(options) !== undefined ? "nothing" : "handlers",
    );
    const where = `schema "${target.schema ?? DEFAULT_SCHEMA}" of ${shownUrl(target.databaseUrl)}`;
    if (options.check) {
      const pending = await withClient(target, (client) => client.pendingMigrations());
      const list = `Missing or changed in ${where}:\n${linesOf(pending)}\nApply it with \`fairmill migrate\`.`;
      out.result({ pending }, pending.length === 0 ? `Up to date: ${where}.` : list);
      return pending.length === 0 ? 0 : 1;
    }
    const applied = await withClient(target, (client) => client.migrate({ onWait: (wait) => out.note(waiting(wait)) }));
    out.result(
      { applied },
      applied.length === 0 ? `Up to date: ${where}.` : `Applied to ${where}:\n${linesOf(applied)}`,
    );
    return 0;
  },
});

const waiting = ({ attempts, waitedMs, blocker }: MigrationWait) =>
  `Waiting for the tables, attempt ${attempts} after ${Math.round(waitedMs / 1000)} s${blocker ? `: ${blocker} uses them` : ""} …`;

/** More functions than that are told by their number: an empty database lacks all of them. */
const NAMED_MAX = 20;

function linesOf(pieces: readonly string[]): string {
  const functions = pieces.filter((piece) => piece.startsWith("functions/"));
  if (functions.length <= NAMED_MAX) return indented(pieces);
  const others = pieces.filter((piece) => !functions.includes(piece));
  return indented([...others, `functions: ${functions.length} (named with --json)`]);
}

const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}`).join("\n");

/** No database is needed to print, only its schema's name. */
async function schemaAlone(options: GlobalOptions): Promise<string | undefined> {
  const said = schemaSaid(options);
  if (said !== undefined) return said;
  const path = await findConfig(options.config);
  return path === undefined ? undefined : (await loadConfig(path)).settings.schema;
}
