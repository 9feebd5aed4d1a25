// What the parts of a worker have in common, handed to each of them.
import type { Clock } from "../../base/clock.js";
import type { Logger } from "../../base/log.js";
import type { Database } from "../../db/database.js";
import type { WorkerSettings } from "../../worker/worker-settings.js";
import type { WorkerEmitter } from "./worker-events.js";

export interface Parts {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: WorkerEmitter;
  readonly settings: WorkerSettings;
  readonly kinds: readonly string[];
  /** Something failed that will be tried again: log it, announce it. */
  readonly trouble: (doing: string, error: unknown) => void;
}

/** Pauses between tries of what failed. */
export const RETRY = { firstMs: 100, maxMs: 5_000 } as const;
