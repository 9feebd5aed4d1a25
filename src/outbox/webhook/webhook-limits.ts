// How long a webhook may take, and how much of an answer is read.
import { type Duration, toMs } from "../../base/duration.js";
import { ConfigError } from "../../base/errors.js";
import { refuseUnknown, wholeNumber } from "../../base/settings.js";

export interface WebhookLimits {
  /** From beginning to end; default "30s". */
  readonly timeout?: Duration;
  /** Until the connection stands, the look-up of the name and TLS included; default "10s". */
  readonly connect?: Duration;
  /** Bytes of an answer that are kept; default 4 KiB. */
  readonly answerBytesMax?: number;
  /** Bytes of an answer that are read before the connection is cut; default 64 KiB. */
  readonly answerReadBytesMax?: number;
}

export interface CheckedLimits {
  readonly timeoutMs: number;
  readonly connectMs: number;
  readonly answerBytesMax: number;
  readonly answerReadBytesMax: number;
}

export function checkLimits(limits: WebhookLimits = {}): CheckedLimits {
  refuseUnknown(limits, ["timeout", "connect", "answerBytesMax", "answerReadBytesMax"], "webhook limits");
  return {
    timeoutMs: positive(limits.timeout ?? "30s", "timeout"),
    connectMs: positive(limits.connect ?? "10s", "connect"),
    answerBytesMax: wholeNumber(limits.answerBytesMax ?? 4_096, 0, 1_048_576, "answerBytesMax"),
    answerReadBytesMax: wholeNumber(limits.answerReadBytesMax ?? 65_536, 0, 16_777_216, "answerReadBytesMax"),
  };
}

function positive(duration: Duration, setting: string): number {
  const ms = toMs(duration, setting);
  if (ms > 0) return ms;
  throw new ConfigError(setting, `${setting}: must be longer than nothing.`);
}
