// Who this worker is: its name, its lease, and what happens when it loses it.
//
//  1. Register under a new name, and let the heartbeat thread keep the lease.
//  2. Silence for longer than the lease: whoever runs must stop, because others may start.
//  3. Declared dead by the database: begin a new life under a new name.
import { hostname } from "node:os";
import { RetryPause } from "../../base/retry-pause.js";
import { VERSION } from "../../base/version.js";
import { Heartbeat } from "./heartbeat.js";
import { type Parts, RETRY } from "./worker-context.js";
import { newWorkerId } from "./worker-id.js";
import { registerWorker, stopWorker } from "./worker-statements.js";

export interface IncarnationOptions {
  readonly stats: () => object;
  /** The jobs in hand may be somebody else's by now. */
  readonly onLost: () => void;
  /** A new life has begun: everything that was known of the old one is void. */
  readonly onReborn: () => void;
  readonly onCancelled: (ids: readonly string[]) => void;
}

export class Incarnation {
  readonly #parts: Parts;
  readonly #options: IncarnationOptions;
  readonly #stopping = new AbortController();
  #id: string;
  #heartbeat: Heartbeat | undefined;
  #rebirth: Promise<void> | undefined;
  /** While the lease is over and not renewed. */
  #pause: Promise<void> | undefined;
  #endPause = () => {};

  constructor(parts: Parts, options: IncarnationOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#id = this.#newId();
  }

  get id(): string {
    return this.#id;
  }

  async start(): Promise<void> {
    await this.#register();
    const { db, clock, settings, trouble } = this.#parts;
    this.#heartbeat = new Heartbeat(db, clock, this.#id, {
      leaseMs: settings.leaseMs,
      beatMs: settings.beatMs,
      stallMs: settings.stallMs,
      stats: this.#options.stats,
      onDead: (worker) => this.#die(worker),
      onLeaseOver: (worker) => this.#beOver(worker),
      onRenewed: () => this.#endPause(),
      onCancelled: this.#options.onCancelled,
      onTrouble: (message) => trouble("heartbeat", new Error(message)),
    });
  }

  /** Resolves when there is a life to work in: at once, unless the lease is over or a new life is being registered. */
  async alive(): Promise<void> {
    while (this.#rebirth || this.#pause) await (this.#rebirth ?? this.#pause);
  }

  /** Begins no new life any more. */
  retire(): void {
    this.#stopping.abort();
    this.#endPause();
  }

  /** Says goodbye; returns how many jobs were still held and went back. */
  async stop(): Promise<number> {
    this.retire();
    await this.#rebirth;
    const released = await stopWorker(this.#parts.db, this.#id).catch((error: unknown) => {
      this.#parts.trouble("saying goodbye", error);
      return 0;
    });
    await this.#heartbeat?.stop();
    return released;
  }

  /** Ends the heartbeats without a goodbye: the jobs go to others when the lease is over. */
  async abandon(): Promise<void> {
    this.retire();
    await this.#heartbeat?.stop();
  }

  #newId(): string {
    const { clock } = this.#parts;
    return newWorkerId({ host: hostname(), pid: process.pid, nowMs: clock.now(), random: clock.random() });
  }

  async #register(): Promise<void> {
    const { db, settings, kinds, log } = this.#parts;
    const queues = [...settings.concurrency.keys()];
    const concurrency = [...settings.concurrency.values()].reduce((sum, each) => sum + each, 0);
    await registerWorker(db, {
      id: this.#id,
      queues,
      kinds,
      leaseMs: settings.leaseMs,
      concurrency,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
    });
    log.info({ worker: this.#id, queues: Object.fromEntries(settings.concurrency), kinds }, "Worker started");
  }

  #lose(worker: string, why: string): void {
    this.#parts.log.warn({ worker }, why);
    this.#options.onLost();
    this.#parts.events.emit("lost", { worker });
  }

  /** What would be claimed now would be somebody else's before long: nothing is, until a heartbeat comes through. */
  #beOver(worker: string): void {
    this.#pause ??= new Promise((resolve) => {
      this.#endPause = () => {
        this.#pause = undefined;
        resolve();
      };
    });
    this.#lose(worker, "The lease could not be renewed in time: aborting what runs");
  }

  #die(worker: string): void {
    if (worker !== this.#id || this.#rebirth || this.#stopping.signal.aborted) return;
    this.#lose(worker, "This worker was declared dead: beginning a new life");
    this.#rebirth = this.#beReborn().finally(() => {
      this.#rebirth = undefined;
    });
  }

  async #beReborn(): Promise<void> {
    const { clock, trouble } = this.#parts;
    const { signal } = this.#stopping;
    const pause = new RetryPause(clock, RETRY);
    while (!signal.aborted) {
      try {
        this.#id = this.#newId();
        await this.#register();
        this.#heartbeat?.rename(this.#id);
        this.#endPause();
        this.#options.onReborn();
        return;
      } catch (error) {
        trouble("registering", error);
        await pause.wait(signal);
      }
    }
  }
}
