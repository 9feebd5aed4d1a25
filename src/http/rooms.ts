// Everything that this room takes from the other features, by name: when one of them is renamed, this is the file to change.
export { type Actor, audited, readAudit } from "../audit/audit.js";
export { readBatch, readBatches } from "../batches/batch-statements.js";
export { Batches } from "../batches/batches.js";
export { type FlowNodeInfo, readNodes, retryFlow } from "../batches/flow-statements.js";
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
export { asQuery, grantCredits, readStatement } from "../credits/credit-statements.js";
export { cancelJob, retryFromStart, retryJob } from "../jobs/control-jobs.js";
export { openJob, openMessage, openStep } from "../jobs/open-job.js";
export { type JobDetail, readEnds, readJobDetail, type SeenJob } from "../jobs/read-jobs.js";
export { rerun } from "../jobs/rerun.js";
export {
  type JobRow,
  type JobSearch,
  readJobRows,
  readJobsOfWorker,
  readNewestId,
  searchJobs,
} from "../jobs/search-jobs.js";
export { readWhy, type Why } from "../jobs/why-statements.js";
export { checkGateSettings, type GateScope, type KeyRule, type StoredRate } from "../limits/limit-settings.js";
export { setGate } from "../limits/limit-statements.js";
export {
  type GateOverview,
  type KindOverview,
  type QueueOverview,
  readKinds,
  readQueues,
  readTenants,
  type TenantOverview,
} from "../limits/overview-statements.js";
export { readMessage, readMessages, resolveMessage } from "../outbox/outbox-statements.js";
export { Cron } from "../schedules/cron.js";
export { readNow, readSchedule, readSchedules, type Schedule } from "../schedules/schedule-statements.js";
export { ScheduleBook } from "../schedules/schedules.js";
export { checkSignal, sealSignal } from "../steps/signals.js";
export { readSteps, sendSignal } from "../steps/step-statements.js";
