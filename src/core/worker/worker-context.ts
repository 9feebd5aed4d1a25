// What the parts of a worker have in common, handed to each of them.
import type { Clock } from "../../base/clock.js";
import type { Logger } from "../../base/log.js";
import type { Database } from "../../db/database.js";
import type { Codec } from "../job/codec.js";
import type { WorkerEmitter } from "./worker-events.js";

/** The settings that the core reads; those of features are beside them (`src/worker/worker-settings.ts`). */
export interface CoreSettings {
  /** Jobs at once, by queue. */
  readonly concurrency: ReadonlyMap<string, number>;
  /** Jobs claimed ahead, by queue. */
  readonly prefetch: ReadonlyMap<string, number>;
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly stallMs: number;
  readonly pollMs: number | undefined;
  readonly graceMs: number;
  readonly abortGraceMs: number;
  readonly lowerShare: number;
  readonly claimJobsMax: number;
  readonly claimTenantMax: number | undefined;
  readonly crashesMax: number;
  readonly historyKeepMs: number;
  readonly codec: Codec | undefined;
}

export interface Parts {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: WorkerEmitter;
  readonly settings: CoreSettings;
  readonly kinds: readonly string[];
  /** Something failed that will be tried again: log it, announce it. */
  readonly trouble: (doing: string, error: unknown) => void;
}

/** Pauses between tries of what failed. */
export const RETRY = { firstMs: 100, maxMs: 5_000 } as const;
