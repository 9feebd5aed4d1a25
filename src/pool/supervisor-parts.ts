// The parts of a supervisor, made of its settings: what claims for its children, what reports them, and what adopts their new code.
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import type { Database } from "../db/database.js";
import { Adoption } from "./adoption.js";
import { Claiming } from "./claiming.js";
import type { PartName } from "./health.js";
import type { Pool } from "./pool.js";
import { PoolReporter } from "./pool-reporter.js";
import type { SupervisorHealth } from "./supervisor-health.js";
import type { PoolConfig, SupervisorOptions, SupervisorSettings } from "./supervisor-settings.js";

/** What there is once the supervisor has begun to start. */
export interface SupervisorParts {
  readonly db: Database;
  /** Undefined: everything runs in one process. */
  readonly pool: Pool | undefined;
  readonly claiming: Claiming;
  readonly reporter: PoolReporter;
  readonly adoption: Adoption;
}

export interface MakePartsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly db: Database;
  readonly supervisor: string;
  readonly startedAtMs: number;
  readonly settings: SupervisorSettings;
  readonly config: PoolConfig;
  readonly options: SupervisorOptions;
  readonly pool: Pool | undefined;
  readonly stuckMs: number | undefined;
  readonly onReplaced: (part: PartName) => void;
  readonly health: () => SupervisorHealth;
}

export function makeParts(given: MakePartsOptions): SupervisorParts {
  const { clock, log, db, supervisor, settings, pool, config, options, stuckMs, onReplaced } = given;
  const claiming = new Claiming({ clock, log, db, supervisor, settings, pool, stuckMs, onReplaced });
  const reporter = new PoolReporter({
    ...{ db, supervisor, startedAtMs: given.startedAtMs, health: given.health },
    settings: () => claiming.settings,
    worker: () => claiming.worker.id,
    children: () => pool?.facts() ?? [],
    meanRunMs: () => claiming.times.meanMs([], settings.pool.targetWaitMs),
  });
  const adoption = new Adoption({ claiming, config, options, log, supervisor, offer: pool?.serving[0]?.offer });
  return { db, pool, claiming, reporter, adoption };
}
