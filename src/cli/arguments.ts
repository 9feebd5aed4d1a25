// From the words of a command line to values. Each parser is told the option's name, because that is what its message must name.

import { systemClock } from "../base/clock.js";
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { checkBatchId } from "../base/job-id.js";
import { nameOf, wholeNumber } from "../base/settings.js";
import { parseIso } from "../base/time.js";
import { checkDatabaseUrl } from "../db/database-url.js";
import { checkSchemaName } from "../db/schema-name.js";
import { checkLimits, checkRate, type RateLimit } from "../limits/limit-settings.js";
import { Cron } from "../schedules/cron.js";
import { UsageError } from "./failure.js";

type Parser<T> = (text: string) => T;

/** The same checks as in the library; only here the mistake is the command line's. */
export function asUsage<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message) : error;
  }
}

export const name =
  (option: string): Parser<string> =>
  (text) =>
    asUsage(() => nameOf(text, option));

/** For options that may be repeated. */
export const names =
  (option: string) =>
  (text: string, before: readonly string[] = []): readonly string[] => [...before, name(option)(text)];

export const whole =
  (option: string, min: number, max: number): Parser<number> =>
  (text) =>
    asUsage(() => wholeNumber(/^[+-]?\d+$/.test(text) ? Number(text) : text, min, max, option));

export const duration =
  (option: string): Parser<Duration> =>
  (text) => {
    const value = (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text) as Duration;
    asUsage(() => toMs(value, option));
    return value;
  };

/** "100/1m": so many in that time. */
export const rate =
  (option: string): Parser<Pick<RateLimit, "limit" | "per">> =>
  (text) => {
    const [, limit, per] = /^(\d+)\/(.+)$/.exec(text) ?? [];
    if (limit === undefined)
      throw new UsageError(`${option}: ${JSON.stringify(text)} is not a rate. Write it like 100/1m: 100 in a minute.`);
    const parsed = { limit: Number(limit), per: duration(option)(per!) };
    asUsage(() => checkRate(parsed, option));
    return parsed;
  };

/** A cron expression, and the zone whose clocks it means. */
export function cronSpec(expression: string, timezone: string | undefined): { cron: string; timezone: string } {
  const cron = asUsage(() => new Cron(expression, timezone));
  return { cron: cron.expression, timezone: cron.timezone };
}

export const weight =
  (option: string): Parser<number> =>
  (text) => {
    // What is no number stays a text, and the refusal shows it.
    const value = (/^\s*$/.test(text) || Number.isNaN(Number(text)) ? text : Number(text)) as number;
    asUsage(() => checkLimits({ weight: value }, "tenant", option));
    return value;
  };

export const moment =
  (option: string): Parser<Date> =>
  (text) => {
    const date = parseIso(text);
    if (date !== undefined) return date;
    throw new UsageError(
      `${option}: ${JSON.stringify(text)} is not a moment. Write it with its zone, like 2030-01-31T09:00:00Z.`,
    );
  };

/** A moment, or a duration back from now. */
export const momentOrAgo =
  (option: string): Parser<Date> =>
  (text) =>
    /^\d+(\.\d+)?\s*(ms|s|m|h|d)$/.test(text)
      ? new Date(systemClock.now() - asUsage(() => toMs(text as Duration, option)))
      : moment(option)(text);

export const text =
  (option: string): Parser<string> =>
  (word) => {
    if (word !== "" && word.length <= 6_000) return word;
    throw new UsageError(`${option}: write a text of 1 to 6000 characters.`);
  };

export const jobId: Parser<string> = (text) => {
  if (/^\d{1,18}$/.test(text)) return text;
  throw new UsageError(`${JSON.stringify(text)} is not a job id: ids are whole numbers, as enqueue printed them.`);
};

export const batchId: Parser<string> = (text) => asUsage(() => checkBatchId(text));

export const jobIds = (text: string, before: readonly string[] = []): readonly string[] => [...before, jobId(text)];

export const schemaName: Parser<string> = (text) => asUsage(() => checkSchemaName(text));

export const databaseUrl =
  (where: string): Parser<string> =>
  (text) =>
    asUsage(() => checkDatabaseUrl(text, where));

/** The members that are not undefined. */
export const given = <T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
