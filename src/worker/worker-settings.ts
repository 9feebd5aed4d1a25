// The settings of a worker: one object of defaults, everything checked, unknown names refused, frozen.

import { type AlertOptions, type AlertSettings, checkAlerts } from "../alerts/alert-settings.js";
import { type Clock, checkClock } from "../base/clock.js";
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { checkLogger, type Logger } from "../base/log.js";
import { checkRedact } from "../base/redact.js";
import { nameOf, oneOf, readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { type Codec, checkCodec } from "../core/job/codec.js";
import type { AddedBy } from "../core/job/middleware-list.js";
import type { Handler } from "../core/run/handler.js";
import type { CoreSettings } from "../core/worker/worker-context.js";
import type { Pool } from "../db/database.js";
import { KEPT_LEVELS, type KeptLevel } from "../logs/log-statements.js";
import type { OffloadOptions } from "../offload/content-storage.js";
import type { FileContents } from "../offload/file-contents.js";
import { checkOffload } from "../offload/offload-options.js";
import type { Channel } from "../outbox/channel.js";
import { checkRules, type RetentionRule, type StoredRule } from "../retention/retention-rule.js";
import type { Use } from "./worker-middleware.js";

export interface WorkerOptions<Used extends Use = Use> {
  /** PostgreSQL's address; default DATABASE_URL. */
  readonly databaseUrl?: string;
  /** PostgreSQL's address past a pooler, for the one connection that listens; default DATABASE_DIRECT_URL, then the same as all others. */
  readonly directUrl?: string;
  /** Or a `pg` pool of yours. */
  readonly db?: Pool;
  readonly schema?: string;
  /** What the worker runs. At least one of these, or of `channels`. What they need of middlewares must be among what `use` adds. */
  readonly handlers?: readonly Handler<AddedBy<Used>>[];
  /** Middlewares: those with a part at run surround every handler, the first one outermost. */
  readonly use?: Used;
  /** The channels whose messages it delivers. */
  // biome-ignore lint/suspicious/noExplicitAny: a list of channels holds those of all messages.
  readonly channels?: readonly Channel<any, any>[];
  /** Jobs at once per queue. Default: every queue that the handlers name, with `concurrency` each. */
  readonly queues?: Readonly<Record<string, { readonly concurrency?: number; readonly prefetch?: number }>>;
  /** Jobs at once for queues that do not say; default FAIRMILL_WORKER_CONCURRENCY or 10. */
  readonly concurrency?: number;
  /**
   * Jobs claimed ahead per queue, waiting in this process for a free place. They start without a round trip, but belong to this worker meanwhile. Default: as
   * many as jobs of at most 10 ms have ended there in the last 10 to 20 ms, up to ten times the concurrency; none ahead of longer jobs.
   */
  readonly prefetch?: number;
  /** How long the worker's jobs stay its own after its last heartbeat; default "15s". */
  readonly lease?: Duration;
  /** Default: a third of the lease, half of it while the worker has no job. */
  readonly heartbeat?: Duration;
  /** Stop the heartbeats when the process hangs for longer than this; default: the lease. */
  readonly stall?: Duration;
  /** How often an idle worker looks for work without a wake-up; default "10s", or "1s" where notifications do not arrive. */
  readonly poll?: Duration;
  /** How long `stop()` lets running jobs go on; default "25s". */
  readonly grace?: Duration;
  /** How long a handler may go on after its signal aborted; default "5s". */
  readonly abortGrace?: Duration;
  /** Part of the work that each lower priority is sure of; default 0.1. */
  readonly lowerPriorityShare?: number;
  /** Jobs taken by one claim from a queue; default 2000. */
  readonly claimJobsMax?: number;
  /** Jobs of one tenant taken by one claim from a queue, over all its priorities; default: no limit. */
  readonly claimTenantMax?: number;
  /** Worker deaths after which a job counts as poison; default 3. */
  readonly crashesMax?: number;
  /** Steps that a job may have; default 1000. */
  readonly stepsMax?: number;
  /** Bytes of JSON that the results of a job's steps may have together; default 16 MiB. */
  readonly stepsBytesMax?: number;
  /** Effects that one run of a job may ask for; default 10000. */
  readonly effectsMax?: number;
  /** Bytes of JSON that the payloads of a run's effects may have together; default 4 MiB. */
  readonly effectsBytesMax?: number;
  /** How long ended jobs are kept; default "30d". */
  readonly keepHistory?: Duration;
  /** How long ended jobs of a kind, a state or a tenant are kept, where that differs; default: what other workers declared, and what was set. */
  readonly retention?: readonly RetentionRule[];
  /** How often the worker writes down what it did (`worker_tick_metrics`), if it did something; default "10s". */
  readonly recordEvery?: Duration;
  /** What of your code runs here, like "1.4.2" or a commit: charts mark when it came, and errors tell it apart. Default: FAIRMILL_DEPLOYMENT. */
  readonly deployment?: string;
  /** Opens what is sealed, and seals results and progress; default: nothing is sealed. */
  readonly codec?: Codec;
  /** Where payloads and results lie that are too large for their rows; default: such results are not kept. */
  readonly offload?: OffloadOptions;
  readonly logger?: Logger;
  /** Lines of `ctx.log` from this level on are kept with their job; default "info". False: none are. */
  readonly keepLogs?: KeptLevel | false;
  /** Keys or paths of contents that are not logged, of every kind; definitions add their own. */
  readonly redact?: readonly string[];
  /** Rules, channels and pace of alerts; default: the rules out of the box, to the log. False: this worker evaluates none. */
  readonly alerts?: AlertOptions | false;
  /** For tests. */
  readonly clock?: Clock;
}

const KNOWN = [
  "databaseUrl",
  "directUrl",
  "db",
  "schema",
  "handlers",
  "channels",
  "use",
  "queues",
  "concurrency",
  "prefetch",
  "lease",
  "heartbeat",
  "stall",
  "poll",
  "grace",
  "abortGrace",
  "lowerPriorityShare",
  "claimJobsMax",
  "claimTenantMax",
  "crashesMax",
  "stepsMax",
  "stepsBytesMax",
  "effectsMax",
  "effectsBytesMax",
  "keepHistory",
  "retention",
  "recordEvery",
  "deployment",
  "codec",
  "offload",
  "logger",
  "keepLogs",
  "redact",
  "alerts",
  "clock",
] as const;

export interface WorkerSettings extends CoreSettings {
  readonly contents: FileContents | undefined;
  readonly stepsMax: number;
  readonly stepsBytesMax: number;
  readonly effectsMax: number;
  readonly effectsBytesMax: number;
  readonly recordEveryMs: number;
  readonly retention: readonly StoredRule[] | undefined;
  readonly deployment: string | undefined;
  readonly keepLogs: KeptLevel | undefined;
  readonly redact: readonly string[];
  readonly alerts: AlertSettings | undefined;
}

export const checkWorkerOptions = (options: WorkerOptions): WorkerSettings =>
  readable("options", "createWorker", () => check(options));

function check(options: WorkerOptions): WorkerSettings {
  refuseUnknown(options, KNOWN, "createWorker");
  checkWork(options);
  if (options.logger !== undefined) checkLogger(options.logger);
  if (options.clock !== undefined) checkClock(options.clock);
  const leaseMs = toMs(options.lease ?? "15s", "lease");
  const beatMs = options.heartbeat === undefined ? leaseMs / 3 : toMs(options.heartbeat, "heartbeat");
  if (leaseMs < 300) throw new ConfigError("lease", "lease: less than 300 ms leaves no time for a heartbeat.");
  if (beatMs * 2 > leaseMs)
    throw new ConfigError("heartbeat", "heartbeat: must be at most half of the lease, or one lost beat ends it.");
  const recordEveryMs = toMs(options.recordEvery ?? "10s", "recordEvery");
  if (!(recordEveryMs >= 100 && recordEveryMs <= 60_000))
    throw new ConfigError("recordEvery", "recordEvery: must lie between 100 ms and 1 m.");
  const lowerShare = options.lowerPriorityShare ?? 0.1;
  if (!(typeof lowerShare === "number" && lowerShare >= 0 && lowerShare <= 0.5))
    throw new ConfigError("lowerPriorityShare", "lowerPriorityShare: must lie between 0 and 0.5.");
  return Object.freeze({
    ...placesByQueue(options),
    leaseMs,
    beatMs,
    // Without a job there is nothing that a lease protects, but one lost beat must not end it.
    idleBeatMs: options.heartbeat === undefined ? leaseMs / 2 : beatMs,
    stallMs: options.stall === undefined ? leaseMs : toMs(options.stall, "stall"),
    pollMs: options.poll === undefined ? undefined : toMs(options.poll, "poll"),
    graceMs: toMs(options.grace ?? "25s", "grace"),
    abortGraceMs: toMs(options.abortGrace ?? "5s", "abortGrace"),
    lowerShare,
    claimJobsMax: wholeNumber(options.claimJobsMax ?? 2_000, 1, 10_000, "claimJobsMax"),
    claimTenantMax:
      options.claimTenantMax === undefined
        ? undefined
        : wholeNumber(options.claimTenantMax, 1, 10_000, "claimTenantMax"),
    crashesMax: wholeNumber(options.crashesMax ?? 3, 1, 1000, "crashesMax"),
    stepsMax: wholeNumber(options.stepsMax ?? 1_000, 1, 10_000, "stepsMax"),
    stepsBytesMax: wholeNumber(options.stepsBytesMax ?? 16 * 1024 * 1024, 1, 2 ** 30, "stepsBytesMax"),
    effectsMax: wholeNumber(options.effectsMax ?? 10_000, 1, 100_000, "effectsMax"),
    effectsBytesMax: wholeNumber(options.effectsBytesMax ?? 4 * 1024 * 1024, 1, 64 * 1024 * 1024, "effectsBytesMax"),
    historyKeepMs: toMs(options.keepHistory ?? "30d", "keepHistory"),
    retention: checkRules(options.retention, "createWorker"),
    recordEveryMs,
    deployment: checkDeployment(options.deployment ?? (process.env["FAIRMILL_DEPLOYMENT"] || undefined)),
    codec: checkCodec(options.codec),
    contents: checkOffload(options.offload, "createWorker"),
    keepLogs:
      options.keepLogs === false
        ? undefined
        : oneOf(options.keepLogs ?? "info", KEPT_LEVELS, "keepLogs", "createWorker"),
    redact: checkRedact(options.redact, "createWorker"),
    alerts: checkAlerts(options.alerts),
  });
}

function checkDeployment(name: unknown): string | undefined {
  if (name === undefined) return undefined;
  if (typeof name === "string" && /^[\x21-\x7e]([\x20-\x7e]{0,98}[\x21-\x7e])?$/.test(name)) return name;
  throw new ConfigError(
    "deployment",
    `deployment: ${showValue(name)} is no name of 1 to 100 ASCII characters, like "1.4.2".`,
  );
}

function checkWork({ handlers = [], channels = [] }: WorkerOptions): void {
  if (!Array.isArray(handlers) || !Array.isArray(channels) || handlers.length + channels.length === 0)
    throw new ConfigError("handlers", "handlers: pass at least one: handlers: [handle(job, async (ctx) => { … })].");
  for (const handler of handlers)
    if (typeof handler?.run !== "function" || typeof handler.definition?.kind !== "string")
      throw new ConfigError("handlers", "handlers: each must be made by handle(job, async (ctx) => { … }).");
  for (const channel of channels)
    if (typeof channel?.send !== "function" || typeof channel.definition?.kind !== "string")
      throw new ConfigError("channels", 'channels: each must be made by defineChannel({ name: "…", … }).');
}

/** Each queue by its name, with an object of settings that are known. */
export function checkQueues(queues: unknown): NonNullable<WorkerOptions["queues"]> {
  if (typeof queues !== "object" || queues === null || Array.isArray(queues))
    throw new ConfigError("queues", `queues: ${showValue(queues)} is no object, like { mails: { concurrency: 5 } }.`);
  for (const [queue, settings] of Object.entries(queues))
    refuseUnknown(settings, ["concurrency", "prefetch"], `queues.${queue}`);
  return queues as NonNullable<WorkerOptions["queues"]>;
}

function concurrencyOfEnvironment(): number {
  const text = process.env["FAIRMILL_WORKER_CONCURRENCY"];
  if (!text) return 10;
  return wholeNumber(/^\d+$/.test(text) ? Number(text) : text, 1, 10_000, "FAIRMILL_WORKER_CONCURRENCY");
}

function placesByQueue(options: WorkerOptions): Pick<WorkerSettings, "concurrency" | "prefetch"> {
  const usual =
    options.concurrency === undefined
      ? concurrencyOfEnvironment()
      : wholeNumber(options.concurrency, 1, 10_000, "concurrency");
  const ahead = options.prefetch === undefined ? undefined : wholeNumber(options.prefetch, 0, 10_000, "prefetch");
  const named = checkQueues(
    options.queues === undefined
      ? Object.fromEntries(
          [...(options.handlers ?? []), ...(options.channels ?? [])].map(({ definition }) => [definition.queue, {}]),
        )
      : options.queues,
  );
  const concurrency = new Map<string, number>();
  const prefetch = new Map<string, number>();
  for (const [queue, settings] of Object.entries(named)) {
    concurrency.set(
      nameOf(queue, "queues"),
      wholeNumber(settings.concurrency ?? usual, 1, 10_000, `queues.${queue}.concurrency`),
    );
    const own = settings.prefetch ?? ahead;
    if (own !== undefined) prefetch.set(queue, wholeNumber(own, 0, 10_000, `queues.${queue}.prefetch`));
  }
  if (concurrency.size === 0)
    throw new ConfigError("queues", "queues: name at least one queue, or leave the setting out.");
  return { concurrency, prefetch };
}
