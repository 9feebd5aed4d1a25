// The entry `fairmill/tick`: what a function that runs ticks needs. Starts no threads and listens to no notifications.

// The members that features add to JobContext.
import "../worker/context-members.js";

export { exponential } from "../core/job/backoff.js";
export { defineJob } from "../core/job/job-definition.js";
export { cancel, snooze } from "../core/job/outcome.js";
export { handle } from "../core/run/handler.js";
export { createTickHandler, runTick, type TickHandler, type TickPlatform } from "./tick-handler.js";
export type { TickReport } from "./tick-report.js";
export {
  MAX_JOBS_PER_TENANT_PER_TICK,
  MAX_JOBS_PER_TICK,
  type TickHandlerOptions,
  type TickOptions,
} from "./tick-settings.js";
