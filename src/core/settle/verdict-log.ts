// One line in the log for every job that came to an end of its run.

import { serializeResult } from "../../base/json-content.js";
import type { Logger } from "../../base/log.js";
import type { Claim } from "../job/claim.js";
import type { Verdict } from "../job/outcome.js";

export function logVerdict(
  log: Logger,
  claim: Claim,
  verdict: Verdict,
  durationMs: number,
  scrub: (claim: Claim, text: string) => string = (_, text) => text,
): void {
  if (verdict.verdict === "done" && verdict.result === undefined && log.isLevelEnabled?.("info") === false) return;
  const facts = {
    worker: claim.worker,
    job: claim.id,
    kind: claim.kind,
    tenant: claim.tenant,
    attempt: claim.attempt,
    duration: `${(durationMs / 1000).toFixed(durationMs < 10_000 ? 3 : 1)}s`,
  };
  switch (verdict.verdict) {
    case "done": {
      const problem = verdict.result === undefined ? undefined : serializeResult(verdict.result).problem;
      if (problem) log.warn({ ...facts, problem }, "The job's result was not kept");
      return log.info(facts, "Job completed");
    }
    case "dead":
      return log.error(
        { ...facts, outcome: verdict.outcome, error: scrub(claim, verdict.error.message) },
        "Job failed for good",
      );
    case "retry":
      return log.warn(
        { ...facts, outcome: verdict.outcome, error: scrub(claim, verdict.error.message), retryInMs: verdict.delayMs },
        "Job failed, will be retried",
      );
    case "snooze":
      return log.info({ ...facts, againInMs: verdict.delayMs }, "Job snoozed");
    case "cancelled":
      return log.info(facts, "Job cancelled");
    case "crashed":
      return log.warn({ ...facts, crashes: claim.crashes + 1, reason: verdict.reason }, "Job's process died");
    case "release":
      return log.info(
        facts,
        verdict.yields ? "Job goes on in another run, at its next step: this process ends" : "Job released",
      );
  }
}
