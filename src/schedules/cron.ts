// When a cron expression ticks in a time zone. What happens when clocks are put forward or back:
//
//  - An expression that names hours means times of day. Each time of day ticks once a day: one that clocks jump over ticks at the time
//    of the jump, one that they show twice ticks the first time.
//  - One that names every hour means an interval. It ticks whenever clocks show a time that fits: every real quarter of an hour, say.

import { ConfigError } from "../base/errors.js";
import { showValue } from "../base/show-value.js";
import { type CronFields, parseCron } from "./cron-expression.js";
import { TimeZone } from "./time-zone.js";

const SECOND_MS = 1000;
const DAY_MS = 86_400_000;
/** The 29th of February of a given weekday is at most 40 years away. */
const DAYS_MAX = 41 * 366;

export class Cron {
  readonly expression: string;
  readonly timezone: string;
  readonly #fields: CronFields;
  readonly #zone: TimeZone;

  /** Throws a ConfigError that names the setting: an expression that is none or never ticks, a zone that is not known. */
  constructor(expression: string, timezone = "UTC") {
    this.#fields = parseCron(expression);
    this.#zone = new TimeZone(timezone);
    this.expression = expression;
    this.timezone = timezone;
    if (nextWall(this.#fields, 0) === undefined)
      throw new ConfigError("cron", `cron: ${showValue(expression)} names a day that no calendar has: it never ticks.`);
  }

  /** The first tick after this time, in milliseconds since 1970. */
  next(afterMs: number): number {
    // Ticks lie at whole seconds.
    const after = Math.floor(afterMs / SECOND_MS) * SECOND_MS;
    return this.#fields.everyHour ? this.#nextOfInterval(after) : this.#nextOfDay(after);
  }

  /** Wall times in order are times in order: the first that lies behind `after`. */
  #nextOfDay(after: number): number {
    let wall = after + this.#zone.offsetAt(after);
    for (;;) {
      wall = this.#nextWall(wall);
      const moment = this.#zone.momentOf(wall);
      if (moment > after) return moment;
    }
  }

  /** As long as the offset stays, the next fitting wall time; from a change on, what clocks show then. */
  #nextOfInterval(after: number): number {
    let start = after;
    let inside = after;
    for (;;) {
      const offset = this.#zone.offsetAt(inside);
      const moment = this.#nextWall(start + offset) - offset;
      const change = this.#zone.changeIn(inside, moment);
      if (change === undefined) return moment;
      // What clocks show at the change itself may fit.
      start = change - SECOND_MS;
      inside = change;
    }
  }

  #nextWall(wall: number): number {
    const next = nextWall(this.#fields, wall);
    // Checked when this was made; only the end of time is left.
    if (next === undefined) throw new ConfigError("cron", `cron: ${showValue(this.expression)} never ticks again.`);
    return next;
  }
}

/** The first fitting wall time behind `wall`. */
function nextWall(fields: CronFields, wall: number): number | undefined {
  const from = wall + SECOND_MS;
  let day = Math.floor(from / DAY_MS);
  const secondOfDay = Math.floor((from - day * DAY_MS) / SECOND_MS);
  let time = fitsDay(fields, day) ? timeFrom(fields, secondOfDay) : undefined;
  for (const last = day + DAYS_MAX; time === undefined; ) {
    if (++day > last) return undefined;
    if (fitsDay(fields, day)) time = timeFrom(fields, 0);
  }
  return day * DAY_MS + time * SECOND_MS;
}

function fitsDay(fields: CronFields, dayNumber: number): boolean {
  const date = new Date(dayNumber * DAY_MS);
  if (!fields.months[date.getUTCMonth() + 1]) return false;
  const day = date.getUTCDate();
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  const weekday = date.getUTCDay();
  const fitsMonth = fields.days[day]! || (fields.lastDay && day === last);
  const fitsWeek =
    fields.weekdays[weekday]! ||
    fields.nthWeekdays.some(
      (named) =>
        named.weekday === weekday && (named.nth === -1 ? day + 7 > last : Math.floor((day - 1) / 7) + 1 === named.nth),
    );
  return fields.eitherDay ? fitsMonth || fitsWeek : fitsMonth && fitsWeek;
}

/** The first fitting second of the day, not before this one. */
function timeFrom({ hours, minutes, seconds }: CronFields, secondOfDay: number): number | undefined {
  const startHour = Math.floor(secondOfDay / 3600);
  for (let hour = startHour; hour < 24; hour++) {
    if (!hours[hour]) continue;
    const startMinute = hour === startHour ? Math.floor((secondOfDay % 3600) / 60) : 0;
    for (let minute = startMinute; minute < 60; minute++) {
      if (!minutes[minute]) continue;
      const isFirst = hour === startHour && minute === startMinute;
      const second = seconds.indexOf(true, isFirst ? secondOfDay % 60 : 0);
      if (second !== -1) return hour * 3600 + minute * 60 + second;
    }
  }
  return undefined;
}
