// The worker that claims and settles for the children, and what runs its jobs in them. Liveness is progress: when a part of the worker has not
// succeeded for too long although the database answers, there is a new worker; so there is when the children's code offers other kinds or queues.
import type { Clock } from "../base/clock.js";
import { ShutdownError } from "../base/errors.js";
import type { Logger } from "../base/log.js";
import type { Database } from "../db/database.js";
import type { FromChild } from "./border/messages.js";
import type { Child } from "./child.js";
import { PARTS, type PartName, stuckMsOf, stuckPart } from "./health.js";
import type { Exit } from "./life-cycle.js";
import type { Pool } from "./pool.js";
import { readBeat } from "./pool-statements.js";
import type { RemoteRun } from "./remote-run.js";
import { RemoteRunner } from "./remote-runner.js";
import { RunTimes } from "./run-times.js";
import { busiestOf } from "./scale/busiest.js";
import type { SupervisorSettings } from "./supervisor-settings.js";
import { createPoolWorker, type Worker } from "./worker-port.js";

export interface ClaimingOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly db: Database;
  readonly supervisor: string;
  readonly settings: SupervisorSettings;
  /** Undefined: handlers run in this process. */
  readonly pool: Pool | undefined;
  readonly stuckMs: number | undefined;
  readonly onReplaced: (part: PartName) => void;
}

/** Behind a worker that is not used any more: how long its jobs may go on where they run. */
const RETIRE_GRACE_MS = 3_600_000;

export class Claiming {
  readonly times: RunTimes;
  readonly #options: ClaimingOptions;
  #settings: SupervisorSettings;
  #worker: Worker;
  /** That of the worker, then those of workers before it whose jobs still run. */
  #runners: RemoteRunner[] = [];
  #retiring = new Map<Worker, Promise<void>>();
  #runNumbers = 0;
  #seenAtMs: Record<PartName, number>;
  #isListening = false;
  #restarts = 0;

  constructor(options: ClaimingOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.times = new RunTimes(options.clock);
    const now = options.clock.monotonic();
    this.#seenAtMs = { claim: now, upkeep: now, heartbeat: now };
    this.#worker = this.#makeWorker();
  }

  get worker(): Worker {
    return this.#worker;
  }

  get settings(): SupervisorSettings {
    return this.#settings;
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  /** Workers that had to be replaced since the start. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Jobs that were claimed and that no child could take yet. */
  get waiting(): number {
    return this.#runners.reduce((sum, { waiting }) => sum + waiting, 0);
  }

  get runs(): RemoteRun[] {
    return this.#options.pool?.children.flatMap((child) => [...child.runs.values()]) ?? [];
  }

  async start(): Promise<void> {
    await this.#worker.start();
  }

  /** Jobs whose kind has a shorter grace are told to stop before the others are. */
  async stop(graceMs: number | undefined): Promise<void> {
    const { pool, clock } = this.#options;
    const { runs } = this;
    pool?.yieldAll();
    const longest = runs.map(({ claim }) => pool!.graceOf(claim.kind));
    const wholeMs = graceMs ?? Math.max(this.#settings.checked.graceMs, ...longest);
    const forget = runs.map((run) =>
      clock.after(Math.min(wholeMs, pool!.graceOf(run.claim.kind)), () => this.abort(run, new ShutdownError())),
    );
    // Those that retire wait for their jobs by themselves; what still runs at the end is told to stop by them.
    const rest = clock.after(wholeMs, () => {
      for (const run of this.runs) this.abort(run, new ShutdownError());
      for (const runner of this.#runners) runner.abortWaiting(new ShutdownError());
    });
    await Promise.all([this.#worker.stop({ grace: wholeMs }), ...this.#retiring.values()]);
    for (const one of [rest, ...forget]) one();
  }

  abort(run: RemoteRun, reason: Error): void {
    (run.home as RemoteRunner).abort(run, reason);
  }

  resize(serving: number): void {
    this.#worker.resize(serving);
  }

  hear(child: Child, message: FromChild): void {
    for (const runner of this.#runners) runner.hear(child, message);
  }

  lost(child: Child, exit: Exit): void {
    for (const runner of this.#runners) runner.lost(child, exit);
  }

  pump(): void {
    for (const runner of this.#runners) runner.pump();
  }

  /** How long ago each part last succeeded. */
  get partsMs(): Record<PartName, number> {
    const nowMs = this.#options.clock.monotonic();
    return Object.fromEntries(PARTS.map((part) => [part, nowMs - this.#seenAtMs[part]])) as Record<PartName, number>;
  }

  /** The database has answered: whatever has not succeeded for too long is not its fault. */
  async watch(): Promise<void> {
    const { clock, db } = this.#options;
    const beat = await readBeat(db, this.#worker.id);
    if (beat?.state === "alive") this.#seenAtMs.heartbeat = clock.monotonic() - beat.silentMs;
    const part = this.stuck();
    if (part !== undefined) await this.#replaceStuck(part);
  }

  stuck(): PartName | undefined {
    const { clock, pool, stuckMs } = this.#options;
    if (pool === undefined) return undefined;
    const { checked, capacity } = this.#settings;
    const perChild = [...capacity.values()].reduce((sum, each) => sum + each, 0);
    const running = pool.children.reduce((sum, child) => sum + child.running, 0) + this.waiting;
    const nowMs = clock.monotonic();
    // Without its lease a worker claims nothing: then the heartbeat is what is stuck.
    const holdsLease = nowMs - this.#seenAtMs.heartbeat < checked.leaseMs;
    return stuckPart({
      nowMs,
      seenAtMs: this.#seenAtMs,
      mayClaim: holdsLease && running < pool.serving.length * perChild,
      stuckMs: stuckMs ?? stuckMsOf(pool.settings.hangMs, checked.leaseMs, checked.pollMs),
    });
  }

  /** What it held is released, as far as the database lets it; children and their other work stay. */
  async #replaceStuck(part: PartName): Promise<void> {
    const { log, supervisor, onReplaced } = this.#options;
    this.#restarts++;
    log.error(
      { supervisor, worker: this.#worker.id, part },
      "A part of the worker has made no progress: replacing the worker",
    );
    await this.#replace(this.#settings, 0);
    onReplaced(part);
  }

  /** Other kinds or queues: a worker that claims them; what the one before has claimed goes on where it runs. */
  async adopt(settings: SupervisorSettings): Promise<void> {
    await this.#replace(settings, RETIRE_GRACE_MS);
  }

  async #replace(settings: SupervisorSettings, graceMs: number): Promise<void> {
    const old = this.#worker;
    const oldSettings = this.#settings;
    const oldRunners = [...this.#runners];
    this.#settings = settings;
    this.#worker = this.#makeWorker();
    try {
      await this.#worker.start();
    } catch (error) {
      // The old one is no worse than none: it stays, and the next look tries again.
      this.#worker = old;
      this.#settings = oldSettings;
      this.#runners = oldRunners;
      throw error;
    }
    const { log, supervisor } = this.#options;
    // What no child has taken goes back at once: the new worker claims it, if the code still knows its kind.
    for (const runner of oldRunners) runner.abortWaiting(new ShutdownError());
    const end = old
      .stop({ grace: graceMs })
      .catch((error: unknown) =>
        log.warn({ supervisor, worker: old.id, error: String(error) }, "The old worker did not stop well"),
      )
      .then(() => {
        this.#runners = this.#runners.filter((runner) => !oldRunners.includes(runner));
        this.#retiring.delete(old);
      });
    this.#retiring.set(old, end);
  }

  #makeWorker(): Worker {
    const { pool } = this.#options;
    const { worker: options } = this.#settings;
    for (const part of PARTS) this.#saw(part);
    if (pool === undefined) return createPoolWorker(options);
    const isCurrent = () => this.#worker === worker;
    const worker: Worker = createPoolWorker(options, {
      makeRunner: (runnerOptions, ends, stores) => {
        const runner = new RemoteRunner(this.#runnerFacts(pool), runnerOptions, ends, stores);
        this.#runners = [runner, ...this.#runners];
        return runner;
      },
      stats: () => {
        const { serving } = pool;
        const { capacity, busy } = busiestOf(serving, this.#settings.capacity);
        return { children: serving.length, utilisation: serving.length === 0 ? 0 : busy / capacity / serving.length };
      },
      onUpkept: () => isCurrent() && this.#saw("upkeep"),
    });
    worker.resize(pool.serving.length);
    worker.events.on("claimed", () => isCurrent() && this.#saw("claim"));
    worker.events.on("idle", () => isCurrent() && this.#saw("claim"));
    worker.events.on("listening", ({ working }) => {
      if (isCurrent()) this.#isListening = working;
    });
    worker.events.on("ended", ({ durationMs }) => this.times.ended(durationMs));
    return worker;
  }

  #runnerFacts(pool: Pool): ConstructorParameters<typeof RemoteRunner>[0] {
    return {
      allocation: this.#settings.pool.allocation,
      nextNumber: () => ++this.#runNumbers,
      children: () => pool.serving,
      onEnded: (child) => {
        pool.succeeded(child);
        pool.looked(child);
      },
      onGivenUp: (child, kind) =>
        pool.drain(child, { kind: "wanted", reason: `a handler of kind "${kind}" ignored its signal` }),
    };
  }

  #saw(part: PartName): void {
    this.#seenAtMs[part] = this.#options.clock.monotonic();
  }
}
