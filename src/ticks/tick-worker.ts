// What a tick takes from the life of a job: claim, run, settle, upkeep. The only file here that knows how the core puts these together.
import type { Clock } from "../base/clock.js";
import { LeaseLostError, ShutdownError } from "../base/errors.js";
import type { Logger } from "../base/log.js";
import { FlowNodeReader } from "../batches/node-reader.js";
import { type Handler, handlerTable } from "../core/run/handler.js";
import { JobCompleter } from "../core/settle/completer.js";
import { ProgressKeeper } from "../core/settle/progress.js";
import { Upkeep } from "../core/upkeep/upkeep.js";
import { Hands } from "../core/worker/active-jobs.js";
import { ContentReports } from "../core/worker/content-reports.js";
import type { WorkerEmitter } from "../core/worker/worker-events.js";
import type { Database } from "../db/database.js";
import { explaining } from "../db/explain-failure.js";
import { resultSealer } from "../encryption/seal-result.js";
import { watchSteps } from "../intervals/watched-steps.js";
import { Deliverer } from "../outbox/deliverer.js";
import { SendStore } from "../outbox/send-store.js";
import { readTick } from "../schedules/schedule-statements.js";
import { StepStore } from "../steps/step-store.js";
import { WorkerEffects } from "../worker/effect-maker.js";
import type { Middleware } from "../worker/worker-middleware.js";
import type { WorkerOptions, WorkerSettings } from "../worker/worker-settings.js";
import type { TickClaimer } from "./tick-claimer.js";

/** What all ticks of a process share. */
export interface TickContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: WorkerSettings;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly middlewares: readonly Middleware[];
}

export interface TickWorkerOptions {
  readonly events: WorkerEmitter;
  readonly claimer: TickClaimer;
  readonly isTimeUp: () => boolean;
  readonly onStep: (kind: string, ms: number) => void;
  readonly trouble: (doing: string, error: unknown) => void;
}

/** The jobs in hand of one tick. */
export function jobsOfTick(
  { db, clock, log, settings, handlers, middlewares }: TickContext,
  options: TickWorkerOptions,
) {
  const { events, claimer, isTimeUp, onStep, trouble } = options;
  const { codec } = settings;
  const progress = new ProgressKeeper(db, clock, (error) => trouble("keeping progress", error), codec);
  const contents = new ContentReports(log, events);
  const sealResult = codec && resultSealer(codec, log);
  const steps = new StepStore(db, clock, {
    stepsMax: settings.stepsMax,
    bytesMax: settings.stepsBytesMax,
    codec,
    onTrouble: (error) => trouble("keeping steps", error),
  });
  const hands = new Hands(
    { db, clock, log, events, settings, kinds: [...handlers.keys()], trouble },
    {
      handlers,
      sealResult,
      isTimeUp,
      onProgress: (claim, value) => {
        contents.look(claim, "progress", value);
        progress.report(claim, value);
      },
      onKept: (claim, what, value) => contents.look(claim, what, value),
      steps: watchSteps(steps, onStep),
      effects: new WorkerEffects(db, settings, middlewares),
      nodes: new FlowNodeReader(db, codec),
      completer: new JobCompleter(db, clock, {
        progress,
        sealResult,
        onTrouble: (error) => trouble("asking whether a job was completed", error),
      }),
      tickOf: ({ id }) => explaining(db.schema, () => readTick(db, id)),
      onDue: () => {},
      onEnded: (claims) => claimer.settled(claims),
      onReturned: () => {},
    },
  );
  return {
    demand: () => hands.demand(),
    changed: () => hands.changed(),
    take: hands.take.bind(hands),
    size: () => hands.size,
    cancel: (worker: string, ids: readonly string[]) => hands.cancel(worker, ids),
    /** Gives back what was claimed and not started. */
    releaseWaiting: () => hands.releaseWaiting(),
    /** Resolves when every started job has its verdict. */
    decided: () => hands.decided(),
    /** Tells what runs to stop: its attempt is given back. */
    abort: () => hands.abortAll(new ShutdownError()),
    /** What is in hand may be another worker's by now. */
    lose: () => hands.abortAll(new LeaseLostError()),
    /** Resolves when every verdict is written. */
    settled: async () => {
      await progress.stop();
      await hands.settled();
    },
    abandon: () => hands.abandon(),
  };
}

export type TickJobs = ReturnType<typeof jobsOfTick>;

/** Handlers and channels by kind, inside of their middlewares. */
export function tickHandlers(
  { db, clock, settings }: Pick<TickContext, "db" | "clock" | "settings">,
  options: Pick<WorkerOptions, "handlers" | "channels">,
  middlewares: readonly Middleware[],
  onTrouble: (error: unknown) => void,
): ReadonlyMap<string, Handler> {
  const keeper = new SendStore(db, clock, onTrouble);
  const { leaseMs, codec } = settings;
  const deliveries = (options.channels ?? []).map((channel): Handler => {
    const deliverer = new Deliverer(channel, { keeper, clock, leaseMs, codec });
    const { definition } = channel;
    return { definition, run: () => {}, deliver: (claim, ctx, isOver) => deliverer.deliver(claim, ctx, isOver) };
  });
  return handlerTable([...(options.handlers ?? []), ...deliveries], middlewares);
}

/** Upkeep as a worker does it, schedules included, one round at a time. */
export function upkeepOfTick(
  { db, clock, log, settings }: TickContext,
  worker: string,
  events: WorkerEmitter,
  trouble: (doing: string, error: unknown) => void,
): Pick<Upkeep, "runOnce"> {
  return new Upkeep(db, clock, {
    crashesMax: settings.crashesMax,
    historyKeepMs: settings.historyKeepMs,
    everyMs: Number.POSITIVE_INFINITY,
    onReport: (report) => {
      const { recovered, ended } = report;
      if (recovered + ended > 0)
        log.warn({ worker, recovered, ended }, `Reset ${recovered + ended} stuck jobs: their workers are dead`);
      events.emit("upkeep", report);
    },
    schedules: {
      onTicked: (schedule, { jobIds, refusals }) => {
        for (const { at, error } of refusals)
          log.warn(
            { worker, schedule, tick: at.toISOString(), code: error.code, error: error.message },
            "A tick made no job",
          );
        events.emit("ticked", { schedule, jobIds, refused: refusals.length });
      },
      onReset: (schedule, next) =>
        log.warn(
          { worker, schedule, next: next.toISOString() },
          "The database's clock went back: the schedule's next tick was computed again",
        ),
      onTrouble: (schedule, error) => trouble(`ticking schedule "${schedule}"`, error),
    },
    onTrouble: (error) => trouble("upkeep", error),
  });
}
