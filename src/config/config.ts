// A project's settings in one file, `fairmill.config.ts`: what the commands read and what their worker runs.

import { checkAlerts } from "../alerts/alert-settings.js";
import { ConfigError } from "../base/errors.js";
import { checkRedact } from "../base/redact.js";
import { checkWorth, readable, refuseUnknown } from "../base/settings.js";
import { checkCodec } from "../core/job/codec.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { type AddedBy, checkMiddlewares } from "../core/job/middleware-list.js";
import type { Handler } from "../core/run/handler.js";
import { checkOffload } from "../offload/offload-options.js";
import type { Channel } from "../outbox/channel.js";
import { checkPoolOptions } from "../pool/check-pool-settings.js";
import type { PoolOptions } from "../pool/pool-settings.js";
import { checkRules } from "../retention/retention-rule.js";
import type { Middleware, Use } from "../worker/worker-middleware.js";
import { checkQueues, type WorkerOptions } from "../worker/worker-settings.js";

export interface Config<Used extends Use = Use>
  extends Omit<WorkerOptions<Used>, "db" | "directUrl" | "clock" | "handlers"> {
  /** What `fairmill work` and `fairmill dev` run. */
  readonly handlers?: readonly Handler<AddedBy<Used>>[];
  /** The pool of processes that `fairmill supervise` runs. */
  readonly worker?: PoolOptions;
  /** What `fairmill serve` and `fairmill dev` show besides. */
  readonly dashboard?: DashboardSettings;
  /** Jobs that are only enqueued here and run elsewhere: `fairmill enqueue` validates by them. */
  // biome-ignore lint/suspicious/noExplicitAny: a list of definitions holds jobs of all inputs.
  readonly jobs?: readonly JobDefinition<any, any>[];
}

export interface DashboardSettings {
  /** Links of your own beside a job. */
  readonly links?: (job: {
    id: string;
    kind: string;
    tenant: string;
    traceId: string | null;
  }) => readonly { label: string; url: string }[];
  /** What a credit is worth, in the currency of your providers' costs: then the dashboard shows a margin. */
  readonly creditWorth?: number;
}

/** A record and not a list: a setting that the type has and this lacks, or the other way round, does not compile. */
const KNOWN: Record<keyof Config, true> = {
  databaseUrl: true,
  schema: true,
  handlers: true,
  channels: true,
  use: true,
  jobs: true,
  dashboard: true,
  worker: true,
  queues: true,
  concurrency: true,
  prefetch: true,
  lease: true,
  heartbeat: true,
  stall: true,
  poll: true,
  grace: true,
  abortGrace: true,
  lowerPriorityShare: true,
  claimJobsMax: true,
  claimTenantMax: true,
  crashesMax: true,
  stepsMax: true,
  stepsBytesMax: true,
  effectsMax: true,
  effectsBytesMax: true,
  keepHistory: true,
  retention: true,
  recordEvery: true,
  deployment: true,
  codec: true,
  offload: true,
  logger: true,
  keepLogs: true,
  redact: true,
  alerts: true,
};

/** The default export of `fairmill.config.ts`. Returns what it is given, once it is checked. */
export function defineConfig<const Used extends Use = []>(config: Config<Used>): Config {
  return checkConfig(config, "defineConfig");
}

/** Configs may also be plain objects that were not passed through `defineConfig`. `where` begins the message. */
export const checkConfig = (config: unknown, where: string): Config =>
  readable("config", where, () => checkedConfig(config, where));

function checkedConfig(config: unknown, where: string): Config {
  if (typeof config !== "object" || config === null || Array.isArray(config))
    throw new ConfigError("config", `${where}: the settings must be an object, like { handlers: [handle(job, run)] }.`);
  refuseUnknown(config, Object.keys(KNOWN), where);
  const { databaseUrl, handlers, channels, use, jobs, queues, codec, worker } = config as Config;
  if (databaseUrl !== undefined && typeof databaseUrl !== "string")
    throw new ConfigError("databaseUrl", `${where}: databaseUrl must be a text, like "postgres://user@host/database".`);
  checkCodec(codec);
  checkOffload((config as Config).offload, where);
  checkRedact((config as Config).redact, where);
  checkAlerts((config as Config).alerts);
  checkRules((config as Config).retention, where);
  checkDashboard((config as Config).dashboard, where);
  if (queues !== undefined) checkQueues(queues);
  if (worker !== undefined) checkPoolOptions(worker, `${where}: worker`);
  checkMiddlewares<Middleware>(use);
  checkEach(handlers, "handlers", `${where}: handlers`, isHandler, "made by handle(job, async (ctx) => { … })");
  checkEach(channels, "channels", `${where}: channels`, isChannel, 'made by defineChannel({ name: "…", … })');
  checkEach(jobs, "jobs", `${where}: jobs`, isDefinition, 'made by defineJob({ kind: "…" })');
  return config;
}

function checkDashboard(settings: unknown, where: string): void {
  if (settings === undefined) return;
  if (typeof settings !== "object" || settings === null)
    throw new ConfigError("dashboard", `${where}: dashboard must be an object, like { creditWorth: 0.04 }.`);
  refuseUnknown(settings, ["links", "creditWorth"], `${where}: dashboard`);
  const { links, creditWorth } = settings as DashboardSettings;
  if (links !== undefined && typeof links !== "function")
    throw new ConfigError(
      "dashboard.links",
      `${where}: dashboard.links must be a function that returns { label, url }s.`,
    );
  checkWorth(creditWorth, "dashboard.creditWorth");
}

function checkEach(
  values: unknown,
  setting: string,
  where: string,
  fits: (value: unknown) => boolean,
  made: string,
): void {
  if (values === undefined) return;
  if (!Array.isArray(values)) throw new ConfigError(setting, `${where} must be a list of values ${made}.`);
  for (const [index, value] of values.entries())
    if (!fits(value)) throw new ConfigError(setting, `${where}[${index}] is ${nameKind(value)}; it must be ${made}.`);
}

const isDefinition = (value: unknown) =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as JobDefinition).kind === "string" &&
  typeof (value as JobDefinition).backoff === "function";

const isHandler = (value: unknown) =>
  typeof value === "object" &&
  value !== null &&
  isDefinition((value as Handler).definition) &&
  typeof (value as Handler).run === "function";

const isChannel = (value: unknown) =>
  typeof value === "object" &&
  value !== null &&
  isDefinition((value as Channel).definition) &&
  typeof (value as Channel).send === "function";

/** The two mistakes people make are named. */
function nameKind(value: unknown): string {
  if (typeof value === "function") return "a bare function";
  if (isDefinition(value)) return "a job definition without a function";
  return value === null ? "null" : Array.isArray(value) ? "a list" : `of type ${typeof value}`;
}
