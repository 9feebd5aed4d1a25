// `fairmill supervise`: a pool of processes with the config's handlers, until a signal ends it.
import { fileURLToPath } from "node:url";
import { given, name, whole } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { CONFIG_NAMES, shownPath } from "../../cli/config-file.js";
import { UsageError } from "../../cli/failure.js";
import { catchSignals } from "../../cli/signals.js";
import { findTarget } from "../../cli/target.js";
import {
  checkHandlers,
  declareWorkerFlags,
  loggerFor,
  queuesOf,
  sayStopping,
  type WorkerFlags,
} from "../../cli/worker-from-config.js";
import type { PoolOptions } from "../pool-settings.js";
import { addressOf, type HealthAddress } from "./health-address.js";

interface Flags extends WorkerFlags {
  readonly inline?: true;
  readonly min?: number;
  readonly max?: number;
  readonly pool?: string;
  readonly listen?: HealthAddress;
}

const INSTANCES_MAX = 1_000;

export const supervise = defineCommand<Flags>({
  name: "supervise",
  summary: "run jobs in a pool of processes, scaled by what there is to do",
  description: `Starts child processes with the handlers of the config, claims for all of them, gives each job to one, and starts another when one dies.
The settings stand in the config, under "worker". SIGTERM or SIGINT (Ctrl-C) lets running jobs finish within the grace of their kind; a second one ends at
once. SIGHUP starts new processes for all children, each ready before an old one ends: after a deployment. A terminal that is closed ends it as SIGTERM does.`,
  examples: [
    ["fairmill supervise", "as the config says: 2 to 10 processes, unless it says otherwise"],
    ["fairmill supervise --min 1 --max 4 --concurrency 5", "1 to 4 processes, each with 5 jobs at once in each queue"],
    ["fairmill supervise --listen 0.0.0.0:7421", "with probes for Kubernetes"],
    ["fairmill supervise --inline", "everything in one process, for small machines"],
  ],
  declare: (command) => {
    declareWorkerFlags(command);
    command
      .option("--min <n>", "at least this many processes", whole("--min", 0, INSTANCES_MAX))
      .option("--max <n>", "at most this many processes", whole("--max", 1, INSTANCES_MAX))
      .option("--pool <name>", "the pool that this host belongs to", name("--pool"))
      .option("--inline", "run the handlers in this process, without children")
      .option(
        "--listen <address>",
        "answer GET /healthz, /readyz and /desired here: a port, or host:port (default host: 127.0.0.1)",
        addressOf,
      );
  },
  run: async ({ options, out }) => {
    refuseFixed(options);
    const { databaseUrl, schema, config } = await findTarget(options, "handlers");
    if (config === undefined)
      throw new UsageError(
        `There is no config here or above, so no handlers: write ${CONFIG_NAMES[0]}, or pass --config.`,
      );
    checkHandlers(config);
    const { Supervisor } = await import("../supervisor.js");
    const worker: PoolOptions = {
      ...config.settings.worker,
      ...given({ minInstances: options.min, maxInstances: options.max, pool: options.pool }),
    };
    const { logger = loggerFor(out) } = config.settings;
    const level = process.env["FAIRMILL_LOG_LEVEL"] || "info";
    const supervisor = new Supervisor(
      {
        module: config.path,
        databaseUrl,
        ...given({
          schema,
          concurrency: options.concurrency,
          grace: options.grace,
          // Otherwise the config says it, also one that is deployed later.
          queues: options.queue || options.concurrency ? queuesOf(config.settings, options) : undefined,
        }),
        worker,
        logger,
        inline: options.inline === true,
      },
      {
        config: config.settings,
        program: {
          entry: fileURLToPath(new URL("../../cli/pool-child.js", import.meta.url)),
          args: out.json ? [config.path, level] : [config.path],
        },
      },
    );
    const signals = catchSignals(
      () => sayStopping(out),
      () => void supervisor.restart(),
    );
    let failure: Error | undefined;
    let health: { readonly url: string; close(): Promise<void> } | undefined;
    const sayStarted = () => {
      out.note(`Supervising pool "${supervisor.pool}" with the handlers of ${shownPath(config.path)}.`);
      if (out.json) out.result({ supervisor: supervisor.id, worker: supervisor.worker.id }, "");
    };
    const failed = new Promise<void>((resolve) => {
      supervisor.events.on("failed", ({ error }) => {
        failure = error;
        resolve();
      });
    });
    try {
      if (options.listen !== undefined) {
        const { listenHealth } = await import("../health-server.js");
        health = await listenHealth(supervisor, options.listen);
        out.note(`Health is at ${health.url}/healthz.`);
      }
      // A signal is obeyed while children still load.
      await Promise.race([supervisor.start().then(sayStarted), signals.first]);
      await Promise.race([signals.first, failed]);
      await supervisor.stop();
    } finally {
      await health?.close();
      signals.release();
    }
    if (failure !== undefined) throw failure;
    return 0;
  },
});

/** A config is one for all machines, and may say both; a command line that does is a slip. */
function refuseFixed({ inline, min, max }: Flags): void {
  const flag = min === undefined ? "--max" : "--min";
  if (inline && (min !== undefined || max !== undefined))
    throw new UsageError(`${flag}: with --inline there are no processes to count. Leave one of the two out.`);
}
