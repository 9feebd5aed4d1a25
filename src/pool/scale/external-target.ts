// Scales nothing itself: pods, or hosts, are started and ended by something else, which asks how many are desired (KEDA, an HPA, a script). One
// supervisor of the pool decides, its leader. What was decided last counts as there, and as starting until it is: else what is on its way would be taken back.
import type { Database } from "../../db/database.js";
import { leadPool, readReplicas } from "../pool-statements.js";
import type { ScaleTarget, TargetFacts } from "./scaler.js";

export interface ExternalTargetOptions {
  readonly db: Database;
  readonly pool: string;
  readonly supervisor: string;
  readonly leaseMs: number;
  /** Jobs that one pod runs at once, by queue. */
  readonly capacity: () => ReadonlyMap<string, number>;
}

export class ExternalTarget implements ScaleTarget {
  readonly #options: ExternalTargetOptions;

  constructor(options: ExternalTargetOptions) {
    this.#options = options;
  }

  async look(): Promise<TargetFacts | undefined> {
    const { db, pool, supervisor, leaseMs, capacity } = this.#options;
    if (!(await leadPool(db, pool, supervisor, leaseMs))) return undefined;
    const { desired, living, utilised } = await readReplicas(db, pool);
    const largest = Math.max(1, ...capacity().values());
    return {
      current: desired ?? living,
      ready: living,
      capacity: largest,
      busy: utilised * largest,
      // Pods are counted for the whole fleet.
      hosts: 1,
      memory: undefined,
    };
  }

  /** What is recorded is what callers are told. */
  async apply(): Promise<void> {}
}
