// The worker that `work` and `dev` run: the config's handlers and settings, with what the command line changes in them.
import type { Command } from "commander";
import type { Duration } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { createLogger, LOG_LEVELS } from "../base/log.js";
import type { Config } from "../config/config.js";
import type { Worker } from "../worker/worker.js";
import type { WorkerOptions } from "../worker/worker-settings.js";
import { duration, given, names, whole } from "./arguments.js";
import { type LoadedConfig, otherCopy, shownPath } from "./config-file.js";
import { UsageError } from "./failure.js";
import type { Output } from "./output.js";
import { stderrLogger } from "./stderr-logger.js";

export interface WorkerFlags {
  readonly concurrency?: number;
  readonly queue?: readonly string[];
  readonly grace?: Duration;
}

export function declareWorkerFlags(command: Command): void {
  command
    .option("--concurrency <n>", "jobs at once, in each queue", whole("--concurrency", 1, 10_000))
    .option("--queue <name>", "work on this queue only (may be repeated)", names("--queue"))
    .option("--grace <duration>", "how long running jobs may go on after a signal, like 30s", duration("--grace"));
}

export async function workerFrom(
  config: LoadedConfig,
  flags: WorkerFlags,
  database: { databaseUrl: string; schema: string | undefined },
  out: Output,
): Promise<Worker> {
  const { jobs, worker: _pool, dashboard: _shown, handlers = [], channels = [], ...rest } = config.settings;
  const { logger = loggerFor(out), ...settings } = rest;
  checkHandlers(config);
  const copy = await otherCopy(config.path);
  if (copy !== undefined)
    out.note(`Note: the config imports another copy of fairmill (${copy}). Run that one, with \`npx fairmill\`.`);
  const { databaseUrl, schema } = database;
  const options: WorkerOptions = {
    ...settings,
    ...given({ schema, concurrency: flags.concurrency, grace: flags.grace, queues: queuesOf(config.settings, flags) }),
    databaseUrl,
    handlers,
    channels,
    logger,
  };
  const { createWorker } = await import("../worker/worker.js");
  try {
    return createWorker(options);
  } catch (error) {
    // The command line's values were checked before, so this one is the config's, if it is not the environment's.
    throw error instanceof ConfigError && !(error.setting in process.env)
      ? new ConfigError(error.setting, `${shownPath(config.path)}: ${error.message}`)
      : error;
  }
}

/** Throws when there is nothing to run. */
export function checkHandlers({ path, settings: { handlers = [], channels = [] } }: LoadedConfig): void {
  if (handlers.length + channels.length > 0) return;
  throw new ConfigError(
    "handlers",
    `${shownPath(path)} has no handlers, so there is nothing to run. Write: handlers: [handle(job, async (ctx) => { … })]`,
  );
}

/** The command line's queues and concurrency go before the config's; what it leaves open stays as the config says. */
export function queuesOf(config: Config, flags: WorkerFlags): WorkerOptions["queues"] {
  const queues = flags.queue ?? (config.queues && Object.keys(config.queues));
  return (
    queues &&
    Object.fromEntries(
      queues.map((queue) => {
        const settings = new Map(Object.entries(config.queues ?? {})).get(queue);
        return [queue, { ...settings, ...given({ concurrency: flags.concurrency }) }];
      }),
    )
  );
}

export function loggerFor(out: Output) {
  const level = process.env["FAIRMILL_LOG_LEVEL"] || "info";
  if (!(LOG_LEVELS as readonly string[]).includes(level))
    throw new UsageError(`FAIRMILL_LOG_LEVEL: ${JSON.stringify(level)} is not one of ${LOG_LEVELS.join(", ")}.`);
  return out.json ? stderrLogger(level) : createLogger({ level });
}

/** For people at a terminal only, and not from a child process: elsewhere the worker's own log says it. */
export function sayStopping(out: Output): void {
  if (process.stderr.isTTY && process.send === undefined)
    out.note("\nStopping: running jobs may finish. Press Ctrl-C again to stop at once.");
}
