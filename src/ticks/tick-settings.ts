// The settings of a tick handler: what a worker's are, as far as they fit, and those of ticks; checked, unknown names refused, frozen.
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { oneOf, readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { Use } from "../worker/worker-middleware.js";
import { checkWorkerOptions, type WorkerOptions, type WorkerSettings } from "../worker/worker-settings.js";
import { checkSecrets } from "./secret.js";

/** Settings of workers that mean the same for a tick, and that a config file has as well. */
const OF_CONFIGS = [
  "handlers",
  "channels",
  "use",
  "queues",
  "concurrency",
  "lowerPriorityShare",
  "crashesMax",
  "stepsMax",
  "stepsBytesMax",
  "effectsMax",
  "effectsBytesMax",
  "keepHistory",
  "codec",
  "offload",
  "logger",
  "keepLogs",
  "redact",
  "alerts",
] as const;
const OF_WORKERS = ["databaseUrl", "db", "schema", ...OF_CONFIGS, "clock"] as const;

/** What a tick claims unless its options say otherwise, in all and of one tenant. */
export const MAX_JOBS_PER_TICK = 200;
export const MAX_JOBS_PER_TENANT_PER_TICK = 25;

export interface TickOptions<Used extends Use = Use> extends Pick<WorkerOptions<Used>, (typeof OF_WORKERS)[number]> {
  /** Jobs that one tick claims; default 200. */
  readonly maxJobsPerTick?: number;
  /** Jobs of one tenant that one tick claims, in all its queues; default 25. */
  readonly maxJobsPerTenantPerTick?: number;
  /** How long a tick may take, its answer included: less than what the platform allows a function; default "50s". */
  readonly budget?: Duration;
  /** The end of the budget, in which nothing is claimed any more and running jobs may end; default: a fifth of the budget, at most "10s". */
  readonly grace?: Duration;
  /** Connections to the database, for all ticks in this process; default 3. */
  readonly connectionsMax?: number;
  /**
   * So many ticks with the same queues and kinds work at once, in all processes together; one more ends at once and claims nothing. With `selfCall`, a
   * call that finds more than one tick takes also calls so many beside itself. Default: no bound.
   */
  readonly parallel?: number;
}

export interface TickHandlerOptions<Used extends Use = Use> extends TickOptions<Used> {
  /** What callers must know: 32 bytes or more; two, as a list or with a comma, while one takes the other's place. Default FAIRMILL_INTERNAL_SECRET. */
  readonly secret?: string | readonly string[];
  /** "done": answer when the tick is over. "early": answer 202 at once, for callers that do not wait. Default "done". */
  readonly respond?: "done" | "early";
  /** Of an early answer: tells the platform that work goes on. Default: what the platform hands to the handler. */
  readonly waitUntil?: (work: Promise<unknown>) => void;
  /** While work remains, a tick that answers early calls this address again, at most `hopsMax` times in a row (default 10). */
  readonly selfCall?: { readonly url: string; readonly hopsMax?: number };
}

export interface TickSettings {
  readonly worker: WorkerSettings;
  readonly jobsMax: number;
  readonly tenantJobsMax: number;
  readonly budgetMs: number;
  readonly graceMs: number;
  readonly connectionsMax: number;
  /** Undefined: any number. */
  readonly parallel: number | undefined;
}

export interface TickHandlerSettings {
  readonly tick: TickSettings;
  readonly secretDigests: readonly Buffer[];
  readonly secret: string;
  readonly respond: "done" | "early";
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined;
  readonly selfCall: { readonly url: string; readonly hopsMax: number } | undefined;
}

/** What a tick takes over from a config; the other settings there are of workers that live on. */
export const takenOver = (config: object): TickOptions =>
  Object.fromEntries(
    Object.entries(config).filter(([name]) => (OF_CONFIGS as readonly string[]).includes(name)),
  ) as unknown as TickOptions;

const OF_TICKS = [
  "maxJobsPerTick",
  "maxJobsPerTenantPerTick",
  "budget",
  "grace",
  "connectionsMax",
  "parallel",
] as const;
const OF_HANDLERS = ["secret", "respond", "waitUntil", "selfCall"] as const;

/** A budget that leaves time for the statements of a tick, and one within every platform's limit. */
const BUDGET_MS = { min: 500, max: 15 * 60_000 };
/** Time after the budget until the jobs of a tick that was killed are taken over. */
export const LEASE_MARGIN_MS = 5_000;
const GRACE_MS_MAX = 10_000;

export const checkTickOptions = (options: TickOptions, where = "runTick"): TickSettings =>
  readable("options", where, () => {
    refuseUnknown(options, [...OF_WORKERS, ...OF_TICKS], where);
    return checkTick(options);
  });

export const checkTickHandlerOptions = (options: TickHandlerOptions): TickHandlerSettings =>
  readable("options", "createTickHandler", () => {
    refuseUnknown(options, [...OF_WORKERS, ...OF_TICKS, ...OF_HANDLERS], "createTickHandler");
    const respond = oneOf(options.respond ?? "done", ["done", "early"], "respond");
    const { waitUntil } = options;
    if (waitUntil !== undefined && typeof waitUntil !== "function")
      throw new ConfigError("waitUntil", "waitUntil: must be a function that takes a promise.");
    const selfCall = options.selfCall === undefined ? undefined : checkSelfCall(options.selfCall, respond);
    const secrets = checkSecrets(options.secret);
    return Object.freeze({ tick: checkTick(options), ...secrets, respond, waitUntil, selfCall });
  });

function checkTick(options: TickOptions): TickSettings {
  const budgetMs = toMs(options.budget ?? "50s", "budget");
  if (!(budgetMs >= BUDGET_MS.min && budgetMs <= BUDGET_MS.max))
    throw new ConfigError(
      "budget",
      "budget: must lie between 500 ms and 15 m: less than the platform's limit of a function.",
    );
  const graceMs = options.grace === undefined ? Math.min(GRACE_MS_MAX, budgetMs / 5) : toMs(options.grace, "grace");
  if (!(graceMs > 0 && graceMs <= budgetMs / 2))
    throw new ConfigError("grace", "grace: is the end of the budget, and at most half of it.");
  const given = Object.fromEntries(
    Object.entries(options).filter(([name]) => (OF_WORKERS as readonly string[]).includes(name)),
  );
  // The lease of a tick is what is left of its budget, so the heartbeat's settings do not matter.
  const worker = checkWorkerOptions({ ...given, lease: budgetMs + LEASE_MARGIN_MS } as WorkerOptions);
  return Object.freeze({
    // Claimed ahead, so that places that become free are filled without a round trip.
    worker: { ...worker, prefetch: worker.concurrency, abortGraceMs: graceMs / 5 },
    jobsMax: wholeNumber(options.maxJobsPerTick ?? MAX_JOBS_PER_TICK, 1, 10_000, "maxJobsPerTick"),
    tenantJobsMax: wholeNumber(
      options.maxJobsPerTenantPerTick ?? MAX_JOBS_PER_TENANT_PER_TICK,
      1,
      10_000,
      "maxJobsPerTenantPerTick",
    ),
    budgetMs,
    graceMs,
    connectionsMax: wholeNumber(options.connectionsMax ?? 3, 1, 10, "connectionsMax"),
    parallel: options.parallel === undefined ? undefined : wholeNumber(options.parallel, 1, 1_000, "parallel"),
  });
}

function checkSelfCall(selfCall: unknown, respond: "done" | "early"): { url: string; hopsMax: number } {
  refuseUnknown(selfCall, ["url", "hopsMax"], "selfCall");
  const { url, hopsMax = 10 } = selfCall as { url?: unknown; hopsMax?: unknown };
  if (typeof url !== "string" || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new ConfigError("selfCall", `selfCall: url: ${showValue(url)} is not the http address of this handler.`);
  if (respond !== "early")
    throw new ConfigError(
      "selfCall",
      'selfCall: needs respond: "early", or each tick would wait for all that follow it.',
    );
  return { url, hopsMax: wholeNumber(hopsMax, 1, 100, "selfCall.hopsMax") };
}
