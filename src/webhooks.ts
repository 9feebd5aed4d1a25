// `fairmill/webhooks`: signed webhooks, sent and received, by themselves or as a channel of the outbox.

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
  WebhookRefusedError,
  WebhookSignatureError,
  WebhookUncertainError,
  WebhookUnreachableError,
} from "./outbox/webhook/webhook-errors.js";
export type { WebhookLimits } from "./outbox/webhook/webhook-limits.js";
