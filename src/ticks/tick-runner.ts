// Runs ticks: each is a short life of a worker that claims, runs and settles what fits into its budget. Any number may overlap.
//
//  1. A bounded share of upkeep: due jobs, jobs of dead workers, ticks of schedules.
//  2. Register with a lease of what is left of the budget and a margin: there are no heartbeats.
//  3. Claim and run, until nothing is ready, the tick has its share, or the grace period begins.
//  4. Jobs with steps stop at their next one, others may end; what still runs is told to stop and given back.
//  5. Say goodbye, write the row, evaluate alerts if it is time, answer what is left.

import { hostname } from "node:os";
import { AlertKeeper } from "../alerts/alert-keeper.js";
import { VERSION } from "../base/version.js";
import { reportStableBatches } from "../batches/stable-batches.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { Upkeep } from "../core/upkeep/upkeep.js";
import { createWorkerEmitter } from "../core/worker/worker-events.js";
import { reportNews } from "../core/worker/worker-reports.js";
import { registerWorker, stopWorker } from "../core/worker/worker-statements.js";
import { Database } from "../db/database.js";
import { explainFailure } from "../db/explain-failure.js";
import { SchemaFit } from "../db/migrate/schema-fit.js";
import { countReady, recordTick } from "../intervals/interval-statements.js";
import { WorkerFigures } from "../intervals/worker-figures.js";
import { setKeyRules } from "../limits/limit-statements.js";
import { tellProviders } from "../providers/tell-providers.js";
import { ScheduleTicker } from "../schedules/ticker.js";
import { assembleWork, definitionsOf } from "../worker/assemble.js";
import { clockAndLogOf, contextOver, type FeatureContext } from "../worker/create-context.js";
import { TickClaimer } from "./tick-claimer.js";
import { claimAndRun, type Times, timesOf, windDown } from "./tick-life.js";
import { TickServices } from "./tick-services.js";
import { LEASE_MARGIN_MS, type TickOptions, type TickSettings } from "./tick-settings.js";
import { nextDueInMs, readKnownRuns } from "./tick-statements.js";
import { UsualRuns } from "./usual-runs.js";

/** What a tick did. */
export interface TickReport {
  /** The name under which it worked, as in `worker_tick_metrics`. */
  readonly worker: string;
  readonly claimed: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Jobs that limits kept waiting. */
  readonly throttled: number;
  /** Jobs that are ready in its queues now, counted up to 10,000. */
  readonly remaining: number;
  /** When the next tick finds something to do, as an ISO time: now, if something remains. Null: never, as things are. */
  readonly nextAt: string | null;
}

/** What upkeep may take of the budget, and its rounds. */
const UPKEEP_SHARE = 0.2;
const UPKEEP_ROUNDS_MAX = 10;
/** Connections are closed when nothing was asked for so long: a function is frozen between two calls. */
const IDLE_MS_MAX = 5_000;

export class TickRunner {
  readonly #options: TickOptions;
  readonly #settings: TickSettings;
  readonly #shared: Pick<FeatureContext, "db" | "clock" | "log">;
  readonly #definitions: readonly JobDefinition[];
  readonly #kinds: readonly string[];
  readonly #queues: readonly string[];
  readonly #usual: UsualRuns;
  readonly #told = new Set<string>();
  #ready: Promise<void> | undefined;

  constructor(options: TickOptions, settings: TickSettings) {
    const db = new Database(options, {
      connectionsMax: settings.connectionsMax,
      applicationName: "fairmill tick",
      idleMsMax: IDLE_MS_MAX,
      answerMsMax: Math.max(5_000, settings.budgetMs),
    });
    this.#options = options;
    this.#settings = settings;
    this.#shared = { db, ...clockAndLogOf(options) };
    this.#definitions = definitionsOf(options);
    this.#kinds = this.#definitions.map(({ kind }) => kind);
    this.#queues = [...settings.worker.concurrency.keys()];
    this.#usual = new UsualRuns(this.#kinds);
    // What no tick could work with is refused here and now.
    assembleWork(this.#newContext(), options);
  }

  async close(): Promise<void> {
    await this.#shared.db.close();
  }

  async runOnce(): Promise<TickReport> {
    const { db, clock } = this.#shared;
    const times = timesOf(clock.monotonic(), this.#settings);
    try {
      await this.#prepare();
      return await this.#tick(times);
    } catch (error) {
      throw explainFailure(error, db.schema);
    }
  }

  /** Once a process; a failure is tried again by the next tick. */
  #prepare(): Promise<void> {
    this.#ready ??= this.#start().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #start(): Promise<void> {
    const { db } = this.#shared;
    await new SchemaFit(db).check();
    await setKeyRules(db, this.#definitions);
    await tellProviders(db, this.#definitions);
    this.#usual.learn(await readKnownRuns(db, this.#kinds));
  }

  /** Of one tick: a name, events and a bus of its own, over the connections of all. */
  #newContext(): FeatureContext {
    const context = contextOver(this.#shared, this.#settings.worker, this.#kinds, createWorkerEmitter());
    reportNews(context);
    reportStableBatches(context);
    context.events.on("ended", ({ claim, durationMs }) => this.#usual.ran(claim.kind, durationMs));
    context.bus.on("stepped", ({ kind, ms }) => this.#usual.stepped(kind, ms));
    return context;
  }

  async #tick(times: Times): Promise<TickReport> {
    const { db, clock, log } = this.#shared;
    const context = this.#newContext();
    const worker = context.identity.id;
    const figures = new WorkerFigures(context);
    await this.#upkeep(context, times);
    const depth = await countReady(db, this.#queues);
    if (depth > 0) await this.#work(context, figures, times);
    const { counts } = figures.now;
    const facts = figures.take().facts();
    const intervalMs = Math.round(clock.monotonic() - times.startMs);
    const { ready = 0, throttled } = await recordTick(
      db,
      worker,
      {
        ...facts,
        mode: "tick",
        interval_ms: intervalMs,
        tick_duration_ms: intervalMs,
        budget_ms: Math.round(this.#settings.budgetMs),
        queue_depth_at_start: depth,
        running: 0,
        looked_at: this.#queues,
      },
      0,
    );
    await this.#alerts(context, times);
    const nextMs = await nextDueInMs(db, this.#queues);
    const report: TickReport = {
      worker,
      claimed: counts.claimed,
      succeeded: counts.succeeded,
      failed: counts.failed,
      throttled,
      remaining: ready,
      nextAt: nextMs === undefined ? null : new Date(clock.now() + Math.max(0, nextMs)).toISOString(),
    };
    log.info({ ...report, durationMs: intervalMs }, "Tick done");
    return report;
  }

  /** Where there are only ticks, they evaluate the alerts: one of them at a time, a round at most every so often, with the time that is left. */
  async #alerts(context: FeatureContext, times: Times): Promise<void> {
    const { alerts } = this.#settings.worker;
    if (alerts === undefined || context.clock.monotonic() >= times.closeMs) return;
    await new AlertKeeper(context, alerts)
      .evaluate()
      .catch((error: unknown) => context.trouble("evaluating alerts", error));
  }

  async #upkeep(context: FeatureContext, times: Times): Promise<void> {
    const { clock } = context;
    const upkeep = new Upkeep(context, [new ScheduleTicker(context)]);
    const { signal } = new AbortController();
    const untilMs = times.startMs + this.#settings.budgetMs * UPKEEP_SHARE;
    // A round that leaves something says so; what another session has locked is the next tick's.
    for (let round = 0; round < UPKEEP_ROUNDS_MAX && clock.monotonic() < untilMs; round++)
      if ((await upkeep.runOnce(signal)) > 0) return;
  }

  async #work(context: FeatureContext, figures: WorkerFigures, times: Times): Promise<void> {
    const { clock, db, identity, settings, trouble } = context;
    const claimer = new TickClaimer(context, {
      queues: this.#queues,
      lowerShare: settings.lowerShare,
      tenantJobsMax: this.#settings.tenantJobsMax,
      onContended: () => figures.now.counts.contended++,
    });
    const { jobs, progress, logs, providers } = assembleWork(context, this.#options, {
      isTimeUp: () => clock.monotonic() >= times.closeMs,
    });
    await this.#register(context, times);
    const services = new TickServices(context, progress, logs, providers);
    const life = { context, claimer, jobs, services, times };
    try {
      await claimAndRun(life, this.#settings.jobsMax, this.#usual);
    } catch (error) {
      trouble("claiming", error);
    } finally {
      await windDown(life);
      this.#tellUnfit();
      // What is still listed as this one's goes back: jobs whose claim was not answered, or whose verdict could not be written.
      await stopWorker(db, identity.id).catch((error: unknown) => trouble("saying goodbye", error));
    }
  }

  async #register({ clock, db, identity, kinds, settings }: FeatureContext, times: Times): Promise<void> {
    await registerWorker(db, {
      id: identity.id,
      queues: this.#queues,
      kinds,
      leaseMs: Math.max(1_000, times.endMs - clock.monotonic()) + LEASE_MARGIN_MS,
      concurrency: [...settings.concurrency.values()].reduce((sum, each) => sum + each, 0),
      host: hostname(),
      pid: process.pid,
      version: VERSION,
    });
  }

  /** A kind that does not even fit into a whole tick waits for ever where there are only ticks: once a process and kind. */
  #tellUnfit(): void {
    const { log } = this.#shared;
    const { startMs, abortMs } = timesOf(0, this.#settings);
    const wholeMs = abortMs - startMs;
    for (const kind of this.#kinds) {
      const needMs = this.#usual.meanMs(kind);
      if (needMs <= wholeMs || this.#told.has(kind)) continue;
      this.#told.add(kind);
      log.warn(
        { kind, usualMs: Math.round(needMs), fitsMs: Math.round(wholeMs) },
        "Jobs of this kind usually run longer than a tick lasts, so ticks do not claim them: raise the budget, divide the job into steps, or start a worker",
      );
    }
  }
}
