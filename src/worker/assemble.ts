// Puts core and features together: how jobs are claimed, run and settled. What a process does besides, such as heartbeats and listening, is in
// `worker.ts`; a process that does without hands claims, by this claimer or one of its own, to the same active jobs.
import { FlowNodeReader, type NodeRows, StoredNodeRows } from "../batches/node-reader.js";
import { Claimer } from "../core/claim/claimer.js";
import type { RuleTeller } from "../core/enqueue/make-job.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { checkMiddlewares } from "../core/job/middleware-list.js";
import { handlerTable } from "../core/run/handler.js";
import type { RunEnds } from "../core/run/run.js";
import type { RunnerOptions, RunsJobs } from "../core/run/runner.js";
import { ProgressKeeper } from "../core/settle/progress.js";
import { detailList } from "../core/settle/verdict-details.js";
import { ActiveJobs } from "../core/worker/active-jobs.js";
import { captureWriter } from "../credits/capture-context.js";
import type { Database } from "../db/database.js";
import { explaining } from "../db/explain-failure.js";
import { resultSealer } from "../encryption/seal-result.js";
import { watchSteps } from "../intervals/watched-steps.js";
import { redactorsOf } from "../jobs/redact-job.js";
import { KeyRules } from "../limits/key-rules.js";
import { type UnitKeeper, unitKeeper, usedWriter, usesOfKinds } from "../limits/use-context.js";
import { LogKeeper } from "../logs/log-keeper.js";
import { contentWriter } from "../offload/result-content.js";
import { deliveryHandler } from "../outbox/delivery-handler.js";
import { deliveryWriter } from "../outbox/delivery-mark.js";
import { SendStore } from "../outbox/send-store.js";
import { Desks } from "../providers/desks.js";
import { type TickReader, tickReader } from "../schedules/tick-context.js";
import { progressFirst } from "../steps/progress-first.js";
import type { StepKeeper } from "../steps/step.js";
import { StepStore } from "../steps/step-store.js";
import type { MustYield } from "../steps/steps-of-run.js";
import "../client/refusals.js";
import { contextMembers } from "./context-members.js";
import type { FeatureContext } from "./create-context.js";
import { WorkerEffects } from "./effect-maker.js";
import type { Middleware } from "./worker-middleware.js";
import type { WorkerOptions } from "./worker-settings.js";

/** While busy, look at all lanes this often. */
const RESCAN_MS = 2_000;

/** How claimed jobs come to their end. */
export interface Work {
  /** Runs and settles what `take` is given. */
  readonly jobs: ActiveJobs;
  /** A service that writes the progress of running jobs. */
  readonly progress: ProgressKeeper;
  /** A service that keeps what handlers log. */
  readonly logs: LogKeeper;
  /** A service that speaks with the shared state of providers. */
  readonly providers: Desks;
}

/** What a run needs of the database, for runners that are not in this process. */
export interface RunStores {
  readonly context: FeatureContext;
  readonly steps: StepKeeper;
  readonly nodes: NodeRows;
  readonly tickOf: TickReader;
  readonly use: UnitKeeper;
  readonly sends: SendStore;
  readonly rules: RuleTeller;
  readonly progress: ProgressKeeper;
  readonly logs: LogKeeper;
  readonly providers: Desks;
}

/** Makes what runs the jobs, when that is not this process. */
export type MakeWorkRunner = (options: RunnerOptions, ends: RunEnds, stores: RunStores) => RunsJobs;

export const definitionsOf = ({ handlers = [], channels = [] }: WorkerOptions): JobDefinition[] =>
  [...handlers, ...channels].map(({ definition }) => definition);

/** Its failures say what to do. */
function explainedRules(db: Database): RuleTeller {
  const rules = new KeyRules(db);
  return {
    knows: (definition) => rules.knows(definition),
    tell: (definition) => explaining(db.schema, () => rules.tell(definition)),
  };
}

/** What differs from an ordinary worker. */
export interface WorkVariant {
  /** Of a process that ends soon: jobs with steps go on in another one. */
  readonly mustYield?: MustYield | undefined;
  readonly makeRunner?: MakeWorkRunner | undefined;
}

export function assembleWork(
  context: FeatureContext,
  options: WorkerOptions,
  { mustYield, makeRunner }: WorkVariant = {},
): Work {
  const { clock, db, log, settings } = context;
  const { leaseMs, codec, contents } = settings;
  const middlewares = checkMiddlewares<Middleware>(options.use);
  const sends = new SendStore(context);
  const deliveries = (options.channels ?? []).map((channel) =>
    deliveryHandler(channel, { keeper: sends, clock, leaseMs, codec }),
  );
  const rules = explainedRules(db);
  const effects = new WorkerEffects(rules, settings, middlewares, (_claim, registration) => {
    const worker = context.identity.id;
    log.debug({ worker, ...registration }, "Job registered in batch");
    context.events.emit("registered", { worker, ...registration });
  });
  const steps = new StepStore(context, {
    stepsMax: settings.stepsMax,
    bytesMax: settings.stepsBytesMax,
    codec,
  });
  const nodes = new StoredNodeRows(db);
  const tickOf = tickReader(db);
  const use = unitKeeper(db);
  const uses = usesOfKinds(definitionsOf(options));
  const progress = new ProgressKeeper(context);
  const logs = new LogKeeper(context, redactorsOf(settings.redact, definitionsOf(options)));
  const providers = new Desks(context);
  const keeper = progressFirst(watchSteps(steps, context.bus), progress);
  const stores = { context, steps: keeper, nodes, tickOf, use, sends, rules, progress, logs, providers };
  const { tell } = rules;
  const jobs = new ActiveJobs(context, {
    handlers: handlerTable([...(options.handlers ?? []), ...deliveries], middlewares),
    members: contextMembers({
      ...{ clock, codec, steps: { keeper, mustYield }, tickOf, use, uses, tell, log, logs },
      nodes: new FlowNodeReader(nodes, { codec, contents }),
      calls: providers,
    }),
    maker: effects,
    format: {
      seal: codec && resultSealer(codec, log),
      details: detailList({
        delivery: deliveryWriter,
        used: usedWriter,
        captured: captureWriter,
        content: contentWriter,
      }),
    },
    progress,
    scrub: (claim, text) => logs.scrub(claim, text),
    makeRunner: makeRunner && ((runnerOptions, ends) => makeRunner(runnerOptions, ends, stores)),
  });
  return { jobs, progress, logs, providers };
}

/** Claims for a worker that lives on, and so remembers its lanes. */
export function newClaimer(context: FeatureContext): Claimer {
  const { kinds, settings } = context;
  return new Claimer(context, {
    queues: [...settings.concurrency.keys()],
    kinds,
    lowerShare: settings.lowerShare,
    rescanMs: RESCAN_MS,
    jobsMax: settings.claimJobsMax,
    tenantJobsMax: settings.claimTenantMax,
  });
}
