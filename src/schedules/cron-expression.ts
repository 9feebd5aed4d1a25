// Reads a cron expression: which seconds, minutes, hours, days, months and days of the week it names. Knows no time zone.
import { ConfigError } from "../base/errors.js";
import { showValue } from "../base/show-value.js";

/** What an expression names. A member of a list is true where its index is named. */
export interface CronFields {
  readonly seconds: readonly boolean[];
  readonly minutes: readonly boolean[];
  readonly hours: readonly boolean[];
  readonly months: readonly boolean[];
  /** 1 to 31. */
  readonly days: readonly boolean[];
  /** L: the last day of the month, whichever that is. */
  readonly lastDay: boolean;
  /** 0 is Sunday. */
  readonly weekdays: readonly boolean[];
  /** "5#2": the second Friday; "5L": the last one, as -1. */
  readonly nthWeekdays: readonly { readonly weekday: number; readonly nth: number }[];
  /** Both days and days of the week are named: either of them will do. */
  readonly eitherDay: boolean;
  /** Every hour of the day: an interval, not a time of day. */
  readonly everyHour: boolean;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const SECOND: Field = { name: "second", min: 0, max: 59 };
const MINUTE: Field = { name: "minute", min: 0, max: 59 };
const HOUR: Field = { name: "hour", min: 0, max: 23 };
const DAY: Field = { name: "day of the month", min: 1, max: 31 };
const MONTH: Field = { name: "month", min: 1, max: 12, names: ["", ...MONTHS] };
/** 7 is Sunday, too. */
const WEEKDAY: Field = { name: "day of the week", min: 0, max: 7, names: WEEKDAYS };

/** A map, because a text of the caller is looked up: an object would know "__proto__". */
const NICKNAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
  }),
);
const CHARS_MAX = 500;

/** Throws a ConfigError that says which field is wrong. */
export function parseCron(expression: unknown, setting = "cron"): CronFields {
  const wrong = (why: string): never => {
    throw new ConfigError(
      setting,
      `${setting}: ${showValue(expression)}: ${why}. Write minute, hour, day of the month, month, day of the week, like "0 3 * * 1-5"; a sixth field in front is the second.`,
    );
  };
  if (typeof expression !== "string" || expression.length > CHARS_MAX) return wrong("this is not a cron expression");
  const text = expression.trim().toLowerCase();
  const words = (NICKNAMES.get(text) ?? text).split(/\s+/);
  if (text.startsWith("@") && !NICKNAMES.has(text))
    return wrong(`the names that are known are ${[...NICKNAMES.keys()].join(", ")}`);
  if (words.length !== 5 && words.length !== 6) return wrong("this has not five or six fields");
  const [second, minute, hour, day, month, weekday] = (words.length === 5 ? ["0", ...words] : words) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const hours = setOf(hour, HOUR, wrong);
  const nthWeekdays: { weekday: number; nth: number }[] = [];
  const plainWeekdays = plainOf(weekday, (word) => {
    const [, name, nth] = /^(\w+?)(?:#([1-5])|l)$/.exec(word) ?? [];
    if (name === undefined || name === "") return false;
    nthWeekdays.push({
      weekday: numberOf(name, WEEKDAY, wrong) % 7,
      nth: nth === undefined ? -1 : Number(nth),
    });
    return true;
  });
  const plainDays = plainOf(day, (word) => word === "l");
  const weekdays = plainWeekdays === undefined ? none(WEEKDAY) : setOf(plainWeekdays, WEEKDAY, wrong);
  if (weekdays[7]) weekdays[0] = true;
  return {
    seconds: setOf(second, SECOND, wrong),
    minutes: setOf(minute, MINUTE, wrong),
    hours,
    months: setOf(month, MONTH, wrong),
    days: plainDays === undefined ? none(DAY) : setOf(plainDays, DAY, wrong),
    lastDay: day.split(",").includes("l"),
    weekdays: weekdays.slice(0, 7),
    nthWeekdays,
    // A field that begins with a star leaves the choice to the other one, as cron has always done.
    eitherDay: !day.startsWith("*") && !weekday.startsWith("*"),
    everyHour: hours.every((named) => named),
  };
}

type Wrong = (why: string) => never;

const none = ({ max }: Field): boolean[] => Array.from({ length: max + 1 }, () => false);

/** The parts of a list that `takes` leaves; undefined when none are left. */
function plainOf(list: string, takes: (word: string) => boolean): string | undefined {
  const left = list.split(",").filter((word) => !takes(word));
  return left.length === 0 ? undefined : left.join(",");
}

function setOf(list: string, field: Field, wrong: Wrong): boolean[] {
  const set = none(field);
  for (const part of list.split(",")) {
    const [range, step, ...rest] = part.split("/");
    if (rest.length > 0 || range === "" || step === "") wrong(`${showValue(part)} is no ${field.name}`);
    const [from, to] = boundsOf(range!, step !== undefined, field, wrong);
    const by = step === undefined ? 1 : Number(step);
    if (!/^\d{1,4}$/.test(step ?? "1") || by < 1)
      wrong(`the step of ${showValue(part)} (${field.name}) is no number above 0`);
    for (let value = from; value <= to; value += by) set[value] = true;
  }
  return set;
}

function boundsOf(range: string, isStepped: boolean, field: Field, wrong: Wrong): [from: number, to: number] {
  // 7 is only another name of 0: a star must not count Sunday twice.
  const last = field === WEEKDAY ? 6 : field.max;
  if (range === "*") return [field.min, last];
  const [first, second, ...rest] = range.split("-");
  if (rest.length > 0 || second === "") wrong(`${showValue(range)} is no ${field.name}`);
  const from = numberOf(first!, field, wrong);
  if (second === undefined) return [from, isStepped ? last : from];
  const to = numberOf(second, field, wrong);
  if (to < from) wrong(`the range ${showValue(range)} (${field.name}) runs backwards: write it as two`);
  return [from, to];
}

function numberOf(word: string, field: Field, wrong: Wrong): number {
  const named = field.names?.indexOf(word) ?? -1;
  const value = named >= 0 && word !== "" ? named : /^\d{1,2}$/.test(word) ? Number(word) : Number.NaN;
  if (value >= field.min && value <= field.max) return value;
  return wrong(`${showValue(word)} is no ${field.name} (${field.min} to ${field.max})`);
}
