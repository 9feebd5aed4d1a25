// Runs ticks: each is a short life of a worker that claims, runs and settles what fits into its budget. Any number may overlap.
//
//  1. A bounded share of upkeep: due jobs, jobs of dead workers, ticks of schedules. In the same round trip, where jobs are ready:
//  2. Register with a lease of what is left of the budget and a margin: there are no heartbeats.
//  3. Claim and run, until nothing is ready, the tick has its share, or the grace period begins.
//  4. Jobs with steps stop at their next one, others may end; what still runs is told to stop and given back.
//  5. Say goodbye, write the row, evaluate alerts if it is time, answer what is left.

import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { AlertKeeper } from "../alerts/alert-keeper.js";
import { VERSION } from "../base/version.js";
import { reportStableBatches } from "../batches/stable-batches.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { Upkeep } from "../core/upkeep/upkeep.js";
import { createWorkerEmitter } from "../core/worker/worker-events.js";
import { reportNews } from "../core/worker/worker-reports.js";
import type { WorkerFacts } from "../core/worker/worker-statements.js";
import { Database } from "../db/database.js";
import { explainFailure } from "../db/explain-failure.js";
import { SchemaFit } from "../db/migrate/schema-fit.js";
import { WorkerFigures } from "../intervals/worker-figures.js";
import { setKeyRules } from "../limits/limit-statements.js";
import { tellEnds } from "../outbox/message-end.js";
import { tellProviders } from "../providers/tell-providers.js";
import { ScheduleTicker } from "../schedules/ticker.js";
import { assembleWork, definitionsOf } from "../worker/assemble.js";
import { clockAndLogOf, contextOver, type FeatureContext } from "../worker/create-context.js";
import { TickClaimer } from "./tick-claimer.js";
import { claimAndRun, type Times, timesOf, windDown } from "./tick-life.js";
import { isoOf, type TickReport } from "./tick-report.js";
import { TickServices } from "./tick-services.js";
import { LEASE_MARGIN_MS, type TickOptions, type TickSettings } from "./tick-settings.js";
import {
  endTick,
  type Found,
  findWork,
  leaveAll,
  lookAhead,
  openTick,
  readKnownRuns,
  takeSlot,
} from "./tick-statements.js";
import { UsualRuns } from "./usual-runs.js";

/** What upkeep may take of the budget, and its rounds. */
const UPKEEP_SHARE = 0.2;
const UPKEEP_ROUNDS_MAX = 10;
/** A round of alerts that is a little early is better than every second one: ticks do not come on the same beat. */
const ALERTS_SHARE = 0.9;
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
  /** Where only so many may work at once: of which handler. */
  readonly #slotOf: string | undefined;
  #ready: Promise<void> | undefined;
  /** Not before this moment are alerts asked for again. */
  #alertsAtMs = Number.NEGATIVE_INFINITY;

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
    this.#slotOf = settings.parallel === undefined ? undefined : nameOf(this.#queues, this.#kinds);
    // What no tick could work with is refused here and now.
    assembleWork(this.#newContext(), options);
  }

  async close(): Promise<void> {
    await this.#shared.db.close();
  }

  /** `onFound` is told how many jobs were ready when the tick began. */
  async runOnce(onFound: (ready: number) => void = () => {}): Promise<TickReport> {
    const { db, clock } = this.#shared;
    const times = timesOf(clock.monotonic(), this.#settings);
    const context = this.#newContext();
    let hasBegun = false;
    try {
      await this.#prepare();
      hasBegun = true;
      return (await this.#hasPlace(context, times))
        ? await this.#tick(context, times, onFound)
        : await this.#leftOut(context);
    } catch (error) {
      // It may be registered by now, or have a place: no one should wait for these until their lease is over.
      if (hasBegun) await leaveAll(db, context.identity.id, this.#slotOf);
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
    await tellEnds(db, this.#definitions);
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

  async #hasPlace(context: FeatureContext, times: Times): Promise<boolean> {
    const { parallel } = this.#settings;
    return parallel === undefined || takeSlot(context.db, this.#slotOf!, parallel, this.#factsOf(context, times));
  }

  /** As many as may are working: nothing is done, and no row is written. */
  async #leftOut({ clock, db, identity, log }: FeatureContext): Promise<TickReport> {
    const { ready, nextInMs } = await lookAhead(db, this.#queues);
    const nothing = { claimed: 0, succeeded: 0, failed: 0, throttled: 0 };
    const report = { worker: identity.id, ...nothing, remaining: ready, nextAt: isoOf(clock.now(), nextInMs) };
    log.info({ ...report, parallel: this.#settings.parallel }, "Tick left out: as many as may are working");
    return report;
  }

  async #tick(context: FeatureContext, times: Times, onFound: (ready: number) => void): Promise<TickReport> {
    const { clock, log } = this.#shared;
    const worker = context.identity.id;
    const figures = new WorkerFigures(context);
    const found = await this.#open(context, times);
    onFound(found.ready);
    if (found.ready > 0) await this.#work(context, figures, found, times);
    const { counts } = figures.now;
    const { intervalMs, ready = 0, throttled, nextInMs } = await this.#end(context, figures, found, times);
    await this.#alerts(context, times);
    const report: TickReport = {
      worker,
      claimed: counts.claimed,
      succeeded: counts.succeeded,
      failed: counts.failed,
      throttled,
      remaining: ready,
      nextAt: isoOf(clock.now(), nextInMs),
    };
    log.info({ ...report, durationMs: intervalMs }, "Tick done");
    return report;
  }

  /** Upkeep, then what there is to do: in one round trip, unless much is due. */
  async #open(context: FeatureContext, times: Times): Promise<Found> {
    const { clock, db, settings } = context;
    const upkeep = new Upkeep(context, [new ScheduleTicker(context)]);
    const { signal } = new AbortController();
    const untilMs = times.startMs + this.#settings.budgetMs * UPKEEP_SHARE;
    const opened = await openTick(db, settings, this.#factsOf(context, times));
    // A round that leaves something says so; what another session has locked is the next tick's.
    let isDone = (await upkeep.follow(opened.upkeep, signal)) > 0;
    if (isDone) return opened;
    for (let round = 1; !isDone && round < UPKEEP_ROUNDS_MAX && clock.monotonic() < untilMs; round++)
      isDone = (await upkeep.runOnce(signal)) > 0;
    // The lanes are as they were before these rounds: they are read again.
    return opened.ready > 0 ? { ready: opened.ready, lanes: new Map() } : findWork(db, this.#factsOf(context, times));
  }

  async #end(context: FeatureContext, figures: WorkerFigures, found: Found, times: Times) {
    const { clock, db, identity, trouble } = context;
    const facts = figures.take().facts();
    const intervalMs = Math.round(clock.monotonic() - times.startMs);
    const row = {
      ...facts,
      mode: "tick" as const,
      interval_ms: intervalMs,
      tick_duration_ms: intervalMs,
      budget_ms: Math.round(this.#settings.budgetMs),
      queue_depth_at_start: found.ready,
      running: 0,
      looked_at: this.#queues,
    };
    const onTrouble = (error: unknown) => trouble("saying goodbye", error);
    const held = { isRegistered: found.ready > 0, slotOf: this.#slotOf };
    return { intervalMs, ...(await endTick(db, identity.id, row, { ...held, onTrouble })) };
  }

  /**
   * Where there are only ticks, they evaluate the alerts: one of them at a time, a round at most every so often, with the time that is left. A process that
   * asked a moment ago does not ask again.
   */
  async #alerts(context: FeatureContext, times: Times): Promise<void> {
    const { alerts } = this.#settings.worker;
    const nowMs = context.clock.monotonic();
    if (alerts === undefined || nowMs >= times.closeMs || nowMs < this.#alertsAtMs) return;
    this.#alertsAtMs = nowMs + alerts.everyMs * ALERTS_SHARE;
    await new AlertKeeper(context, alerts)
      .evaluate()
      .catch((error: unknown) => context.trouble("evaluating alerts", error));
  }

  async #work(context: FeatureContext, figures: WorkerFigures, { lanes }: Found, times: Times): Promise<void> {
    const { clock, settings, trouble } = context;
    const claimer = new TickClaimer(context, {
      queues: this.#queues,
      lowerShare: settings.lowerShare,
      tenantJobsMax: this.#settings.tenantJobsMax,
      lanes,
      onContended: () => figures.now.counts.contended++,
    });
    const { jobs, progress, logs, providers } = assembleWork(context, this.#options, {
      // One step at least: otherwise a job whose time is always up would come again for ever.
      mustYield: (stepsDone) => stepsDone > 0 && clock.monotonic() >= times.closeMs,
    });
    const services = new TickServices(context, progress, logs, providers);
    const life = { context, claimer, jobs, services, times };
    try {
      await claimAndRun(life, this.#settings.jobsMax, this.#usual);
    } catch (error) {
      trouble("claiming", error);
    } finally {
      await windDown(life);
      this.#tellUnfit();
    }
  }

  #factsOf({ clock, identity, kinds, settings }: FeatureContext, times: Times): WorkerFacts {
    return {
      id: identity.id,
      queues: this.#queues,
      kinds,
      leaseMs: Math.max(1_000, times.endMs - clock.monotonic()) + LEASE_MARGIN_MS,
      concurrency: [...settings.concurrency.values()].reduce((sum, each) => sum + each, 0),
      host: hostname(),
      pid: process.pid,
      version: VERSION,
    };
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

/** The same in all processes that run the same handler. */
const nameOf = (queues: readonly string[], kinds: readonly string[]): string =>
  createHash("sha256")
    .update(JSON.stringify([queues.toSorted(), kinds.toSorted()]))
    .digest("hex")
    .slice(0, 32);
