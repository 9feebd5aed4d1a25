// Who this worker is: its name, its lease, and what happens when it loses it.
//
//  1. Register under a new name, and let the heartbeat thread keep the lease.
//  2. Silence for longer than the lease: what runs must stop, because other workers may start it.
//  3. Declared dead by the database: begin a new life under a new name.
import { hostname } from "node:os";
import { retrying } from "../../base/retry.js";
import { VERSION } from "../../base/version.js";
import { Heartbeat } from "./heartbeat.js";
import { RETRY, type WorkerContext } from "./worker-context.js";
import type { WorkerIdentity } from "./worker-id.js";
import { cancelRequests, registerWorker, stopWorker } from "./worker-statements.js";

export class Incarnation {
  readonly #context: WorkerContext;
  readonly #identity: WorkerIdentity;
  readonly #told: { readonly stats: () => object; readonly isIdle: () => boolean };
  readonly #stopping = new AbortController();
  #heartbeat: Heartbeat | undefined;
  #rebirth: Promise<void> | undefined;
  /** While the lease is over and not renewed. */
  #pause: Promise<void> | undefined;
  #endPause = () => {};

  /** `stats`: figures that every heartbeat carries; `isIdle`: the worker has no job. */
  constructor(
    context: WorkerContext,
    identity: WorkerIdentity,
    told: { readonly stats: () => object; readonly isIdle: () => boolean },
  ) {
    this.#context = context;
    this.#identity = identity;
    this.#told = told;
    context.bus.on("cancelRequested", (worker) => void this.#askForCancels(worker));
  }

  get id(): string {
    return this.#identity.id;
  }

  async start(): Promise<void> {
    await this.#register();
    this.#heartbeat = new Heartbeat(this.#context, {
      ...this.#told,
      onDead: (worker) => this.#die(worker),
      onLeaseOver: (worker) => this.#onLeaseOver(worker),
      onRenewed: () => this.#endPause(),
    });
  }

  /** False while the lease is over, or a new life is being registered. */
  get isAlive(): boolean {
    return !this.#rebirth && !this.#pause;
  }

  /** Resolves when there is a life to work in. */
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
    const released = await stopWorker(this.#context.db, this.id).catch((error: unknown) => {
      this.#context.trouble("saying goodbye", error);
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

  async #register(): Promise<void> {
    const { db, settings, kinds, log } = this.#context;
    const queues = [...settings.concurrency.keys()];
    const concurrency = [...settings.concurrency.values()].reduce((sum, each) => sum + each, 0);
    await registerWorker(db, {
      id: this.id,
      queues,
      kinds,
      leaseMs: settings.leaseMs,
      concurrency,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
    });
    log.info({ worker: this.id, queues: Object.fromEntries(settings.concurrency), kinds }, "Worker started");
  }

  #lose(worker: string, why: string): void {
    this.#context.log.warn({ worker }, why);
    this.#context.bus.tell("lost", { worker });
  }

  /** What would be claimed now would soon be another worker's: nothing is, until a heartbeat comes through. */
  #onLeaseOver(worker: string): void {
    this.#pause ??= new Promise((resolve) => {
      this.#endPause = () => {
        this.#pause = undefined;
        resolve();
      };
    });
    this.#lose(worker, "The lease could not be renewed in time: aborting what runs");
  }

  #die(worker: string): void {
    if (worker !== this.id || this.#rebirth || this.#stopping.signal.aborted) return;
    this.#lose(worker, "This worker was declared dead: beginning a new life");
    this.#rebirth = this.#beReborn().finally(() => {
      this.#rebirth = undefined;
    });
  }

  async #beReborn(): Promise<void> {
    const { bus, clock, trouble } = this.#context;
    const { signal } = this.#stopping;
    const register = async () => {
      const id = this.#identity.renew();
      await this.#register();
      this.#heartbeat?.rename(id);
    };
    try {
      await retrying(register, {
        ...{ clock, signal, pauses: RETRY },
        mayRepeat: () => true,
        onTrouble: (error) => trouble("registering", error),
      });
    } catch {
      // The worker stops.
      return;
    }
    this.#endPause();
    bus.tell("wake", undefined);
  }

  async #askForCancels(worker: string): Promise<void> {
    const { bus, db, trouble } = this.#context;
    if (worker !== this.id) return;
    try {
      bus.tell("cancel", { worker, ids: await cancelRequests(db, worker) });
    } catch (error) {
      trouble("asking for cancelled jobs", error);
    }
  }
}
