// Everything an application needs, and nothing else.

export {
  type Arrival,
  type Channel,
  type ChannelOptions,
  defineChannel,
  type OnDoubt,
  type Receiver,
  type SendContext,
} from "./deliver/channel.js";
export type { WebhookAnswer } from "./deliver/webhook/answer.js";
export { type WebhookChannelOptions, webhookChannel } from "./deliver/webhook/channel.js";
export type { Address, Resolve } from "./deliver/webhook/destination.js";
export {
  WebhookDestinationError,
  WebhookError,
  WebhookInDoubtError,
  WebhookRefusedError,
  WebhookSignatureError,
  WebhookUnreachableError,
} from "./deliver/webhook/errors.js";
export type { WebhookLimits } from "./deliver/webhook/limits.js";
export { sendWebhook, type WebhookMessage } from "./deliver/webhook/send.js";
export {
  type VerifiedWebhook,
  type VerifyOptions,
  verifyWebhook,
  type WebhookSecret,
} from "./deliver/webhook/signature.js";
export {
  type BatchCoordinationOptions,
  batchCoordination,
  type Registration,
} from "./enqueue/batch-coordination.js";
export type { BatchAdder, Batches, BatchHold, OpenBatch, StoredBatch } from "./enqueue/batches.js";
export {
  Client,
  type ClientOptions,
  createClient,
} from "./enqueue/client.js";
export type { Granted, GrantOptions } from "./enqueue/credits.js";
export { defaultChain } from "./enqueue/default-chain.js";
export type { Flow, Flows, StartFlowOptions } from "./enqueue/flows.js";
export type { EnqueueMiddleware, JobChange, JobDraft } from "./enqueue/middleware.js";
export type { EnqueueItem } from "./enqueue/new-job.js";
export type { ResolveOptions } from "./enqueue/publish.js";
export type { RedriveGroup, Redriven, RedriveOptions, RedrivePreview } from "./enqueue/redrive.js";
export type { RerunOptions } from "./enqueue/rerun.js";
export type { ResultOptions } from "./enqueue/result.js";
export type { CronSpec, Scheduled, ScheduleOptions } from "./enqueue/schedules.js";
export type { EnqueuedCount } from "./enqueue/stream.js";
export type { TransactionClient } from "./enqueue/transaction-client.js";
export { type CodecOptions, createCodec } from "./model/aes-codec.js";
export { type Backoff, exponential, fixed } from "./model/backoff.js";
export {
  type BatchCall,
  BatchEndedError,
  BatchNotFoundError,
  type BatchOptions,
  type BatchState,
  BatchTimeoutError,
  type Callback,
  type Callbacks,
  type OpenBatchOptions,
  type Stability,
} from "./model/batch.js";
export type { ChannelTarget } from "./model/channel.js";
export type { Claim } from "./model/claim.js";
export type { Clock } from "./model/clock.js";
export type { Codec, SealContext } from "./model/codec.js";
export { KeyUnknownError, NotSealedError, SealBrokenError, SealedError } from "./model/codec-errors.js";
export type { ContentChange } from "./model/content-changes.js";
export type { JobCredits } from "./model/credits.js";
export {
  DeliveryJobError,
  DeliveryUnknownError,
  MessageNotFoundError,
  NotDeliveredError,
} from "./model/delivery-errors.js";
export type { DeliveryMark } from "./model/delivery-mark.js";
export type { Duration } from "./model/duration.js";
export {
  EffectsFailedError,
  EffectsLimitError,
  IsolationError,
  JobCompletedError,
  NotCommittedError,
} from "./model/effect-errors.js";
export type { ErrorRecord } from "./model/error-record.js";
export {
  ConfigError,
  DatabaseError,
  FairmillError,
  InputInvalidError,
  type InputIssue,
  JobCancelledError,
  JobNotEndedError,
  JobNotFoundError,
  LeaseLostError,
  NonRetryableError,
  PayloadTooLargeError,
  ScheduleNotFoundError,
  ShutdownError,
  TimeoutError,
} from "./model/errors.js";
export {
  type FlowBuilder,
  type FlowDefinition,
  type FlowOptions,
  type NodeOptions,
  type NodeRef,
  NodeResultError,
  type RunOptions,
} from "./model/flow.js";
export { defineJob, type JobDefinition, type JobOptions } from "./model/job-definition.js";
export type { JobResult, Jsonify } from "./model/jsonify.js";
export { ActiveLimitError, CreditsExhaustedError, DuplicateJobError, RateLimitError } from "./model/limit-errors.js";
export type { GateName, GateSettings, JobLimits, KeyRule, Rate, StoredRate, TenantSettings } from "./model/limits.js";
export { type AddedBy, Chain, MiddlewareError } from "./model/middleware.js";
export type { Moment } from "./model/moment.js";
export type { Enqueued, EnqueueOptions } from "./model/new-job.js";
export type { Published, PublishOptions } from "./model/new-message.js";
export { cancel, snooze, type Verdict } from "./model/outcome.js";
export type { Queryable } from "./model/queryable.js";
export type { ErrorFilter, RedriveFilter } from "./model/redrive-filter.js";
export {
  JobFailedError,
  ResultCancelledError,
  ResultInvalidError,
  ResultTimeoutError,
} from "./model/result-errors.js";
export type { Missed, Tick } from "./model/schedule.js";
export type { StandardSchema } from "./model/standard-schema.js";
export { type JobState, TRANSITIONS } from "./model/states.js";
export type { StepKind } from "./model/step.js";
export {
  JobPausedError,
  StepChangedError,
  StepLimitError,
  StepResultError,
  WaitTimeoutError,
} from "./model/step-errors.js";
export type {
  DebounceOptions,
  OnConflict,
  ThrottleOptions,
  UniqueOptions,
  UniqueRule,
  UniqueSettings,
} from "./model/unique.js";
export type { WorkerEvents } from "./observe/events.js";
export { createLogger, type Logger, silentLogger } from "./observe/log.js";
export type { JobBatch, JobFlow } from "./run/batch.js";
export type { JobContext } from "./run/context.js";
export type { Completed } from "./run/effects.js";
export { defineFlow, handleFlow } from "./run/flow.js";
export { type HandleOptions, type Handler, type HandlerAnswer, type HandlerFunction, handle } from "./run/handler.js";
export type { Next, RunMiddleware, RunPart } from "./run/middleware.js";
export type { WaitOptions } from "./run/steps.js";
export type { Batch, BatchFilter } from "./store/batches.js";
export type { CancelAnswer, RetryAnswer } from "./store/control-jobs.js";
export type { Balance, CreditEntry, StatementPage } from "./store/credits.js";
export type { Pool } from "./store/database.js";
export type { FlowNodeInfo, RetryFlowAnswer } from "./store/flows.js";
export type { MigrateOptions, MigrationWait } from "./store/migrate.js";
export type {
  DeliveryAttempt,
  Message,
  MessageDetail,
  MessageFilter,
  MessageStatus,
  ResolveAnswer,
} from "./store/outbox.js";
export type {
  Count,
  GateOverview,
  KindOverview,
  NamePage,
  QueueOverview,
  TenantOverview,
} from "./store/overviews.js";
export type { Failure, Job, JobDetail, JobFilter, JobHold } from "./store/read-jobs.js";
export type { Schedule } from "./store/schedules.js";
export type { SignalAnswer, Step } from "./store/steps.js";
export type { Why, WhyGate, WhyGateName, WhyTarget } from "./store/why.js";
export { type Config, defineConfig } from "./worker/config.js";
export {
  chain,
  type Middleware,
  type MiddlewareChain,
  type MiddlewareOptions,
  middleware,
  type Use,
} from "./worker/middleware.js";
export type { WorkerOptions } from "./worker/settings.js";
export { createWorker, Worker } from "./worker/worker.js";
