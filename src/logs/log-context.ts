// The log in the context of handlers.
import type { Logger } from "../base/log.js";
import type { ContextMembers } from "../core/run/context.js";
import type { Run, RunAttachment } from "../core/run/run.js";
import type { LogKeeper } from "./log-keeper.js";

export interface LogContext {
  /** A logger that names this job in every line; what it is told is kept with the job, as far as `keepLogs` says. */
  readonly log: Logger;
}

declare module "../core/run/context.js" {
  interface JobContext<Input> extends LogContext {}
}

/** One logger a run: what it keeps is bounded by what it has kept. */
class LoggerOfRun implements RunAttachment {
  readonly logger: Logger;
  readonly fault = undefined;

  constructor(logger: Logger) {
    this.logger = logger;
  }

  /** What is logged is written without the run, and never awaited by it. */
  drain(): undefined {}
  abort(): void {}
}

export function logMembers(keeper: LogKeeper, workerLog: Logger): ContextMembers<keyof LogContext> {
  const make = ({ claim }: Run) => {
    const { id, kind, tenant, attempt, worker } = claim;
    return new LoggerOfRun(keeper.loggerOf(claim, workerLog.child({ worker, job: id, kind, tenant, attempt })));
  };
  return { log: (run) => run.attached(LoggerOfRun, () => make(run)).logger };
}
