// What a worker is told about alerts.
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { nameOf, refuseUnknown } from "../base/settings.js";
import { type AlertRule, type AlertRules, rulesInForce } from "./rule.js";

export interface AlertOptions {
  /** Rules of your own, and changes of those out of the box, by name; false switches one off. */
  readonly rules?: AlertRules;
  /** Channels of the outbox to which every change goes, once; besides the log. */
  readonly channels?: readonly string[];
  /** How often the rules are evaluated, by one worker of the fleet; default "15s". */
  readonly every?: Duration;
}

export interface AlertSettings {
  readonly rules: readonly AlertRule[];
  readonly channels: readonly string[];
  readonly everyMs: number;
}

const CHANNELS_MAX = 10;

/** Undefined: this worker evaluates none. */
export function checkAlerts(options: AlertOptions | false | undefined): AlertSettings | undefined {
  if (options === false) return undefined;
  const given = options ?? {};
  refuseUnknown(given, ["rules", "channels", "every"], "alerts");
  if (
    given.rules !== undefined &&
    (typeof given.rules !== "object" || given.rules === null || Array.isArray(given.rules))
  )
    throw new ConfigError(
      "alerts.rules",
      'alerts.rules: must be an object, like { "queue-depth-50": { above: 100 } }.',
    );
  const channels = given.channels ?? [];
  if (!Array.isArray(channels) || channels.length > CHANNELS_MAX)
    throw new ConfigError(
      "alerts.channels",
      `alerts.channels: must be a list of at most ${CHANNELS_MAX} names of channels.`,
    );
  const everyMs = toMs(given.every ?? "15s", "alerts.every");
  if (everyMs < 1_000)
    throw new ConfigError("alerts.every", "alerts.every: less than a second costs more than it tells.");
  return {
    rules: rulesInForce(given.rules),
    channels: channels.map((channel: unknown) => nameOf(channel, "alerts.channels")),
    everyMs,
  };
}
