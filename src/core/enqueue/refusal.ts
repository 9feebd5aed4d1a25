// What the database says of a job that it did not take, as the error that a caller gets.

import type { FairmillError } from "../../base/errors.js";
import type { LimitScope } from "../../limits/limit-settings.js";
import {
  ActiveLimitError,
  BatchEndedError,
  CreditsExhaustedError,
  DuplicateJobError,
  RateLimitError,
} from "./refusal-errors.js";

/** Why a job was not taken, as the database says it. */
export type Refusal =
  | {
      readonly code: "FAIRMILL_RATE_LIMIT";
      readonly scope: LimitScope | "key";
      readonly name: string;
      readonly limit: number;
      readonly per_ms: number;
      readonly how: "window" | "uniform";
      /** Missing: never, because a list that must come at once is longer than the rate. */
      readonly retry_at?: string;
    }
  | {
      readonly code: "FAIRMILL_ACTIVE_LIMIT";
      readonly key: string;
      readonly limit: number;
      readonly jobs: readonly number[] | null;
    }
  | {
      readonly code: "FAIRMILL_CREDITS_EXHAUSTED";
      readonly account: string;
      readonly amount: number;
      readonly balance: number;
    }
  | { readonly code: "FAIRMILL_BATCH_ENDED"; readonly batch: string }
  | { readonly code: "FAIRMILL_DUPLICATE_JOB"; readonly kind: string; readonly job_id: string | null };

export function toError(refusal: Refusal): FairmillError {
  if (refusal.code === "FAIRMILL_ACTIVE_LIMIT")
    return new ActiveLimitError(
      nameOfKey(refusal.key),
      refusal.limit,
      (refusal.jobs ?? []).map((id) => String(id)),
    );
  if (refusal.code === "FAIRMILL_CREDITS_EXHAUSTED")
    return new CreditsExhaustedError(refusal.account, refusal.amount, refusal.balance);
  if (refusal.code === "FAIRMILL_BATCH_ENDED") return new BatchEndedError(refusal.batch);
  if (refusal.code === "FAIRMILL_DUPLICATE_JOB")
    return new DuplicateJobError(refusal.kind, refusal.job_id ?? undefined);
  const { scope, name, limit, per_ms, how, retry_at } = refusal;
  const of = scope === "key" ? nameOfKey(name) : name;
  return new RateLimitError(
    scope,
    of,
    { limit, perMs: per_ms, how },
    retry_at === undefined ? undefined : new Date(retry_at),
  );
}

/** A limit_key is kind, tenant and key as a JSON array, or the first one or two of them. */
const nameOfKey = (limitKey: string): string => (JSON.parse(limitKey) as string[]).join(" / ");
