// The pool of a supervisor, made of its settings: what children are told, how many there are at first.
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import type { ChildProgram } from "./child-process.js";
import { Pool } from "./pool.js";
import type { PoolEvents } from "./pool-options.js";
import type { PoolSettings } from "./pool-settings.js";
import { floorAt } from "./scale/floors.js";
import type { SupervisorSettings } from "./supervisor-settings.js";

export interface CreatePoolOptions extends PoolEvents {
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: SupervisorSettings;
  readonly schema: string;
  readonly program: Pick<ChildProgram, "entry" | "args">;
  readonly capacity: () => ReadonlyMap<string, number>;
}

export function createPool(options: CreatePoolOptions): { readonly pool: Pool; readonly first: number } {
  const { clock, log, settings, schema, program, capacity, ...events } = options;
  const { pool, checked } = settings;
  const { leaseMs, abortGraceMs, stepsMax, effectsMax, effectsBytesMax, keepLogs, redact, graceMs } = checked;
  const run = { leaseMs, abortGraceMs, stepsMax, effectsMax, effectsBytesMax, keepLogs, redact };
  return {
    pool: new Pool({
      ...events,
      ...{ clock, log, settings: pool, graceMs, abortGraceMs },
      child: {
        capacity,
        process: {
          program: { ...program, execArgv: pool.execArgv },
          hangMs: pool.hangMs,
          settings: { schema, ...run },
        },
      },
    }),
    first: firstSizeOf(pool, clock),
  };
}

/** Where pods are scaled, what is in one of them is fixed. Never more than the least: the pool grows when there is a reason. */
function firstSizeOf({ pods, min, floors }: PoolSettings, clock: Clock): number {
  if (pods !== undefined) return pods.childrenPerPod;
  return Math.max(min, floorAt(floors, clock.now())?.min ?? 0);
}
