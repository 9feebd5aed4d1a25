// Durations, ages and clock times.
import { NOTHING } from "./numbers";

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;

/** At most two units: 3.2 s, 4 min 12 s, 2 h 5 min. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NOTHING;
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  // Rounded first, so that 59.7 s is a minute and never "60 s".
  const rounded = Math.round(ms / 1000) * 1000;
  const at = UNITS.findIndex(([, size]) => rounded >= size);
  const [unit, size] = UNITS[at]!;
  const next = UNITS[at + 1];
  const rest = next ? Math.floor((rounded % size) / next[1]) : 0;
  return `${Math.floor(rounded / size)} ${unit}${next && rest > 0 ? ` ${rest} ${next[0]}` : ""}`;
}

export const timeOf = (at: string | null | undefined): number => (at ? Date.parse(at) : Number.NaN);

export function ago(at: string | null | undefined, now: number): string {
  const time = timeOf(at);
  if (!Number.isFinite(time)) return NOTHING;
  const age = now - time;
  if (age < -999) return `in ${age < -60_000 ? coarse(-age) : duration(-age)}`;
  return age < 1000 ? "now" : `${coarse(age)} ago`;
}

/** Ages move every second in a list: one unit is calmer. */
export function coarse(ms: number): string {
  const found = UNITS.find(([, size]) => ms >= size) ?? UNITS[3];
  return `${Math.floor(ms / found[1])} ${found[0]}`;
}

const clockFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minuteFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const fullFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

const written = (format: Intl.DateTimeFormat, time: number): string =>
  Number.isFinite(time) ? format.format(time) : NOTHING;
export const clock = (time: number): string => written(clockFormat, time);
export const minute = (time: number): string => written(minuteFormat, time);
export const day = (time: number): string => written(dayFormat, time);
export const full = (at: string | null | undefined): string => written(fullFormat, timeOf(at));
/** 14:02:31.4, for axes that are cut finer than seconds. */
export const tenth = (time: number): string =>
  Number.isFinite(time) ? `${clock(time)}.${Math.floor((((time % 1000) + 1000) % 1000) / 100)}` : NOTHING;
/** 14:02:31 today, 17 Nov 14:02 otherwise. */
export const moment = (at: string | null | undefined, now: number): string => {
  const time = timeOf(at);
  if (!Number.isFinite(time)) return NOTHING;
  return day(time) === day(now) ? clock(time) : `${day(time)} ${minute(time)}`;
};

const ISO = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)/g;

/** Sentences of the server name times for machines; here they are told by the clocks of the reader, with how far away they are. */
export const readable = (text: string, now: number): string =>
  text.replaceAll(ISO, (at) =>
    Number.isFinite(timeOf(at)) ? `${moment(at, now)} (${ago(at, now).replaceAll(" ", "\u00a0")})` : at,
  );
