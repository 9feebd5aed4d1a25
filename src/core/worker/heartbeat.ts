// The main thread's side of the heartbeat: starts the thread, shows it signs of life, and judges the lease by the answers.
import { Worker as Thread } from "node:worker_threads";
import type { Clock } from "../../base/clock.js";
import type { Database } from "../../db/database.js";
import { heartbeatStatement } from "./worker-statements.js";

export interface BeatSettings {
  readonly connection: Record<string, unknown>;
  readonly statement: string;
  readonly worker: string;
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly stallMs: number;
}

/** A sign of life from the main loop, with what the next beat shall say. */
export interface Pulse {
  readonly worker: string;
  readonly stats: object;
}

export type BeatReport =
  | {
      readonly type: "beat";
      readonly worker: string;
      readonly sentAtMs: number;
      readonly alive: boolean;
      readonly cancelled: readonly string[];
    }
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "stalled"; readonly stalledMs: number };

export interface HeartbeatOptions {
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly stallMs: number;
  readonly stats: () => object;
  /** The database declared the worker dead: it must begin a new life. */
  readonly onDead: (worker: string) => void;
  /** The lease ran out without an answer: whoever holds jobs must stop, others may have them by now. */
  readonly onLeaseOver: (worker: string) => void;
  /** The lease was over, and could be renewed after all. */
  readonly onRenewed: () => void;
  readonly onCancelled: (ids: readonly string[]) => void;
  readonly onTrouble: (message: string) => void;
}

export class Heartbeat {
  readonly #clock: Clock;
  readonly #options: HeartbeatOptions;
  readonly #thread: Thread;
  #worker: string;
  #renewedAtMs: number;
  #isOver = false;
  #forget: (() => void) | undefined;
  #stopped = false;

  constructor(db: Database, clock: Clock, worker: string, options: HeartbeatOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#worker = worker;
    this.#renewedAtMs = clock.monotonic();
    const { leaseMs, beatMs, stallMs } = options;
    const settings: BeatSettings = {
      connection: db.connectionSettings,
      statement: heartbeatStatement(db),
      worker,
      leaseMs,
      beatMs,
      stallMs,
    };
    this.#thread = new Thread(new URL("./beat-thread.js", import.meta.url), {
      workerData: settings,
      stdout: false,
      stderr: false,
    });
    this.#thread.on("message", (report: BeatReport) => this.#hear(report));
    this.#thread.on("error", (error) => options.onTrouble(`The heartbeat thread failed: ${error.message}`));
    this.#thread.unref();
    this.#pulse();
  }

  /** The process began a new life under another name. */
  rename(worker: string): void {
    this.#worker = worker;
    this.#renewedAtMs = this.#clock.monotonic();
    this.#isOver = false;
    this.#send();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#forget?.();
    this.#thread.postMessage("stop");
    await this.#thread.terminate();
  }

  #pulse(): void {
    this.#send();
    // Answers that came in while the loop was blocked are heard before the lease is judged.
    setImmediate(() => this.#judge());
    this.#forget = this.#clock.after(Math.min(1_000, this.#options.beatMs / 2), () => this.#pulse());
  }

  #send(): void {
    this.#thread.postMessage({ worker: this.#worker, stats: this.#options.stats() } satisfies Pulse);
  }

  /** Silence for longer than the lease means that it is over, whatever the reason; counted from when the last good beat was sent. */
  #judge(): void {
    if (this.#stopped || this.#isOver || this.#clock.monotonic() - this.#renewedAtMs <= this.#options.leaseMs) return;
    this.#isOver = true;
    this.#options.onLeaseOver(this.#worker);
  }

  #hear(report: BeatReport): void {
    if (this.#stopped) return;
    if (report.type === "failed") return this.#options.onTrouble(report.message);
    if (report.type === "stalled") return;
    if (report.worker !== this.#worker) return;
    if (!report.alive) return this.#options.onDead(report.worker);
    this.#renewedAtMs = report.sentAtMs;
    if (this.#isOver) {
      this.#isOver = false;
      this.#options.onRenewed();
    }
    if (report.cancelled.length > 0) this.#options.onCancelled(report.cancelled);
  }
}
