// What the services of a worker have in common, handed to each of them.
import type { Bus } from "../../base/bus.js";
import type { Clock } from "../../base/clock.js";
import type { Logger } from "../../base/log.js";
import type { Database } from "../../db/database.js";
import type { Codec } from "../job/codec.js";
import type { ContentStore } from "../job/stored-content.js";
import type { WorkerEmitter } from "./worker-events.js";
import type { WorkerNews } from "./worker-news.js";

/** The settings that the core reads; those of features are beside them (`src/worker/worker-settings.ts`). */
export interface CoreSettings {
  /** Jobs at once, by queue. */
  readonly concurrency: ReadonlyMap<string, number>;
  /** Jobs claimed ahead, by queue. */
  readonly prefetch: ReadonlyMap<string, number>;
  readonly leaseMs: number;
  readonly beatMs: number;
  /** Between heartbeats while the worker has no job. */
  readonly idleBeatMs: number;
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
  readonly contents: ContentStore | undefined;
}

export interface WorkerContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** What users listen to. */
  readonly events: WorkerEmitter;
  /** What the services tell one another. */
  readonly bus: Bus<WorkerNews>;
  readonly settings: CoreSettings;
  readonly kinds: readonly string[];
  /** The name of the present incarnation; another one after a rebirth. */
  readonly identity: { readonly id: string };
  /** Something failed that will be tried again: log it, announce it. */
  readonly trouble: (doing: string, error: unknown) => void;
}

/** Pauses between tries of what failed. */
export const RETRY = { firstMs: 100, maxMs: 5_000 } as const;
