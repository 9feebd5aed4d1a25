// `fairmill/errors`: every class of error that the library throws, or that an application throws into it. Those for webhooks are in
// `fairmill/webhooks` as well; those that applications catch every day, in `fairmill`.

export { AlertNotFoundError } from "./alerts/alerts-client.js";
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
  PutBackError,
  ScheduleChangedError,
  ScheduleNotFoundError,
  ShutdownError,
  TimeoutError,
} from "./base/errors.js";
export { BatchNotFoundError, BatchTimeoutError } from "./batches/batch.js";
export { BatchEndedError } from "./batches/batch-errors.js";
export { NodeResultError } from "./batches/flow.js";
export { BudgetExhaustedError, BudgetSpentError } from "./budgets/budget-errors.js";
export { CacheLoadError, CacheTimeoutError } from "./cache/cache-errors.js";
export { DuplicateJobError } from "./core/enqueue/duplicate-error.js";
export { KeyUnknownError, NotSealedError, SealBrokenError, SealedError } from "./core/job/codec-errors.js";
export {
  EffectsFailedError,
  EffectsLimitError,
  JobCompletedError,
  NotCommittedError,
} from "./core/job/effect-errors.js";
export { MiddlewareError } from "./core/job/middleware-list.js";
export {
  JobFailedError,
  ResultCancelledError,
  ResultInvalidError,
  ResultTimeoutError,
} from "./core/job/result-errors.js";
export { ContentElsewhereError, ContentStorageError } from "./core/job/stored-content-errors.js";
export { PayloadOutdatedError } from "./core/job/validate-input.js";
export { CreditsExhaustedError, RefundError } from "./credits/credit-errors.js";
export { IsolationError } from "./db/isolation-error.js";
export { ActiveLimitError, OverLimitError, RateLimitError } from "./limits/limit-errors.js";
export {
  DeliveryJobError,
  DeliveryUnknownError,
  MessageNotFoundError,
  NotDeliveredError,
} from "./outbox/delivery-errors.js";
export {
  WebhookDestinationError,
  WebhookError,
  WebhookRefusedError,
  WebhookSignatureError,
  WebhookUncertainError,
  WebhookUnreachableError,
} from "./outbox/webhook/webhook-errors.js";
export { NoWorkersAvailableError, WorkerBusyError } from "./pool/allocation.js";
export { CrashLoopError, KubernetesError } from "./pool/pool-errors.js";
export { ProviderClosedError, ProviderFailedError, ProviderTimeoutError } from "./providers/provider-errors.js";
export { ProviderNotFoundError } from "./providers/providers-client.js";
export { ErasureStorageError } from "./retention/erasure-runner.js";
export {
  JobPausedError,
  StepChangedError,
  StepLimitError,
  StepResultError,
  WaitTimeoutError,
} from "./steps/step-errors.js";
export { FileTooLargeError, StorageError, StorageKeyError } from "./storage/storage-errors.js";
export { DrainEndlessError } from "./testing/errors.js";
