// `fairmill mcp`: tools for an agent, over standard input and output.
import { cliActor } from "../../audit/audit.js";
import { systemClock } from "../../base/clock.js";
import { given, name, text } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { catchSignals } from "../../cli/signals.js";
import { stderrLogger } from "../../cli/stderr-logger.js";
import { findTarget } from "../../cli/target.js";
import { hidden } from "../../http/command/serve-command.js";
import { type Api, apiOver } from "../api.js";
import { McpServer } from "../server.js";
import { speak } from "../stdio.js";

interface Options {
  readonly role: Role;
  readonly tenant?: string;
  readonly url?: string;
  readonly by?: string;
}

const ROLES = ["viewer", "operator", "admin"] as const;
type Role = (typeof ROLES)[number];
const roleOf = (word: string): Role => {
  if (ROLES.includes(word as Role)) return word as Role;
  throw new UsageError(`--role: ${JSON.stringify(word)} is none of ${ROLES.join(", ")}.`);
};

interface Side {
  readonly api: Api;
  close(): Promise<void>;
}

/** A server elsewhere: its credentials say who asks. */
function remote(url: string): Side {
  const token = process.env["FAIRMILL_MCP_TOKEN"];
  if (!token) throw new UsageError("--url: set FAIRMILL_MCP_TOKEN to the secret of a credential of that server.");
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ""))
    throw new UsageError(`--url: ${JSON.stringify(url)} is no address, like http://127.0.0.1:7420.`);
  return { api: apiOver((request) => fetch(request), url, token), close: async () => {} };
}

/** The API in this process, over the database. */
async function local(options: Options, logger: ReturnType<typeof stderrLogger>): Promise<Side> {
  const target = await findTarget(options, "codec");
  const { createHttpHandler } = await import("../../http/create-handler.js");
  const { codec, offload, use, jobs = [], handlers = [], channels = [], redact } = target.config?.settings ?? {};
  const definitions = new Map(
    [...jobs, ...[...handlers, ...channels].map(({ definition }) => definition)].map((one) => [one.kind, one]),
  );
  const { databaseUrl, schema } = target;
  const { role, tenant, by } = options;
  const handler = createHttpHandler({
    databaseUrl,
    ...given({ schema, codec, offload, use }),
    auth: () => ({ name: `${cliActor(by).name} (mcp)`, role, ...given({ tenant }) }),
    jobs: [...definitions.values()],
    dashboard: false,
    logger,
    connectionsMax: 4,
    ...given({ redact: target.isConfigBroken ? hidden : redact }),
  });
  return { api: apiOver(handler, "http://127.0.0.1", "mcp"), close: () => handler.close() };
}

export const mcp = defineCommand<Options>({
  name: "mcp",
  summary: "tools for an agent: a server of the Model Context Protocol on standard input and output",
  description: `An agent's program starts it and speaks JSON-RPC 2.0 with it, a message a line. Tools: look at jobs, why they wait, errors, workers, the backlog; and
act, with a preview first and a confirmation after it. By default it only looks: --role operator lets it act. With --url it asks a server
(fairmill serve) with the secret in FAIRMILL_MCP_TOKEN, whose role counts; without it, the database.`,
  examples: [
    ["fairmill mcp", "look, at everything"],
    ["fairmill mcp --role operator --tenant acme", "look and act, on one tenant's jobs"],
    ["fairmill mcp --url https://jobs.example.com", "over a server, with the role of its credential"],
  ],
  declare: (command) =>
    void command
      .option("--role <role>", "viewer, operator or admin", roleOf, "viewer")
      .option("--tenant <name>", "only this tenant", name("--tenant"))
      .option("--url <address>", "a server to ask, in place of the database", text("--url")),
  run: async ({ options }) => {
    const logger = stderrLogger(process.env["FAIRMILL_LOG_LEVEL"] || "warn");
    if (options.url !== undefined && options.tenant !== undefined)
      throw new UsageError("--tenant: the credential of the server at --url says which tenant.");
    const side = options.url === undefined ? await local(options, logger) : remote(options.url);
    const signals = catchSignals();
    const ending = new AbortController();
    void signals.first.then(() => ending.abort());
    let mayAct: Promise<boolean> | undefined;
    const server = new McpServer({
      api: side.api,
      clock: systemClock,
      mayAct: () => {
        mayAct ??= side.api.ask("GET", "/me").then(({ ok, value }) => {
          if (ok) return (value as { role: string }).role !== "viewer";
          mayAct = undefined;
          return false;
        });
        return mayAct;
      },
      onTrouble: (error) => logger.error({ error: String(error) }, "A tool failed"),
    });
    try {
      await speak(server, process.stdin, process.stdout, ending.signal);
    } finally {
      await side.close();
      signals.release();
    }
    return 0;
  },
});
