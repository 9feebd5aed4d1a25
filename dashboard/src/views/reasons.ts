// What a job may wait for: words, colours and the order in which charts stack them. The same colours everywhere: backlog, why, time.
import type { BacklogReason } from "../data/contract";

export interface Reason {
  readonly label: string;
  readonly tone: string;
  /** What would help. */
  readonly advice: string;
}

export const REASONS: Record<BacklogReason, Reason> = {
  runnable: { label: "Runnable", tone: "w-ready", advice: "more workers would help" },
  rate: { label: "Rate", tone: "w-rate", advice: "a higher rate would help" },
  "tenant cap": { label: "Tenant cap", tone: "w-limit", advice: "a higher cap would help" },
  "queue cap": { label: "Queue cap", tone: "w-limit-3", advice: "a higher cap would help" },
  "kind cap": { label: "Kind cap", tone: "w-limit-2", advice: "a higher cap would help" },
  key: { label: "Key", tone: "w-key", advice: "jobs of one key run one after another" },
  "provider closed": { label: "Provider closed", tone: "w-provider", advice: "the provider has to recover" },
  "budget spent": { label: "Budget spent", tone: "w-credits", advice: "a larger budget would help" },
  "no handler": { label: "No handler", tone: "w-worker", advice: "no worker knows the kind" },
  "no worker": { label: "No worker", tone: "w-worker-2", advice: "no living worker serves the queue" },
  paused: { label: "Paused", tone: "w-paused", advice: "resume it" },
  "waiting for a signal": { label: "Signal", tone: "w-signal", advice: "an answer is due" },
  sleeping: { label: "Sleeping", tone: "w-sleep", advice: "it wakes by itself" },
  retrying: { label: "Retrying", tone: "w-retry", advice: "it failed and waits for its next attempt" },
  scheduled: { label: "Scheduled", tone: "w-scheduled", advice: "its time has not come" },
};

export const REASON_ORDER = Object.keys(REASONS) as BacklogReason[];

export const reasonOf = (reason: string): Reason =>
  Object.hasOwn(REASONS, reason)
    ? REASONS[reason as BacklogReason]
    : // Of a decision, which does not tell the caps apart; or of a newer server.
      { label: capital(reason), tone: reason === "capped" ? "w-limit" : "w-other", advice: "" };

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Checks of a why answer, by the reason whose colour they have. */
const CHECKS: Record<string, readonly [string, string]> = {
  state: ["State", "w-other"],
  expired: ["Expiry", "w-other"],
  released: ["Released", "w-dependency"],
  credits: ["Credits", "w-credits"],
  scheduled: ["Scheduled", "w-scheduled"],
  paused: ["Paused", "w-paused"],
  "tenant cap": ["Tenant cap", "w-limit"],
  "queue cap": ["Queue cap", "w-limit-3"],
  "kind cap": ["Kind cap", "w-limit-2"],
  rate: ["Rate", "w-rate"],
  key: ["Key", "w-key"],
  limit: ["Limit in units", "w-limit-2"],
  provider: ["Provider", "w-provider"],
  budget: ["Budget", "w-credits"],
  worker: ["Worker", "w-worker"],
  turn: ["Turn", "w-ready"],
  dependency: ["Dependency", "w-dependency"],
  members: ["Members", "w-dependency"],
  order: ["Order", "w-key"],
};

export const checkOf = (check: string): readonly [string, string] =>
  Object.hasOwn(CHECKS, check) ? CHECKS[check]! : [capital(check), "w-other"];
