// Errors of pools, without the pool: an application that catches them loads no more.
import { FairmillError } from "../base/errors.js";

/** The children fail as soon as they are started, again and again. */
export class CrashLoopError extends FairmillError {
  override readonly name = "CrashLoopError";
  /** `kinds` of the jobs that the last one ran when it failed. */
  constructor(pool: string, failures: number, reason: string, kinds: readonly string[]) {
    const during = kinds.length === 0 ? "" : `, while it ran ${wordsOf(kinds)}`;
    super(
      "FAIRMILL_CRASH_LOOP",
      `The children of pool "${pool}" fail again and again, ${failures} times in a row without completing a job. The last one: ${reason}${during}. Repair that and start the supervisor again; "fairmill work" shows the error of a single process.`,
    );
  }
}

const KINDS_MAX = 5;

function wordsOf(kinds: readonly string[]): string {
  const named = kinds.slice(0, KINDS_MAX).map((kind) => `"${kind}"`);
  if (kinds.length > KINDS_MAX) named.push("others");
  return `jobs of ${kinds.length === 1 ? "the kind" : "the kinds"} ${named.join(", ")}`;
}

export class KubernetesError extends FairmillError {
  override readonly name = "KubernetesError";
  constructor(doing: string, why: string) {
    super(
      "FAIRMILL_KUBERNETES",
      `Kubernetes refused ${doing}: ${why}. The service account needs get and patch on deployments/scale, get on deployments, list and patch on pods.`,
    );
  }
}
