// Everything an application needs, and nothing else.

export type { Clock } from "./base/clock.js";
export type { ContentChange } from "./base/content-changes.js";
export type { Duration } from "./base/duration.js";
export type { ErrorRecord } from "./base/error-record.js";
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
} from "./base/errors.js";
export type { JobResult, Jsonify } from "./base/jsonify.js";
export { createLogger, type Logger, silentLogger } from "./base/log.js";
export type { Queryable } from "./base/queryable.js";
export type { StandardSchema } from "./base/standard-schema.js";
export type { Moment } from "./base/time.js";
export {
  type BatchCall,
  BatchNotFoundError,
  type BatchOptions,
  type BatchState,
  BatchTimeoutError,
  type Callback,
  type Callbacks,
  type OpenBatchOptions,
  type Stability,
} from "./batches/batch.js";
export {
  type BatchCoordinationOptions,
  batchCoordination,
  type Registration,
} from "./batches/batch-coordination.js";
export type { Batch, BatchFilter } from "./batches/batch-statements.js";
export type { BatchAdder, Batches, BatchHold, OpenBatch, StoredBatch } from "./batches/batches.js";
export { defaultChain } from "./batches/default-chain.js";
export {
  type FlowBuilder,
  type FlowDefinition,
  type FlowOptions,
  type NodeOptions,
  type NodeRef,
  NodeResultError,
  type RunOptions,
} from "./batches/flow.js";
export type { FlowNodeInfo, RetryFlowAnswer } from "./batches/flow-statements.js";
export type { Flow, Flows, StartFlowOptions } from "./batches/flows.js";
export { defineFlow, handleFlow } from "./batches/handle-flow.js";
export type { JobBatch, JobFlow } from "./batches/job-batch.js";
export {
  Client,
  type ClientOptions,
  createClient,
} from "./client/client.js";
export type { TransactionClient } from "./client/transaction-client.js";
export { type Config, defineConfig } from "./config/config.js";
export type { EnqueueMiddleware, JobChange, JobDraft } from "./core/enqueue/enqueue-middleware.js";
export type { EnqueuedCount } from "./core/enqueue/enqueue-stream.js";
export type { EnqueueItem } from "./core/enqueue/make-job.js";
export {
  ActiveLimitError,
  BatchEndedError,
  CreditsExhaustedError,
  DuplicateJobError,
  RateLimitError,
} from "./core/enqueue/refusal-errors.js";
export { type Backoff, exponential, fixed } from "./core/job/backoff.js";
export type { Claim } from "./core/job/claim.js";
export type { Codec, SealContext } from "./core/job/codec.js";
export { KeyUnknownError, NotSealedError, SealBrokenError, SealedError } from "./core/job/codec-errors.js";
export {
  EffectsFailedError,
  EffectsLimitError,
  IsolationError,
  JobCompletedError,
  NotCommittedError,
} from "./core/job/effect-errors.js";
export type { Enqueued, EnqueueOptions } from "./core/job/enqueue-options.js";
export type { JobCredits } from "./core/job/job-credits.js";
export { defineJob, type JobDefinition, type JobOptions } from "./core/job/job-definition.js";
export { type AddedBy, Chain, MiddlewareError } from "./core/job/middleware-chain.js";
export { cancel, snooze, type Verdict } from "./core/job/outcome.js";
export {
  JobFailedError,
  ResultCancelledError,
  ResultInvalidError,
  ResultTimeoutError,
} from "./core/job/result-errors.js";
export { type JobState, TRANSITIONS } from "./core/job/states.js";
export type {
  DebounceOptions,
  OnConflict,
  ThrottleOptions,
  UniqueOptions,
  UniqueRule,
  UniqueSettings,
} from "./core/job/unique.js";
export type { JobContext } from "./core/run/context.js";
export {
  type HandleOptions,
  type Handler,
  type HandlerAnswer,
  type HandlerFunction,
  handle,
} from "./core/run/handler.js";
export type { Completed } from "./core/run/run-effects.js";
export type { Next, RunMiddleware, RunPart } from "./core/run/run-middleware.js";
export type { WorkerEvents } from "./core/worker/worker-events.js";
export type { Balance, CreditEntry, StatementPage } from "./credits/credit-statements.js";
export type { Granted, GrantOptions } from "./credits/credits.js";
export type { Pool } from "./db/database.js";
export type { MigrateOptions, MigrationWait } from "./db/migrate/migrate.js";
export { type CodecOptions, createCodec } from "./encryption/aes-codec.js";
export type { CancelAnswer, RetryAnswer } from "./jobs/control-jobs.js";
export type { Failure, Job, JobDetail, JobFilter, JobHold } from "./jobs/read-jobs.js";
export type { RedriveGroup, Redriven, RedriveOptions, RedrivePreview } from "./jobs/redrive.js";
export type { ErrorFilter, RedriveFilter } from "./jobs/redrive-filter.js";
export type { RerunOptions } from "./jobs/rerun.js";
export type { ResultOptions } from "./jobs/result.js";
export type { Why, WhyGate, WhyGateName, WhyTarget } from "./jobs/why-statements.js";
export type {
  GateName,
  GateSettings,
  JobLimits,
  KeyRule,
  Rate,
  StoredRate,
  TenantSettings,
} from "./limits/limit-settings.js";
export type {
  Count,
  GateOverview,
  KindOverview,
  NamePage,
  QueueOverview,
  TenantOverview,
} from "./limits/overview-statements.js";
export {
  type Arrival,
  type Channel,
  type ChannelOptions,
  defineChannel,
  type OnDoubt,
  type Receiver,
  type SendContext,
} from "./outbox/channel.js";
export type { ChannelTarget } from "./outbox/channel-target.js";
export {
  DeliveryJobError,
  DeliveryUnknownError,
  MessageNotFoundError,
  NotDeliveredError,
} from "./outbox/delivery-errors.js";
export type { DeliveryMark } from "./outbox/delivery-mark.js";
export type {
  DeliveryAttempt,
  Message,
  MessageDetail,
  MessageFilter,
  MessageStatus,
  ResolveAnswer,
} from "./outbox/outbox-statements.js";
export type { ResolveOptions } from "./outbox/publish.js";
export type { Published, PublishOptions } from "./outbox/publish-options.js";
export type { WebhookAnswer } from "./outbox/webhook/answer.js";
export type { Address, Resolve } from "./outbox/webhook/destination.js";
export { sendWebhook, type WebhookMessage } from "./outbox/webhook/send.js";
export {
  type VerifiedWebhook,
  type VerifyOptions,
  verifyWebhook,
  type WebhookSecret,
} from "./outbox/webhook/signature.js";
export { type WebhookChannelOptions, webhookChannel } from "./outbox/webhook/webhook-channel.js";
export {
  WebhookDestinationError,
  WebhookError,
  WebhookInDoubtError,
  WebhookRefusedError,
  WebhookSignatureError,
  WebhookUnreachableError,
} from "./outbox/webhook/webhook-errors.js";
export type { WebhookLimits } from "./outbox/webhook/webhook-limits.js";
export {
  type AllocatableJob,
  type Allocation,
  KeyAffinityAllocation,
  LeastBusyAllocation,
  NoWorkersAvailableError,
  type PoolWorker,
  RoundRobinAllocation,
  type WorkerAllocationStrategy,
  WorkerBusyError,
} from "./pool/allocation.js";
export type { ChildFacts } from "./pool/child.js";
export { CHILD_TRANSITIONS, type ChildState } from "./pool/life-cycle.js";
export type { Metric } from "./pool/metrics.js";
export { CrashLoopError } from "./pool/pool.js";
export type { KubernetesOptions, PoolOptions } from "./pool/pool-settings.js";
export {
  decideScale,
  type ScaleDecision,
  type ScaleHistory,
  type ScaleInputs,
  type ScaleSettings,
} from "./pool/scale/brain.js";
export type { FloorOptions } from "./pool/scale/floors.js";
export { KubernetesError } from "./pool/scale/kubernetes-target.js";
export { createSupervisor, Supervisor, type SupervisorEvents, type SupervisorHealth } from "./pool/supervisor.js";
export type { SupervisorOptions } from "./pool/supervisor-settings.js";
export type { Missed, Tick } from "./schedules/schedule.js";
export type { Schedule } from "./schedules/schedule-statements.js";
export type { CronSpec, Scheduled, ScheduleOptions } from "./schedules/schedules.js";
export type { WaitOptions } from "./steps/run-steps.js";
export type { StepKind } from "./steps/step.js";
export {
  JobPausedError,
  StepChangedError,
  StepLimitError,
  StepResultError,
  WaitTimeoutError,
} from "./steps/step-errors.js";
export type { SignalAnswer, Step } from "./steps/step-statements.js";
export { createWorker, Worker } from "./worker/worker.js";
export {
  chain,
  type Middleware,
  type MiddlewareChain,
  type MiddlewareOptions,
  middleware,
  type Use,
} from "./worker/worker-middleware.js";
export type { WorkerOptions } from "./worker/worker-settings.js";
