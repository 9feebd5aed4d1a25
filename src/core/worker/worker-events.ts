// What a worker announces while it works. Tests, metrics and dashboards listen; nobody has to.
import { EventEmitter } from "node:events";
import type { ContentChange } from "../../base/content-changes.js";
import type { Throttled } from "../claim/closed-limit.js";
import type { Claim } from "../job/claim.js";
import type { Verdict } from "../job/outcome.js";

export interface WorkerEvents {
  /** Registered and claiming. */
  started: [{ worker: string }];
  /** Told at the start: queues of the worker that no handler's job has, and kinds whose queue the worker does not serve. */
  unserved: [{ worker: string; queues: readonly string[]; kinds: readonly string[] }];
  /** Notifications arrive (true), or only polling finds work (false). */
  listening: [{ working: boolean }];
  /** A claim brought jobs. */
  claimed: [{ worker: string; claims: readonly Claim[] }];
  /** Limits kept a claim from taking more from a queue: closed ones, whose jobs stay ready, and jobs that the rate of a key put back. */
  throttled: [{ worker: string } & Throttled];
  /** Nothing was found; the worker sleeps until it is woken or polls. */
  idle: [{ worker: string }];
  /** A handler began. */
  running: [{ claim: Claim }];
  /** A handler came to an end and the job's fate is decided, not yet written. */
  ended: [{ claim: Claim; verdict: Verdict; durationMs: number }];
  /** What a handler returned, or kept as a step or as progress, is kept otherwise than it was: JSON or PostgreSQL does not know it. */
  changed: [{ claim: Claim; what: string; changes: readonly ContentChange[] }];
  /** The fate of these jobs is written, durably. */
  settled: [{ worker: string; ids: readonly string[] }];
  /** Settles that were refused: somebody else holds or ended these jobs. */
  refused: [{ worker: string; ids: readonly string[] }];
  /** The database declared this incarnation dead, or it could not renew its lease in time. */
  lost: [{ worker: string }];
  /** Upkeep changed something. */
  upkeep: [
    {
      promoted: number;
      expired: number;
      recovered: number;
      ended: number;
      removed: number;
      batches: readonly string[];
    },
  ];
  /** A handler asked for a job in a batch: it is stored with the settle of the handler's own job. */
  registered: [{ worker: string; job: string | null; kind: string; batch: string }];
  /** Upkeep found a batch over that waited for more registrations: how many there were, and when the last one was. */
  stable: [{ worker: string; batch: string; registered: number; lastRegisteredAt: Date | null }];
  /** This worker ticked a schedule: the jobs that were made, and how many ticks a limit refused. */
  ticked: [{ schedule: string; jobIds: readonly string[]; refused: number }];
  /** Something failed that will be tried again. */
  trouble: [{ doing: string; error: unknown }];
  stopped: [{ worker: string; released: number }];
}

/**
 * What a worker's listeners attach to. A plain emitter by its type, although it is more: releases of `@types/node` disagree about the
 * signature of `emit`, so a declaration that overrides it compiles under some of them only.
 */
export type WorkerEmitter = EventEmitter<WorkerEvents>;

export const createWorkerEmitter = (): WorkerEmitter => new SafeEmitter() as unknown as WorkerEmitter;

/** Listeners belong to the user: one that throws or rejects is announced as trouble, and what the worker was about to do goes on. */
class SafeEmitter extends EventEmitter {
  constructor() {
    super({ captureRejections: true });
  }

  override emit(name: string | symbol, ...args: unknown[]): boolean {
    try {
      return super.emit(name, ...args);
    } catch (error) {
      return this.#announce(name, error);
    }
  }

  /** Where Node hands in what asynchronous listeners reject with. */
  [Symbol.for("nodejs.rejection")](error: unknown, name: string | symbol): void {
    this.#announce(name, error);
  }

  #announce(name: string | symbol, error: unknown): boolean {
    return name !== "trouble" && this.emit("trouble", { doing: `telling listeners of "${String(name)}"`, error });
  }
}
