// Floors by time of day: at least this many children on these days, between these hours, by the clocks of a zone.
import { ConfigError } from "../../base/errors.js";
import { refuseUnknown, wholeNumber } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";

export interface FloorOptions {
  /** "mon-fri", "sat,sun", "mon"; default: every day. */
  readonly days?: string;
  /** "08:00", included. */
  readonly from: string;
  /** "18:00", excluded; "24:00" is the end of the day. Before `from`: on the next day. */
  readonly to: string;
  /** Default "UTC". */
  readonly timezone?: string;
  readonly minInstances: number;
}

export interface Floor {
  /** Monday is 0. */
  readonly days: ReadonlySet<number>;
  readonly fromMinute: number;
  readonly toMinute: number;
  /** Says weekday, hour and minute by the clocks of its zone. */
  readonly clock: Intl.DateTimeFormat;
  readonly min: number;
  /** As it was written, for reasons. */
  readonly text: string;
}

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const FLOORS_MAX = 100;

export function checkFloors(floors: readonly FloorOptions[], max: number, where: string): readonly Floor[] {
  if (!Array.isArray(floors) || floors.length > FLOORS_MAX)
    throw new ConfigError("floors", `${where}: ${showValue(floors)} is not a list of at most ${FLOORS_MAX} floors.`);
  return floors.map((floor, i) => checkFloor(floor, max, `${where}[${i}]`));
}

function checkFloor(floor: FloorOptions, max: number, where: string): Floor {
  refuseUnknown(floor, ["days", "from", "to", "timezone", "minInstances"], where);
  const timezone = floor.timezone ?? "UTC";
  return {
    days: daysOf(floor.days ?? "mon-sun", `${where}.days`),
    fromMinute: minuteOf(floor.from, `${where}.from`),
    toMinute: minuteOf(floor.to, `${where}.to`),
    clock: clockOf(timezone, `${where}.timezone`),
    min: wholeNumber(floor.minInstances, 0, max, `${where}.minInstances`),
    text: `${floor.days ?? "daily"} ${floor.from}–${floor.to} ${timezone}`,
  };
}

function clockOf(timeZone: string, where: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      weekday: "short",
      hour: "2-digit",
      minute: "2-digit",
    });
  } catch {
    throw new ConfigError("timezone", `${where}: ${showValue(timeZone)} is not a time zone, like "Europe/Madrid".`);
  }
}

function minuteOf(text: unknown, where: string): number {
  const match = typeof text === "string" ? /^([01]\d|2[0-4]):([0-5]\d)$/.exec(text) : null;
  const minute = match === null ? Number.NaN : Number(match[1]) * 60 + Number(match[2]);
  if (minute <= 1_440) return minute;
  throw new ConfigError(where, `${where}: ${showValue(text)} is not a time of day, like "08:00".`);
}

function daysOf(text: unknown, where: string): ReadonlySet<number> {
  const days = new Set<number>();
  for (const part of typeof text === "string" ? text.toLowerCase().split(",") : [""]) {
    const [from = -1, to = from] = part.split("-").map((day) => DAYS.indexOf(day.trim()));
    if (from < 0 || to < 0)
      throw new ConfigError(where, `${where}: ${showValue(text)} names no days, like "mon-fri" or "sat,sun".`);
    for (let day = from; ; day = (day + 1) % 7) {
      days.add(day);
      if (day === to) break;
    }
  }
  return days;
}

/** The highest floor at this time; undefined: none. */
export function floorAt(floors: readonly Floor[], nowMs: number): Floor | undefined {
  let highest: Floor | undefined;
  for (const floor of floors) if (isWithin(floor, nowMs) && floor.min > (highest?.min ?? -1)) highest = floor;
  return highest;
}

function isWithin({ days, fromMinute, toMinute, clock }: Floor, nowMs: number): boolean {
  const parts = clock.formatToParts(nowMs);
  const part = (type: string) => parts.find((one) => one.type === type)!.value;
  const day = DAYS.indexOf(part("weekday").toLowerCase());
  const minute = Number(part("hour")) * 60 + Number(part("minute"));
  if (fromMinute < toMinute) return days.has(day) && minute >= fromMinute && minute < toMinute;
  // Over midnight: the day is the one on which it begins.
  return (days.has(day) && minute >= fromMinute) || (days.has((day + 6) % 7) && minute < toMinute);
}
