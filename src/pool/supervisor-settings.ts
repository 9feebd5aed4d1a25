// What a supervisor is made of: a module with handlers, the settings of its worker and of its pool, and the program that children run.
import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, checkClock } from "../base/clock.js";
import type { Duration } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { checkLogger, type Logger } from "../base/log.js";
import { ifGiven, readable, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { checkPoolOptions, checkPoolPart } from "./check-pool-settings.js";
import type { ChildProgram } from "./child-process.js";
import type { PoolOptions, PoolSettings } from "./pool-settings.js";
import { checkWorkerOptions, type WorkerOptions } from "./worker-port.js";

export interface SupervisorOptions {
  /**
   * The module whose default export is a config (`defineConfig`): handlers, channels, queues, `worker`. A path, from the working directory, or a URL
   * (`new URL("./fairmill.config.js", import.meta.url)`). It is loaded here, and in every child.
   */
  readonly module: string | URL;
  /** These go before what the config says. */
  readonly databaseUrl?: string;
  readonly directUrl?: string;
  readonly schema?: string;
  readonly queues?: WorkerOptions["queues"];
  readonly concurrency?: number;
  readonly grace?: Duration;
  readonly lease?: Duration;
  readonly worker?: PoolOptions;
  readonly logger?: Logger;
  /** Everything in this process, without children: for small machines. */
  readonly inline?: boolean;
  /** For tests. */
  readonly clock?: Clock;
}

const KNOWN: Record<keyof SupervisorOptions, true> = {
  module: true,
  databaseUrl: true,
  directUrl: true,
  schema: true,
  queues: true,
  concurrency: true,
  grace: true,
  lease: true,
  worker: true,
  logger: true,
  inline: true,
  clock: true,
};

/** The config of a project, as far as a supervisor needs it. */
export type PoolConfig = Omit<WorkerOptions, "db" | "directUrl" | "clock"> & {
  readonly worker?: PoolOptions | undefined;
  readonly jobs?: unknown;
  readonly dashboard?: unknown;
};

export function checkSupervisorOptions(options: SupervisorOptions): string {
  return readable("options", "createSupervisor", () => {
    refuseUnknown(options, Object.keys(KNOWN), "createSupervisor");
    if (options.logger !== undefined) checkLogger(options.logger);
    if (options.clock !== undefined) checkClock(options.clock);
    if (options.worker !== undefined) checkPoolPart(options.worker, "createSupervisor: worker");
    if (options.inline !== undefined && typeof options.inline !== "boolean")
      throw new ConfigError("inline", `createSupervisor: inline: ${showValue(options.inline)} is not true or false.`);
    return modulePath(options.module);
  });
}

function modulePath(module: unknown): string {
  if (module instanceof URL || (typeof module === "string" && module.startsWith("file:"))) return fileURLToPath(module);
  if (typeof module === "string" && module.length > 0) return isAbsolute(module) ? module : resolve(module);
  throw new ConfigError(
    "module",
    `createSupervisor: module: ${showValue(module)} is not a path or a URL of a module whose default export is a config.`,
  );
}

export interface SupervisorSettings {
  readonly worker: WorkerOptions;
  /** Jobs at once in one child, by queue. */
  readonly capacity: ReadonlyMap<string, number>;
  readonly pool: PoolSettings;
  readonly checked: ReturnType<typeof checkWorkerOptions>;
}

/** The config, with what the caller says before it. */
export function settingsOf(config: PoolConfig, options: Omit<SupervisorOptions, "module">): SupervisorSettings {
  const { worker: poolOptions, jobs, dashboard: _shown, ...rest } = config;
  const { databaseUrl, directUrl, schema, queues, concurrency, grace, lease, logger, clock } = options;
  const given = <Name extends keyof WorkerOptions>(name: Name, value: WorkerOptions[Name] | undefined) =>
    ifGiven(name, value, (one) => one);
  const worker: WorkerOptions = {
    ...rest,
    ...given("databaseUrl", databaseUrl),
    ...given("directUrl", directUrl),
    ...given("schema", schema),
    ...given("queues", queues),
    ...given("concurrency", concurrency),
    ...given("grace", grace),
    ...given("lease", lease),
    ...given("logger", logger),
    ...given("clock", clock),
  };
  const checked = checkWorkerOptions(worker);
  const pool = checkPoolOptions({ ...poolOptions, ...options.worker });
  refuseUnknownKinds(pool, worker);
  return { worker, capacity: checked.concurrency, pool, checked };
}

export const kindsOf = ({ handlers = [], channels = [] }: Pick<WorkerOptions, "handlers" | "channels">): string[] =>
  [...handlers, ...channels].map(({ definition }) => definition.kind as string);

function refuseUnknownKinds({ graceMsByKind }: PoolSettings, options: WorkerOptions): void {
  const kinds = new Set(kindsOf(options));
  for (const kind of graceMsByKind.keys())
    if (!kinds.has(kind))
      throw new ConfigError("graceByKind", `worker.graceByKind: no handler here is of kind "${kind}".`);
}

/** What a caller inside this library brings instead of a module that Node can load. */
export interface SupervisorInternals {
  readonly config?: PoolConfig;
  readonly program?: Pick<ChildProgram, "entry" | "args">;
  /** For tests: a part of the worker that has not succeeded for so long is stuck. */
  readonly stuckMs?: number;
}

export const moduleProgram = (path: string): Pick<ChildProgram, "entry" | "args"> => ({
  entry: fileURLToPath(new URL("./child/child-main.js", import.meta.url)),
  args: [path],
});
