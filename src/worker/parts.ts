// What the parts of a worker have in common, handed to each of them.
import type { Clock } from "../model/clock.js";
import type { WorkerEmitter } from "../observe/events.js";
import type { Logger } from "../observe/log.js";
import type { Database } from "../store/database.js";
import type { WorkerSettings } from "./settings.js";

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
