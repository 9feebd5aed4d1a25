// Puts core and features together: how jobs are claimed, run and settled. What a process does besides, such as heartbeats and listening, is in
// `worker.ts`; a process that does without claims by the same claimer and hands the claims to the same active jobs.
import { Claimer } from "../core/claim/claimer.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { checkMiddlewares } from "../core/job/middleware-list.js";
import { handlerTable } from "../core/run/handler.js";
import { ProgressKeeper } from "../core/settle/progress.js";
import { detailList } from "../core/settle/verdict-details.js";
import { ActiveJobs } from "../core/worker/active-jobs.js";
import { resultSealer } from "../encryption/seal-result.js";
import { deliveryHandler } from "../outbox/delivery-handler.js";
import { deliveryWriter } from "../outbox/delivery-mark.js";
import { SendStore } from "../outbox/send-store.js";
import { StepStore } from "../steps/step-store.js";
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
  readonly claimer: Claimer;
  /** Runs and settles what `take` is given. */
  readonly jobs: ActiveJobs;
  /** A service that writes the progress of running jobs. */
  readonly progress: ProgressKeeper;
}

export const definitionsOf = ({ handlers = [], channels = [] }: WorkerOptions): JobDefinition[] =>
  [...handlers, ...channels].map(({ definition }) => definition);

export function assembleWork(context: FeatureContext, options: WorkerOptions): Work {
  const { clock, kinds, log, settings } = context;
  const { leaseMs, codec } = settings;
  const middlewares = checkMiddlewares<Middleware>(options.use);
  const sends = new SendStore(context);
  const deliveries = (options.channels ?? []).map((channel) =>
    deliveryHandler(channel, { keeper: sends, clock, leaseMs, codec }),
  );
  const effects = new WorkerEffects(context.db, settings, middlewares, (registration) => {
    const worker = context.identity.id;
    log.debug({ worker, ...registration }, "Job registered in batch");
    context.events.emit("registered", { worker, ...registration });
  });
  const steps = new StepStore(context, {
    stepsMax: settings.stepsMax,
    bytesMax: settings.stepsBytesMax,
    codec,
  });
  const progress = new ProgressKeeper(context);
  const jobs = new ActiveJobs(context, {
    handlers: handlerTable([...(options.handlers ?? []), ...deliveries], middlewares),
    members: contextMembers({ ...context, steps, effects }),
    maker: effects,
    format: { seal: codec && resultSealer(codec, log), details: detailList({ delivery: deliveryWriter }) },
    progress,
  });
  const claimer = new Claimer(context, {
    queues: [...settings.concurrency.keys()],
    kinds,
    lowerShare: settings.lowerShare,
    rescanMs: RESCAN_MS,
    jobsMax: settings.claimJobsMax,
    tenantJobsMax: settings.claimTenantMax,
  });
  return { claimer, jobs, progress };
}
