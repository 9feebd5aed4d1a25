// `fairmill roles`: the script that makes the roles of the database.
import { name } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { schemaSaid } from "../../cli/target.js";
import { DEFAULT_SCHEMA } from "../../db/schema-name.js";
import { rolesScript } from "../database-roles.js";

interface Options {
  readonly prefix: string;
  readonly print?: true;
}

export const roles = defineCommand<Options>({
  name: "roles",
  summary: "print the SQL that makes the roles of the database",
  description: `Four roles without a login, beside the owner of the schema, who migrates: enqueue, worker, viewer and admin. Each has the functions that it calls,
and exactly the rights on tables that these need. Grant them to your users. Run the script as the owner, again after every migration. Needs no
database.`,
  examples: [
    ["fairmill roles | psql $DATABASE_URL", "makes the roles"],
    ["fairmill roles --prefix jobs", "jobs_enqueue, jobs_worker, jobs_viewer, jobs_admin"],
  ],
  declare: (command) =>
    void command
      .option("--prefix <name>", "what the names of the roles begin with", name("--prefix"), "fairmill")
      .option("--print", "print the script, which is all that it does"),
  run: async ({ options, out }) => {
    const script = await rolesScript({ schema: schemaSaid(options) ?? DEFAULT_SCHEMA, prefix: options.prefix });
    out.result({ script }, script.trimEnd());
    return 0;
  },
});
