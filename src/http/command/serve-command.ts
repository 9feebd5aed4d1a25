// `fairmill serve`: the HTTP API and the dashboard, until a signal ends it.
import { asUsage, given, text, whole } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { NOT_SHOWN } from "../../cli/payload.js";
import { catchSignals } from "../../cli/signals.js";
import { stderrLogger } from "../../cli/stderr-logger.js";
import { findTarget, withClient } from "../../cli/target.js";
import { takenOver } from "../../ticks/tick-settings.js";

interface Options {
  readonly host: string;
  readonly port: number;
}

/** Where the rules of redaction cannot be known, no contents are shown. */
export function hidden(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("message" in value)) return value === null ? null : NOT_SHOWN;
  return { ...("name" in value && { name: "Error" }), ...("code" in value && { code: null }), message: NOT_SHOWN };
}

export const serve = defineCommand<Options>({
  name: "serve",
  summary: "serve the HTTP API and the dashboard",
  description: `Listens on 127.0.0.1 and lets everybody in who can reach that. To listen elsewhere, set FAIRMILL_DASHBOARD_AUTH to credentials, each
name:role:secret or name:role@tenant:secret (roles: enqueue, viewer, operator, admin), separated by commas: without them it refuses.
FAIRMILL_INTERNAL_SECRET signs sessions and tokens for single jobs; with it and with handlers in the config, POST /tick runs a tick. Goes on with bulk actions that other processes left.`,
  examples: [
    ["fairmill serve", "on http://127.0.0.1:7420"],
    ["fairmill serve --host 0.0.0.0 --port 8080", "for others, who must sign in"],
  ],
  declare: (command) =>
    void command
      .option("--host <address>", "where to listen", text("--host"), "127.0.0.1")
      .option("--port <n>", "0 takes a free one", whole("--port", 0, 65_535), 7420),
  run: async ({ options, out }) => {
    const { host, port } = options;
    const target = await findTarget(options, "codec");
    // Loaded here: no other command needs a server.
    const [{ createHttpHandler }, { listen, refuseOpenDoor }] = await Promise.all([
      import("../create-handler.js"),
      import("../listen.js"),
    ]);
    const isGuarded = Boolean(process.env["FAIRMILL_DASHBOARD_AUTH"]);
    asUsage(() => refuseOpenDoor({ host, isGuarded }));
    const settings = target.config?.settings ?? {};
    const { codec, offload, use, jobs = [], handlers = [], channels = [], redact } = settings;
    const { links, creditWorth } = settings.dashboard ?? {};
    const definitions = new Map(
      [...jobs, ...[...handlers, ...channels].map(({ definition }) => definition)].map((one) => [one.kind, one]),
    );
    const { databaseUrl, schema } = target;
    const logger = stderrLogger(process.env["FAIRMILL_LOG_LEVEL"] || "info");
    // A tick needs handlers to run, and a secret that its callers know.
    const hasTicks = handlers.length > 0 && Boolean(process.env["FAIRMILL_INTERNAL_SECRET"]);
    const tick = hasTicks
      ? (await import("../../ticks/tick-handler.js")).createTickHandler({
          ...takenOver(settings),
          databaseUrl,
          ...given({ schema }),
          logger,
        })
      : undefined;
    const handler = createHttpHandler({
      databaseUrl,
      ...given({ schema, codec, offload, use }),
      ...(!isGuarded && { auth: "loopback" as const }),
      jobs: [...definitions.values()],
      logger,
      ...given({ standIn: settings.alerts }),
      ...given({ tick, links, creditWorth, redact: target.isConfigBroken ? hidden : redact }),
    });
    // Beside `fairmill dev` it is a part of another command, which says so itself.
    const signals = catchSignals(() => {
      if (process.send === undefined) out.note("Stopping.");
    });
    try {
      const server = await listen(handler, { host, port, isGuarded }).catch(async (error: unknown) => {
        await handler.close();
        await tick?.close();
        throw error;
      });
      const who = isGuarded
        ? "Sign in with a credential of FAIRMILL_DASHBOARD_AUTH."
        : "Only this machine can reach it.";
      out.result({ url: server.url, port: server.port }, `The dashboard is at ${server.url}. ${who}`);
      // It serves all the same, and is ready as soon as the database is; whoever started it should not have to guess.
      const look = withClient(target, (client) => client.jobs.list({ limit: 1 })).catch((error: unknown) => {
        out.note(`There is nothing to show yet. ${error instanceof Error ? error.message : String(error)}`);
      });
      await Promise.race([look, signals.first]);
      await signals.first;
      await server.close();
      await tick?.close();
    } finally {
      signals.release();
    }
    return 0;
  },
});
