// A cron expression in words, where it is one of the usual shapes; otherwise it stands for itself.
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];
const NTH = ["first", "second", "third", "fourth", "fifth"];
const two = (text: string): string => text.padStart(2, "0");
const isNumber = (text: string): boolean => /^\d{1,2}$/.test(text);

/** a, b and c */
const listed = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

/** Every part of a list as words; undefined: one of them has none. */
function each(field: string, words: (part: string) => string | undefined): string | undefined {
  const said = field.split(",").map(words);
  return said.every((one) => one !== undefined) ? listed(said) : undefined;
}

export function cronWords(cron: string): string {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5) return cron;
  const [minute, hour, date, month, weekday] = fields as [string, string, string, string, string];
  const when = timeWords(minute, hour);
  const on = dayWords(date, weekday);
  const within = month === "*" ? "" : each(month, monthWords);
  return when === undefined || on === undefined || within === undefined
    ? cron
    : `${when}${on}${within && `, in ${within}`}`;
}

function timeWords(minute: string, hour: string): string | undefined {
  const step = /^(?:\*|0)\/(\d+)$/.exec(minute);
  if (minute === "*" || minute === "*/1" || step) {
    const often = step && step[1] !== "1" ? `every ${step[1]} minutes` : "every minute";
    if (hour === "*") return often;
    const hours = /^(\d{1,2})-(\d{1,2})$/.exec(hour);
    return hours ? `${often} from ${two(hours[1]!)}:00 to ${two(hours[2]!)}:59` : undefined;
  }
  if (!isNumber(minute) || Number(minute) > 59) return undefined;
  if (hour === "*") return Number(minute) === 0 ? "every hour" : `every hour at :${two(minute)}`;
  const hours = /^(?:\*|0)\/(\d+)$/.exec(hour);
  if (hours) return `every ${hours[1]} hours at :${two(minute)}`;
  const span = /^(\d{1,2})-(\d{1,2})$/.exec(hour);
  if (span) return `every hour from ${two(span[1]!)}:${two(minute)} to ${two(span[2]!)}:${two(minute)}`;
  const at = each(hour, (one) => (isNumber(one) && Number(one) < 24 ? `${two(one)}:${two(minute)}` : undefined));
  return at === undefined ? undefined : `at ${at}`;
}

const nameIn = (names: readonly string[], text: string): string | undefined =>
  /^[a-z]{3}$/i.test(text) ? names.find((name) => name.slice(0, 3).toLowerCase() === text.toLowerCase()) : undefined;

const weekdayWords = (text: string): string | undefined =>
  nameIn(DAYS, text) ?? (/^[0-7]$/.test(text) ? DAYS[Number(text)] : undefined);

function monthWords(text: string): string | undefined {
  return nameIn(MONTHS, text) ?? (isNumber(text) ? MONTHS[Number(text) - 1] : undefined);
}

function dayWords(date: string, weekday: string): string | undefined {
  if (date === "*" && weekday === "*") return "";
  if (date === "*") return weekWords(weekday);
  if (weekday !== "*") return undefined;
  if (/^L$/i.test(date)) return ", on the last day of the month";
  const days = each(date, (one) => (isNumber(one) ? String(Number(one)) : undefined));
  return days === undefined ? undefined : `, on day ${days} of the month`;
}

function weekWords(weekday: string): string | undefined {
  const span = /^(\w{1,3})-(\w{1,3})$/.exec(weekday);
  const [from, to] = span ? [weekdayWords(span[1]!), weekdayWords(span[2]!)] : [];
  if (from && to) return `, ${from} to ${to}`;
  const nth = /^(\w{1,3})(?:#([1-5])|L)$/i.exec(weekday);
  const day = nth && weekdayWords(nth[1]!);
  if (day) return `, on the ${nth[2] ? NTH[Number(nth[2]) - 1] : "last"} ${day} of the month`;
  const days = each(weekday, weekdayWords);
  return days === undefined ? undefined : `, every ${days}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** A time as the clocks of the schedule's zone show it. */
export function inZone(at: string, zone: string): string {
  let format = formats.get(zone);
  if (!format) {
    const options: Intl.DateTimeFormatOptions = {
      weekday: "short",
      day: "numeric",
      month: "short",
      hour: "2-digit",
      minute: "2-digit",
      hour12: false,
    };
    try {
      format = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone });
    } catch {
      format = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
    }
    formats.set(zone, format);
  }
  const time = Date.parse(at);
  // The weekday and the date are one word to the eye.
  return Number.isFinite(time) ? format.format(time).replaceAll(", ", " ") : at;
}
