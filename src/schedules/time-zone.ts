// Clocks on the wall: what they show in a zone at a time, and at which time they show something. A wall time is written as the
// milliseconds that UTC would have if its clocks showed the same.
import { ConfigError } from "../base/errors.js";
import { showValue } from "../base/show-value.js";

const DAY_MS = 86_400_000;

export class TimeZone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;

  /** Throws a ConfigError when this Node does not know the zone. */
  constructor(name: string, setting = "timezone") {
    try {
      if (typeof name !== "string" || name === "") throw new RangeError("no name");
      this.#format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
      this.name = name;
    } catch {
      throw new ConfigError(
        setting,
        `${setting}: ${showValue(name)} is no time zone that this Node knows. Write a name like "Europe/Madrid", or "UTC".`,
      );
    }
  }

  /** What the zone's clocks are ahead of UTC at this time. */
  offsetAt(ms: number): number {
    const text = this.#format.format(ms);
    const [, sign, hours, minutes, seconds] = /GMT(?:([+-])(\d+)(?::(\d+))?(?::(\d+))?)?$/.exec(text) ?? [];
    if (sign === undefined) return 0;
    const amount = (Number(hours) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0)) * 1000;
    return sign === "-" ? -amount : amount;
  }

  /** The first time in (from, to] at which the offset is another one than at `from`; undefined when it stays. */
  changeIn(from: number, to: number): number | undefined {
    const offset = this.offsetAt(from);
    // Day by day: two changes that undo each other lie further apart than that.
    for (let start = from; start < to; start += DAY_MS) {
      const end = Math.min(start + DAY_MS, to);
      if (this.offsetAt(end) !== offset) return this.#narrow(start, end, offset);
    }
    return undefined;
  }

  /** The time at which clocks first show this; where they jump over it, the time of the jump. */
  momentOf(wall: number): number {
    const before = this.offsetAt(wall - DAY_MS);
    const after = this.offsetAt(wall + DAY_MS);
    if (before === after) return wall - before;
    const early = wall - before;
    if (this.offsetAt(early) === before) return early;
    const late = wall - after;
    if (this.offsetAt(late) === after) return late;
    return this.#narrow(wall - DAY_MS, wall + DAY_MS, before);
  }

  /** `offset` holds at `low` and not at `high`: the first time at which it does not. Changes happen at whole seconds. */
  #narrow(low: number, high: number, offset: number): number {
    let below = Math.floor(low / 1000);
    let above = Math.ceil(high / 1000);
    while (above - below > 1) {
      const middle = Math.floor((below + above) / 2);
      if (this.offsetAt(middle * 1000) === offset) below = middle;
      else above = middle;
    }
    return above * 1000;
  }
}
