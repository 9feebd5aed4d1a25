// Errors of pools, without the pool: an application that catches them loads no more.
import { FairmillError } from "../base/errors.js";

/** The children fail as soon as they are started, again and again. */
export class CrashLoopError extends FairmillError {
  override readonly name = "CrashLoopError";
  constructor(pool: string, failures: number, reason: string) {
    super(
      "FAIRMILL_CRASH_LOOP",
      `The children of pool "${pool}" fail again and again, ${failures} times in a row without completing a job. The last one: ${reason}. Repair that and start the supervisor again; "fairmill work" shows the error of a single process.`,
    );
  }
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
