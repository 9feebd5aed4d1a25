// How a supervisor is, for people and for probes: computed from what its parts say.
import type { Claiming } from "./claiming.js";
import type { PartName } from "./health.js";
import type { Pool } from "./pool.js";

export interface SupervisorHealth {
  readonly ok: boolean;
  /** Its parts get on, and its children are not given up: what a probe of liveness asks. */
  readonly live: boolean;
  /** It has started, is not stopping, and has a child that can be given jobs, where one is wanted: what a probe of readiness asks. */
  readonly ready: boolean;
  /** What is wrong, in words. */
  readonly problems: readonly string[];
  /** How long ago each part of the worker last succeeded. */
  readonly parts: Readonly<Record<PartName, number>>;
  readonly isListening: boolean;
  /** Parts that had to be replaced since the start. */
  readonly restarts: number;
  readonly children: { readonly wanted: number; readonly serving: number };
}

export interface HealthInputs {
  readonly claiming: Pick<Claiming, "partsMs" | "stuck" | "isListening" | "restarts"> | undefined;
  readonly pool: Pick<Pool, "serving" | "target"> | undefined;
  /** Why its children were given up. */
  readonly error: Error | undefined;
  /** It has started, and is not stopping. */
  readonly isRunning: boolean;
}

export function healthOf({ claiming, pool, error, isRunning }: HealthInputs): SupervisorHealth {
  const parts = claiming?.partsMs ?? { claim: 0, upkeep: 0, heartbeat: 0 };
  const serving = pool?.serving.length ?? 0;
  const wanted = pool?.target ?? 0;
  const stuck = claiming?.stuck();
  const problems = [
    ...(stuck === undefined ? [] : [`${stuck} has not succeeded for ${Math.round(parts[stuck])} ms`]),
    ...(serving === 0 && wanted > 0 ? [`none of ${wanted} children is ready`] : []),
    ...(error === undefined ? [] : [error.message]),
  ];
  return {
    ok: problems.length === 0,
    live: stuck === undefined && error === undefined,
    ready: problems.length === 0 && isRunning,
    problems,
    parts,
    isListening: claiming?.isListening ?? false,
    restarts: claiming?.restarts ?? 0,
    children: { wanted, serving },
  };
}
