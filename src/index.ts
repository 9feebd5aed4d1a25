// What an application needs every day: at most a hundred names. All errors are in `fairmill/errors`, webhooks in `fairmill/webhooks`, types of what
// operators read and do in `fairmill/observe`.

// The members that features add to JobContext.
import "./worker/context-members.js";

export type { Clock } from "./base/clock.js";
export type { Duration } from "./base/duration.js";
export {
  ConfigError,
  DatabaseError,
  FairmillError,
  InputInvalidError,
  JobCancelledError,
  JobNotFoundError,
  LeaseLostError,
  NonRetryableError,
  PayloadTooLargeError,
  TimeoutError,
} from "./base/errors.js";
export type { JobResult } from "./base/jsonify.js";
export { createLogger, type Logger, silentLogger } from "./base/log.js";
export type { Queryable } from "./base/queryable.js";
export type { StandardSchema } from "./base/standard-schema.js";
export type { BatchOptions } from "./batches/batch.js";
export type { BatchAdder } from "./batches/batch-filler.js";
export type { Batch } from "./batches/batch-statements.js";
export type { FlowBuilder, FlowDefinition } from "./batches/flow.js";
export type { Flow } from "./batches/flows-client.js";
export { defineFlow, handleFlow } from "./batches/handle-flow.js";
export type { JobBatch, JobFlow } from "./batches/job-batch.js";
export type { OpenBatch } from "./batches/open-batch.js";
export { type Cache, type CacheOptions, defineCache } from "./cache/cache-definition.js";
export { type Client, createClient } from "./client/client.js";
export type { ClientOptions } from "./client/client-options.js";
export type { TransactionClient } from "./client/transaction-client.js";
export { type Config, defineConfig } from "./config/config.js";
export { DuplicateJobError } from "./core/enqueue/duplicate-error.js";
export type { JobDraft } from "./core/enqueue/enqueue-middleware.js";
export type { EnqueueItem } from "./core/enqueue/make-job.js";
export { type Backoff, exponential, fixed } from "./core/job/backoff.js";
export type { Codec } from "./core/job/codec.js";
export type { Enqueued, EnqueueOptions } from "./core/job/enqueue-options.js";
export type { JobCredits } from "./core/job/job-credits.js";
export { defineJob, type JobDefinition, type JobOptions } from "./core/job/job-definition.js";
export { defineLimit, type NamedLimit } from "./core/job/named-limit.js";
export { cancel, snooze } from "./core/job/outcome.js";
export { JobFailedError, ResultCancelledError, ResultTimeoutError } from "./core/job/result-errors.js";
export type { JobState } from "./core/job/states.js";
export type { JobContext } from "./core/run/context.js";
export { type Handler, handle } from "./core/run/handler.js";
export type { WorkerEvents } from "./core/worker/worker-events.js";
export { CreditsExhaustedError } from "./credits/credit-errors.js";
export type { Balance } from "./credits/credit-statements.js";
export type { Pool } from "./db/database.js";
export { createCodec } from "./encryption/aes-codec.js";
export type { Job, JobDetail, JobFilter } from "./jobs/read-jobs.js";
export type { Why } from "./jobs/why-statements.js";
export { ActiveLimitError, RateLimitError } from "./limits/limit-errors.js";
export type { JobLimits, RateLimit, TenantSettings } from "./limits/limit-settings.js";
export {
  type Channel,
  type ChannelOptions,
  defineChannel,
  type SendContext,
} from "./outbox/channel.js";
export { NotDeliveredError } from "./outbox/delivery-errors.js";
export type { MessageEnd } from "./outbox/message-end.js";
export type { Message } from "./outbox/outbox-statements.js";
export type { Published, PublishOptions } from "./outbox/publish-options.js";
export { createSupervisor, type Supervisor } from "./pool/supervisor.js";
export type { SupervisorOptions } from "./pool/supervisor-settings.js";
export { defineProvider, type Provider } from "./providers/provider.js";
export type { Tick } from "./schedules/schedule.js";
export type { Schedule } from "./schedules/schedule-statements.js";
export type { Scheduled, ScheduleOptions } from "./schedules/schedules-client.js";
export { createTickHandler } from "./ticks/tick-handler.js";
export { createWorker, type Worker } from "./worker/worker.js";
export { type Middleware, middleware } from "./worker/worker-middleware.js";
export type { WorkerOptions } from "./worker/worker-settings.js";
