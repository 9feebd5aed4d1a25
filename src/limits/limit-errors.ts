// Why a limit did not take a job, and how the database says so.
import { FairmillError } from "../base/errors.js";
import { rateWords } from "../base/rate-words.js";
import type { RefusalTable } from "../db/refusals.js";
import type { LimitScope } from "./limit-settings.js";

/** Not taken: as many jobs as its limit allows are active, and the definition says to refuse. */
export class ActiveLimitError extends FairmillError {
  override readonly name = "ActiveLimitError";
  /** Whose limit: kind, tenant and key. */
  readonly key: string;
  readonly limit: number;
  /** The jobs that hold the slots, ten at most. */
  readonly jobIds: readonly string[];
  constructor(key: string, limit: number, jobIds: readonly string[]) {
    const holders = jobIds.length === 0 ? "jobs of the same call" : `job ${jobIds.join(", ")}`;
    super(
      "FAIRMILL_ACTIVE_LIMIT",
      `Not enqueued: "${key}" may have ${limit} active ${limit === 1 ? "job" : "jobs"}, and ${holders} ${jobIds.length === 1 ? "is" : "are"} active. Enqueue again when one has ended, or define the job with whenActive: "wait".`,
    );
    this.key = key;
    this.limit = limit;
    this.jobIds = jobIds;
  }
}

/** Not taken: a rate that counts at enqueue is used up. */
export class RateLimitError extends FairmillError {
  override readonly name = "RateLimitError";
  readonly scope: LimitScope | "key";
  /** Which queue, kind, tenant or key. */
  readonly of: string;
  /** When to enqueue again. Undefined: a list is longer than what the rate ever lets in at once; enqueue it in parts. */
  readonly retryAt: Date | undefined;
  constructor(
    scope: RateLimitError["scope"],
    of: string,
    { limit, perMs, how }: { readonly limit: number; readonly perMs: number; readonly how: "window" | "uniform" },
    retryAt: Date | undefined,
  ) {
    const rate = `the ${scope} "${of}" may have ${rateWords(limit, perMs)}`;
    const atOnce = how === "uniform" ? "one by one" : `no more than ${limit} at once`;
    super(
      "FAIRMILL_RATE_LIMIT",
      retryAt === undefined
        ? `Not enqueued: ${rate}, ${atOnce}, and the list has more of them. It will never fit: enqueue it in parts.`
        : `Not enqueued: ${rate}, and they are used up until ${retryAt.toISOString()}. Enqueue again then.`,
    );
    this.scope = scope;
    this.of = of;
    this.retryAt = retryAt;
  }
}

/** Not taken: the job asks for more units than a window of a named limit ever holds, so it would never start. */
export class OverLimitError extends FairmillError {
  override readonly name = "OverLimitError";
  /** The limit's name, the key of its count, and the unit. */
  readonly limit: string;
  readonly key: string;
  readonly unit: string;
  readonly asked: number;
  readonly most: number;
  constructor({ limit, key, unit, asked, most, per_ms }: OverFacts) {
    super(
      "FAIRMILL_OVER_LIMIT",
      `Not enqueued: the job asks for ${asked} ${unit} of the limit "${limit}", which never has more than ${rateWords(most, per_ms)}. Split the job, or raise the limit.`,
    );
    this.limit = limit;
    this.key = key;
    this.unit = unit;
    this.asked = asked;
    this.most = most;
  }
}

interface OverFacts {
  readonly limit: string;
  readonly key: string;
  readonly unit: string;
  readonly asked: number;
  readonly most: number;
  readonly per_ms: number;
}

interface ActiveFacts {
  readonly key: string;
  readonly limit: number;
  readonly jobs: readonly number[] | null;
}

interface RateFacts {
  readonly scope: LimitScope | "key";
  readonly name: string;
  readonly limit: number;
  readonly per_ms: number;
  readonly how: "window" | "uniform";
  /** Missing: never, because a list that must come at once is longer than the rate. */
  readonly retry_at?: string;
}

export const limitRefusals: RefusalTable = {
  FAIRMILL_OVER_LIMIT: (facts: OverFacts) => new OverLimitError(facts),
  FAIRMILL_ACTIVE_LIMIT: ({ key, limit, jobs }: ActiveFacts) =>
    new ActiveLimitError(
      nameOfKey(key),
      limit,
      (jobs ?? []).map((id) => String(id)),
    ),
  FAIRMILL_RATE_LIMIT: ({ scope, name, limit, per_ms, how, retry_at }: RateFacts) =>
    new RateLimitError(
      scope,
      scope === "key" ? nameOfKey(name) : name,
      { limit, perMs: per_ms, how },
      retry_at === undefined ? undefined : new Date(retry_at),
    ),
};

/** A limit_key is kind, tenant and key as a JSON array, or the first one or two of them. */
const nameOfKey = (limitKey: string): string => (JSON.parse(limitKey) as string[]).join(" / ");
