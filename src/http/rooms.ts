// Everything that this room takes from the other features, by name: when one of them is renamed, this is the file to change.
export { type Actor, audited, readAudit } from "../audit/audit.js";
export { readBatch, readBatches } from "../batches/batch-statements.js";
export { type FlowNodeInfo, readNodes } from "../batches/flow-statements.js";
export { readBudgets } from "../budgets/budget-statements.js";
export { ACTS_ON, BULK_ACTIONS, type BulkFilter, checkBulkFilter, shownFilter } from "../bulk/bulk-filter.js";
export { previewBulk, runBulk } from "../bulk/bulk-runner.js";
export {
  endBulk,
  readBulk,
  readBulks,
  readOpenBulks,
  readRecentBulks,
  type StoredBulk,
  startBulk,
} from "../bulk/bulk-statements.js";
export { type CreditEntry, readStatement } from "../credits/credit-statements.js";
export { openJob, openStep } from "../jobs/open-job.js";
export { type Job, type JobDetail, readEnds, readJobDetail, type SeenJob } from "../jobs/read-jobs.js";
export type { RerunOptions } from "../jobs/rerun.js";
export {
  type JobRow,
  type JobSearch,
  readJobRows,
  readJobsOfWorker,
  readNewestId,
  searchJobs,
} from "../jobs/search-jobs.js";
export { readWhy, type Why, type WhyCheck } from "../jobs/why-statements.js";
export {
  type CheckedLimits,
  checkLimits,
  checkPauseEnd,
  LIMIT_SCOPES,
  type LimitScope,
  type PauseEnd,
} from "../limits/limit-settings.js";
export { setLimits } from "../limits/limit-statements.js";
export { readNamedLimits } from "../limits/named-limit-statements.js";
export {
  type KindOverview,
  type LimitOverview,
  type QueueOverview,
  readKinds,
  readQueues,
  readTenants,
  type TenantOverview,
} from "../limits/overview-statements.js";
export type { LogLine } from "../logs/log-page.js";
export { openMessage } from "../outbox/open-message.js";
export { readMessage, readMessages } from "../outbox/outbox-statements.js";
export {
  boundIn,
  type DecisionView,
  type PoolChild,
  type PoolView,
  readDecisionPage,
  readDesired,
  readPools,
} from "../pool/pool-views.js";
export { runErasure } from "../retention/erasure-runner.js";
export { type Erasure, readErasure, readErasures, startErasure } from "../retention/erasure-statements.js";
export { checkErase } from "../retention/tenants-client.js";
export { readScheduleJob, type ScheduleChange } from "../schedules/change-schedule.js";
export { Cron } from "../schedules/cron.js";
export {
  readNow,
  readSchedule,
  readSchedules,
  type Schedule,
  scheduleErrorOf,
} from "../schedules/schedule-statements.js";
export type { ScheduleOptions } from "../schedules/schedules-client.js";
export { type JobStep, readSteps } from "../steps/step-statements.js";
export { parseTraceparent } from "../tracing/traceparent.js";
