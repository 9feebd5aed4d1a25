// The main thread's side of the heartbeat: starts the thread, shows it signs of life, and judges the lease by the answers.
import { Worker as Thread } from "node:worker_threads";
import { type Service, ServiceLoop } from "../../base/service.js";
import { RETRY, type WorkerContext } from "./worker-context.js";
import { heartbeatStatement } from "./worker-statements.js";

export interface BeatSettings {
  readonly connection: Record<string, unknown>;
  readonly statement: string;
  readonly worker: string;
  readonly leaseMs: number;
  readonly beatMs: number;
  /** The same while the worker has no job that a lease protects. */
  readonly idleBeatMs: number;
  readonly stallMs: number;
}

/** A sign of life from the main loop, with what the next beat tells the database. */
export interface Pulse {
  readonly worker: string;
  readonly stats: object;
  /** The worker has no job. */
  readonly isIdle: boolean;
}

export type BeatReport =
  | {
      readonly type: "beat";
      readonly worker: string;
      readonly sentAtMs: number;
      readonly tookMs: number;
      readonly alive: boolean;
      readonly cancelled: readonly string[];
    }
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "stalled"; readonly stalledMs: number };

export interface HeartbeatOptions {
  readonly stats: () => object;
  /** The worker has no job now. */
  readonly isIdle: () => boolean;
  /** The database declared the worker dead: it must begin a new life. */
  readonly onDead: (worker: string) => void;
  /** The lease ran out without an answer: what runs must stop, other workers may have the jobs by now. */
  readonly onLeaseOver: (worker: string) => void;
  /** The lease was over, and could be renewed after all. */
  readonly onRenewed: () => void;
}

/** A service: a round shows the thread a sign of life, and judges the lease. */
export class Heartbeat implements Service {
  readonly name = "heartbeat";
  readonly retry = RETRY;
  readonly #context: WorkerContext;
  readonly #options: HeartbeatOptions;
  readonly #thread: Thread;
  readonly #loop: ServiceLoop;
  #worker: string;
  #renewedAtMs: number;
  #isOver = false;
  #isStopped = false;

  constructor(context: WorkerContext, options: HeartbeatOptions) {
    const { db, clock, identity, trouble } = context;
    this.#context = context;
    this.#options = options;
    this.#worker = identity.id;
    this.#renewedAtMs = clock.monotonic();
    const { leaseMs, beatMs, idleBeatMs, stallMs } = context.settings;
    const settings: BeatSettings = {
      connection: db.connectionSettings,
      statement: heartbeatStatement(db),
      worker: this.#worker,
      leaseMs,
      beatMs,
      idleBeatMs,
      stallMs,
    };
    this.#thread = new Thread(new URL("./beat-thread.js", import.meta.url), {
      workerData: settings,
      stdout: false,
      stderr: false,
    });
    this.#thread.on("message", (report: BeatReport) => this.#onReport(report));
    this.#thread.on("error", (error) =>
      trouble("heartbeat", new Error(`The heartbeat thread failed: ${error.message}`)),
    );
    this.#thread.unref();
    this.#loop = new ServiceLoop(clock, this, trouble);
    this.#loop.start();
  }

  async runOnce(): Promise<number> {
    this.#send();
    // Answers that came in while the event loop was blocked are heard before the lease is judged.
    await new Promise((resolve) => setImmediate(resolve));
    this.#judge();
    return Math.min(1_000, this.#context.settings.beatMs / 2);
  }

  /** The process began a new life under another name. */
  rename(worker: string): void {
    this.#worker = worker;
    this.#renewedAtMs = this.#context.clock.monotonic();
    this.#isOver = false;
    this.#send();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#loop.stop();
    this.#thread.postMessage("stop");
    await this.#thread.terminate();
  }

  #send(): void {
    const { stats, isIdle } = this.#options;
    this.#thread.postMessage({ worker: this.#worker, stats: stats(), isIdle: isIdle() } satisfies Pulse);
  }

  /** Silence for longer than the lease means that it is over, whatever the reason; counted from when the last good beat was sent. */
  #judge(): void {
    const silentMs = this.#context.clock.monotonic() - this.#renewedAtMs;
    if (this.#isStopped || this.#isOver || silentMs <= this.#context.settings.leaseMs) return;
    this.#isOver = true;
    this.#options.onLeaseOver(this.#worker);
  }

  #onReport(report: BeatReport): void {
    const { bus, db, trouble } = this.#context;
    if (this.#isStopped || report.type === "stalled") return;
    if (report.type === "failed") return trouble("heartbeat", new Error(report.message));
    db.calls.tell({ name: "heartbeat", durationMs: report.tookMs, rows: 1, outcome: "ok" });
    if (report.worker !== this.#worker) return;
    if (!report.alive) return this.#options.onDead(report.worker);
    this.#renewedAtMs = report.sentAtMs;
    if (this.#isOver) {
      this.#isOver = false;
      this.#options.onRenewed();
    }
    if (report.cancelled.length > 0) bus.tell("cancel", { worker: report.worker, ids: report.cancelled });
  }
}
