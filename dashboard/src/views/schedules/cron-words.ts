// A cron expression in words, where it is one of the usual shapes; otherwise it stands for itself.
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const two = (text: string): string => text.padStart(2, "0");
const isNumber = (text: string): boolean => /^\d{1,2}$/.test(text);

export function cronWords(cron: string): string {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5) return cron;
  const [minute, hour, date, month, weekday] = fields as [string, string, string, string, string];
  const when = timeWords(minute, hour);
  if (when === undefined || month !== "*") return cron;
  const on = dayWords(date, weekday);
  return on === undefined ? cron : `${when}${on}`;
}

function timeWords(minute: string, hour: string): string | undefined {
  const step = /^\*\/(\d+)$/.exec(minute);
  if ((minute === "*" || minute === "*/1") && hour === "*") return "every minute";
  if (step && hour === "*") return `every ${step[1]} minutes`;
  if (isNumber(minute) && hour === "*") return Number(minute) === 0 ? "every hour" : `every hour at :${two(minute)}`;
  const hours = /^\*\/(\d+)$/.exec(hour);
  if (isNumber(minute) && hours) return `every ${hours[1]} hours at :${two(minute)}`;
  if (isNumber(minute) && isNumber(hour)) return `at ${two(hour)}:${two(minute)}`;
  return undefined;
}

function dayWords(date: string, weekday: string): string | undefined {
  if (date === "*" && weekday === "*") return "";
  if (date === "*" && weekday === "1-5") return ", Monday to Friday";
  if (date === "*" && /^[0-7]$/.test(weekday)) return `, every ${DAYS[Number(weekday)]}`;
  if (weekday === "*" && isNumber(date)) return `, on day ${Number(date)} of the month`;
  return undefined;
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
