// A worker process: claims, runs and settles until it is stopped. This file only wires the stages together.
//
//  start  1. register an incarnation            stop  1. claim no more
//         2. begin heartbeats, upkeep, the ear        2. let running jobs end within the grace period
//         3. loop: demand → claim → run → settle      3. abort the rest, release them without spending an attempt
//                                                     4. say goodbye, close
import { hostname } from "node:os";
import { Claimer } from "../claim/claimer.js";
import { WakeUp } from "../claim/wake.js";
import type { Claim } from "../model/claim.js";
import { type Clock, sleep, systemClock } from "../model/clock.js";
import { JobCancelledError, LeaseLostError, ShutdownError } from "../model/errors.js";
import { serializeResult } from "../model/json-content.js";
import type { Verdict } from "../model/outcome.js";
import { VERSION } from "../model/version.js";
import { newWorkerId } from "../model/worker-id.js";
import { WorkerEmitter } from "../observe/events.js";
import { createLogger, type Logger } from "../observe/log.js";
import { handlerTable } from "../run/handler.js";
import { type Run, Runner } from "../run/runner.js";
import { Heartbeat } from "../settle/heartbeat.js";
import { ProgressKeeper } from "../settle/progress.js";
import { Settler } from "../settle/settler.js";
import { Database } from "../store/database.js";
import { explainFailure, isTransient } from "../store/failures.js";
import { cancelRequests, registerWorker, releaseUnknown, setListening, stopWorker } from "../store/workers.js";
import { Upkeep } from "../upkeep/upkeep.js";
import { Doorbell } from "./doorbell.js";
import { checkWorkerOptions, type WorkerOptions, type WorkerSettings } from "./settings.js";
import { Slots } from "./slots.js";

const RESCAN_MS = 2_000;
const UPKEEP_MS = 10_000;
/** Polling when notifications arrive, and when they do not. */
const POLL_MS = { listening: 10_000, deaf: 1_000 };
/** After a failed claim nobody knows what was claimed: look for jobs that are ours without our knowing, for this long. */
const RECONCILE_FOR_MS = 60_000;
const RECONCILE_EVERY_MS = 5_000;
const RETRY_MS = { min: 100, max: 5_000 };
/** Claims in a row that filled every place: from then on the worker does not want to be woken, it looks anyway. */
const BUSY_TURNS = 8;
/** Verdicts that may wait to be written before the worker stops claiming. */
const UNSETTLED_MAX_FACTOR = 4;

export class Worker {
  readonly events = new WorkerEmitter();
  readonly #settings: WorkerSettings;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #db: Database;
  readonly #slots: Slots;
  readonly #claimer: Claimer;
  readonly #runner: Runner;
  readonly #settler: Settler;
  readonly #progress: ProgressKeeper;
  readonly #upkeep: Upkeep;
  readonly #wakeUp: WakeUp;
  readonly #bell = new Doorbell();
  readonly #kinds: readonly string[];
  /** Every claim in our hands, from claim to settled. */
  readonly #runs = new Map<string, Run>();
  readonly #stopping = new AbortController();
  readonly #counts = { claimed: 0, done: 0, failed: 0, refused: 0 };

  #id: string;
  #heartbeat: Heartbeat | undefined;
  #state: "new" | "started" | "stopping" | "stopped" = "new";
  #loop: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  #isListed = false;
  #busyTurns = 0;
  #reconcileUntilMs = 0;
  #reconciledAtMs = 0;
  #newLife: Promise<void> | undefined;

  constructor(options: WorkerOptions) {
    this.#settings = checkWorkerOptions(options);
    const { concurrency, lowerShare, crashesMax, historyKeepMs, abortGraceMs } = this.#settings;
    const handlers = handlerTable(options.handlers);
    const queues = [...concurrency.keys()];
    this.#clock = options.clock ?? systemClock;
    this.#log = options.logger ?? createLogger();
    this.#kinds = [...handlers.keys()];
    this.#db = new Database(options, { connectionsMax: 3 + queues.length, applicationName: "fairmill worker" });
    this.#id = this.#newId();
    this.#slots = new Slots(concurrency);
    const trouble = (doing: string) => (error: unknown) => this.#trouble(doing, error);
    this.#claimer = new Claimer(this.#db, this.#clock, { queues, kinds: this.#kinds, lowerShare, rescanMs: RESCAN_MS });
    this.#progress = new ProgressKeeper(this.#db, this.#clock, trouble("keeping progress"));
    this.#runner = new Runner({
      handlers,
      clock: this.#clock,
      logger: this.#log,
      abortGraceMs,
      onProgress: (claim, value) => this.#progress.report(claim, value),
    });
    this.#settler = new Settler(this.#db, this.#clock, {
      groupJobsMax: 2_000,
      onSettled: (worker, ids) => this.events.emit("settled", { worker, ids }),
      onRefused: (worker, ids) => this.#refused(worker, ids),
      onTrouble: trouble("settling"),
    });
    this.#upkeep = new Upkeep(this.#db, this.#clock, {
      crashesMax,
      historyKeepMs,
      everyMs: UPKEEP_MS,
      onReport: (report) => {
        if (report.promoted + report.expired + report.recovered + report.ended + report.removed === 0) return;
        this.events.emit("upkeep", report);
        if (report.recovered + report.ended > 0)
          this.#log.warn(
            { worker: this.#id, recovered: report.recovered, ended: report.ended },
            "Took over jobs of dead workers",
          );
        if (report.promoted + report.recovered > 0) this.#wake();
      },
      onTrouble: trouble("upkeep"),
    });
    this.#wakeUp = new WakeUp(this.#db, this.#clock, {
      onQueue: (queue) => this.#wake(queue),
      onCancel: (worker) => worker === this.#id && void this.#askForCancels(),
      onChange: (working) => this.#earChanged(working),
      onTrouble: trouble("listening"),
    });
  }

  /** The name of this incarnation: host-pid-start-random. */
  get id(): string {
    return this.#id;
  }

  /** Registers and begins to work; resolves when the worker claims. */
  async start(): Promise<this> {
    if (this.#state !== "new") throw new Error("A worker is started once; create another one.");
    this.#state = "started";
    try {
      await this.#register();
    } catch (error) {
      this.#state = "stopped";
      await this.#db.close();
      throw explainFailure(error, this.#db.schema);
    }
    this.#heartbeat = new Heartbeat(this.#db, this.#clock, this.#id, {
      leaseMs: this.#settings.leaseMs,
      beatMs: this.#settings.beatMs,
      stallMs: this.#settings.stallMs,
      stats: () => this.#stats(),
      onDead: (worker) => this.#lostLife(worker),
      onLeaseOver: (worker) => this.#leaseOver(worker),
      onCancelled: (ids) => this.#abort(ids, new JobCancelledError()),
      onTrouble: (message) => this.#trouble("heartbeat", new Error(message)),
    });
    this.#wakeUp.start();
    this.#upkeep.start();
    this.#loop = this.#work();
    this.#log.info(
      { worker: this.#id, queues: Object.fromEntries(this.#settings.concurrency), kinds: this.#kinds },
      "Worker started",
    );
    this.events.emit("started", { worker: this.#id });
    return this;
  }

  /** Stops gracefully; a second call returns the same promise. `grace` overrides the setting, in milliseconds. */
  stop(options: { graceMs?: number } = {}): Promise<void> {
    this.#stopped ??= this.#stop(options.graceMs ?? this.#settings.graceMs);
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  // ── the loop ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #work(): Promise<void> {
    const { signal } = this.#stopping;
    let retryMs = RETRY_MS.min;
    while (!signal.aborted) {
      try {
        await this.#newLife;
        await this.#reconcile();
        await this.#turn();
        retryMs = RETRY_MS.min;
      } catch (error) {
        this.#trouble("claiming", error);
        // The claim may have happened although its answer did not arrive.
        this.#reconcileUntilMs = this.#clock.monotonic() + RECONCILE_FOR_MS;
        this.#claimer.markStale();
        await sleep(this.#clock, retryMs * (0.5 + this.#clock.random()), signal);
        retryMs = isTransient(error) ? Math.min(RETRY_MS.max, retryMs * 2) : RETRY_MS.max;
      }
    }
  }

  async #turn(): Promise<void> {
    const demand = this.#demand();
    if (demand.size === 0) return this.#slots.freed();
    let wanted = 0;
    for (const count of demand.values()) wanted += count;

    const claims = this.#claimer.hasWork ? await this.#claimer.claim(this.#id, demand) : [];
    if (claims.length > 0) {
      this.#counts.claimed += claims.length;
      this.events.emit("claimed", { worker: this.#id, claims });
      for (const claim of claims) this.#run(claim);
    }
    this.#busyTurns = claims.length >= wanted ? this.#busyTurns + 1 : 0;
    if (this.#busyTurns === BUSY_TURNS) await this.#list(false);
    if (this.#claimer.hasWork) return;
    if (await this.#list(this.#wakeUp.working)) return this.#claimer.markStale();
    await this.#idle();
  }

  /** Sleeps until somebody rings, or until it is time to look although nobody did. */
  async #idle(): Promise<void> {
    this.events.emit("idle", { worker: this.#id });
    const pollMs = this.#settings.pollMs ?? (this.#wakeUp.working ? POLL_MS.listening : POLL_MS.deaf);
    const nap = new AbortController();
    const timer = sleep(this.#clock, pollMs * (0.8 + 0.4 * this.#clock.random()), nap.signal);
    let polled = false;
    await this.#bell.wait(timer.then(() => (polled = !nap.signal.aborted)));
    nap.abort();
    if (polled) this.#claimer.markStale();
  }

  /** What each queue could take; nothing while too many verdicts wait to be written. */
  #demand(): Map<string, number> {
    return this.#runs.size - this.#slots.used > this.#slots.total * UNSETTLED_MAX_FACTOR
      ? new Map()
      : this.#slots.free();
  }

  /** Says in the database whether this worker wants notifications. True when that changed to yes: then look once more. */
  async #list(wanted: boolean): Promise<boolean> {
    if (this.#isListed === wanted) return false;
    await setListening(this.#db, this.#id, wanted);
    this.#isListed = wanted;
    return wanted;
  }

  #wake(queue?: string): void {
    this.#claimer.markStale(queue);
    this.#bell.ring();
  }

  #earChanged(working: boolean): void {
    this.events.emit("listening", { working });
    if (!working && this.#state === "started")
      this.#log.debug({ worker: this.#id }, "Notifications do not arrive; polling");
    if (!working) this.#isListed = false;
    // Something may have been missed while nobody listened, and the list of listeners must be brought up to date.
    this.#wake();
  }

  // ── one job ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #run(claim: Claim): void {
    const { queue } = claim;
    const run = this.#runner.start(claim);
    const handle = `${claim.worker} ${claim.id}`;
    this.#slots.take(queue);
    this.#runs.set(handle, run);
    this.#log.debug(
      { worker: claim.worker, job: claim.id, kind: claim.kind, tenant: claim.tenant, attempt: claim.attempt },
      "Job claimed",
    );
    if (this.events.listenerCount("running") > 0) this.events.emit("running", { claim });
    void run.over.then(() => this.#slots.give(queue));
    void run.verdict
      .then((verdict) => this.#settle(run, verdict))
      .catch((error: unknown) => this.#trouble("settling", error))
      .finally(() => {
        this.#runs.delete(handle);
        this.#slots.notify();
      });
  }

  async #settle(run: Run, verdict: Verdict): Promise<void> {
    const durationMs = this.#clock.monotonic() - run.startedAtMs;
    if (this.events.listenerCount("ended") > 0) this.events.emit("ended", { claim: run.claim, verdict, durationMs });
    const { accepted } = await this.#settler.settle({ claim: run.claim, verdict });
    if (!accepted) return;
    this.#logVerdict(run.claim, verdict, durationMs);
    if (verdict.verdict === "retry" || verdict.verdict === "snooze") this.#upkeep.dueIn(verdict.delayMs);
  }

  #logVerdict(claim: Claim, verdict: Verdict, durationMs: number): void {
    const facts = {
      worker: claim.worker,
      job: claim.id,
      kind: claim.kind,
      tenant: claim.tenant,
      attempt: claim.attempt,
      duration: `${(durationMs / 1000).toFixed(durationMs < 10_000 ? 3 : 1)}s`,
    };
    switch (verdict.verdict) {
      case "done": {
        this.#counts.done++;
        const problem = verdict.result === undefined ? undefined : serializeResult(verdict.result).problem;
        if (problem) this.#log.warn({ ...facts, problem }, "The job's result was not kept");
        return this.#log.info(facts, "Job completed");
      }
      case "dead":
        this.#counts.failed++;
        return this.#log.error(
          { ...facts, outcome: verdict.outcome, error: verdict.error.message },
          "Job failed for good",
        );
      case "retry":
        this.#counts.failed++;
        return this.#log.warn(
          { ...facts, outcome: verdict.outcome, error: verdict.error.message, retryInMs: verdict.delayMs },
          "Job failed, will be retried",
        );
      case "snooze":
        return this.#log.info({ ...facts, againInMs: verdict.delayMs }, "Job snoozed");
      case "cancelled":
        return this.#log.info(facts, "Job cancelled");
      case "release":
        return this.#log.info(facts, "Job released");
    }
  }

  #refused(worker: string, ids: readonly string[]): void {
    this.#counts.refused += ids.length;
    this.#log.warn(
      { worker, jobs: ids.slice(0, 20), count: ids.length },
      "Settle refused: the lease was lost, another worker has the job",
    );
    this.events.emit("refused", { worker, ids });
  }

  #abort(ids: readonly string[], reason: Error): void {
    const wanted = new Set(ids);
    for (const run of this.#runs.values())
      if (wanted.has(run.claim.id) && run.claim.worker === this.#id) run.abort(reason);
  }

  async #askForCancels(): Promise<void> {
    try {
      this.#abort(await cancelRequests(this.#db, this.#id), new JobCancelledError());
    } catch (error) {
      this.#trouble("asking for cancelled jobs", error);
    }
  }

  // ── life and death ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  #newId(): string {
    return newWorkerId({ host: hostname(), pid: process.pid, nowMs: this.#clock.now(), random: this.#clock.random() });
  }

  async #register(): Promise<void> {
    await registerWorker(this.#db, {
      id: this.#id,
      queues: [...this.#settings.concurrency.keys()],
      kinds: this.#kinds,
      leaseMs: this.#settings.leaseMs,
      concurrency: this.#slots.total,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
    });
    this.#isListed = false;
  }

  /** The lease ran out without an answer: whoever is running must stop, because somebody else may start. */
  #leaseOver(worker: string): void {
    this.#log.warn({ worker, running: this.#runs.size }, "The lease could not be renewed in time: aborting what runs");
    for (const run of this.#runs.values()) run.abort(new LeaseLostError());
    this.events.emit("lost", { worker });
  }

  /** The database declared this incarnation dead. Its jobs are others' now; begin a new life under a new name. */
  #lostLife(worker: string): void {
    if (worker !== this.#id || this.#newLife || this.#state !== "started") return;
    this.#log.warn({ worker, running: this.#runs.size }, "This worker was declared dead: beginning a new life");
    for (const run of this.#runs.values()) run.abort(new LeaseLostError());
    this.events.emit("lost", { worker });
    this.#newLife = this.#beginNewLife().finally(() => {
      this.#newLife = undefined;
    });
  }

  async #beginNewLife(): Promise<void> {
    for (let retryMs = RETRY_MS.min; !this.#stopping.signal.aborted; retryMs = Math.min(RETRY_MS.max, retryMs * 2)) {
      try {
        this.#id = this.#newId();
        await this.#register();
        this.#heartbeat?.rename(this.#id);
        this.#claimer.markStale();
        this.#bell.ring();
        this.#log.info({ worker: this.#id }, "Worker started");
        return;
      } catch (error) {
        this.#trouble("registering", error);
        await sleep(this.#clock, retryMs, this.#stopping.signal);
      }
    }
  }

  /** Gives back what the database says is ours and we know nothing of: the answer to a claim was lost. */
  async #reconcile(): Promise<void> {
    const nowMs = this.#clock.monotonic();
    if (nowMs > this.#reconcileUntilMs || nowMs - this.#reconciledAtMs < RECONCILE_EVERY_MS) return;
    this.#reconciledAtMs = nowMs;
    const known = [...this.#runs.values()]
      .filter(({ claim }) => claim.worker === this.#id)
      .map(({ claim }) => claim.id);
    const released = await releaseUnknown(this.#db, this.#id, known);
    if (released > 0)
      this.#log.warn({ worker: this.#id, released }, "Released jobs whose claim was answered into a broken connection");
  }

  #stats(): object {
    return { ...this.#counts, running: this.#slots.used, rssBytes: process.memoryUsage.rss() };
  }

  #trouble(doing: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#log.warn({ worker: this.#id, doing, error: message }, "Trouble, will try again");
    this.events.emit("trouble", { doing, error });
  }

  async #stop(graceMs: number): Promise<void> {
    if (this.#state === "new" || this.#state === "stopped") {
      this.#state = "stopped";
      return this.#db.close();
    }
    this.#state = "stopping";
    this.#log.info({ worker: this.#id, running: this.#runs.size }, "Worker stopping");
    this.#stopping.abort();
    this.#bell.ring();
    this.#slots.notify();
    await this.#loop;
    await this.#wakeUp.stop();

    const allOver = () => Promise.all([...this.#runs.values()].map((run) => run.verdict));
    if (this.#runs.size > 0) await raceTimer(this.#clock, graceMs, allOver());
    for (const run of this.#runs.values()) run.abort(new ShutdownError());
    if (this.#runs.size > 0) await raceTimer(this.#clock, this.#settings.abortGraceMs + 100, allOver());
    await this.#progress.stop();
    await raceTimer(this.#clock, 10_000, this.#settler.drained());
    this.#settler.abandon();
    await this.#upkeep.stop();
    const released = await stopWorker(this.#db, this.#id).catch((error: unknown) => {
      this.#trouble("saying goodbye", error);
      return 0;
    });
    await this.#heartbeat?.stop();
    await this.#db.close();
    this.#state = "stopped";
    this.#log.info({ worker: this.#id, released }, "Worker stopped");
    this.events.emit("stopped", { worker: this.#id, released });
  }
}

export const createWorker = (options: WorkerOptions): Worker => new Worker(options);

async function raceTimer(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const nap = new AbortController();
  await Promise.race([work, sleep(clock, ms, nap.signal)]);
  nap.abort();
}
