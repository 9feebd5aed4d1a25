// F3: when cron expressions tick: fields, calendars, and clocks that are put forward and back.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/base/errors.js";
import { Cron } from "../../src/schedules/cron.js";

/** The next ticks as clocks of UTC show them. */
function ticks(cron: Cron, after: string, count: number): string[] {
  const found: string[] = [];
  for (let ms = Date.parse(after); found.length < count; ) {
    ms = cron.next(ms);
    found.push(new Date(ms).toISOString().replace(":00.000Z", "Z"));
  }
  return found;
}
const next = (expression: string, after: string, count = 1, zone?: string) =>
  ticks(new Cron(expression, zone), after, count);

describe("fields", () => {
  test.each([
    ["*/20 * * * *", ["2026-11-15T12:20Z", "2026-11-15T12:40Z", "2026-11-15T13:00Z"]],
    ["5,35 8-9 * * *", ["2026-11-16T08:05Z", "2026-11-16T08:35Z", "2026-11-16T09:05Z"]],
    ["10/25 12 * * *", ["2026-11-15T12:10Z", "2026-11-15T12:35Z", "2026-11-16T12:10Z"]],
    ["0 0 1 jan,JUL *", ["2027-01-01T00:00Z", "2027-07-01T00:00Z", "2028-01-01T00:00Z"]],
    ["0 9 * * mon-fri", ["2026-11-16T09:00Z", "2026-11-17T09:00Z", "2026-11-18T09:00Z"]],
    ["0 9 * * 5-7", ["2026-11-20T09:00Z", "2026-11-21T09:00Z", "2026-11-22T09:00Z"]],
    ["0 9 * * 7", ["2026-11-22T09:00Z", "2026-11-29T09:00Z", "2026-12-06T09:00Z"]],
    // Both kinds of days: either.
    ["0 0 13 * fri", ["2026-11-20T00:00Z", "2026-11-27T00:00Z", "2026-12-04T00:00Z"]],
    ["0 0 13 * mon", ["2026-11-16T00:00Z", "2026-11-23T00:00Z", "2026-11-30T00:00Z"]],
    // A star in front leaves it to the other: odd days that are Mondays.
    ["0 0 */2 * mon", ["2026-11-23T00:00Z", "2026-12-07T00:00Z", "2026-12-21T00:00Z"]],
    ["0 0 L * *", ["2026-11-30T00:00Z", "2026-12-31T00:00Z", "2027-01-31T00:00Z"]],
    ["0 0 * * fri#2", ["2026-12-11T00:00Z", "2027-01-08T00:00Z", "2027-02-12T00:00Z"]],
    ["0 0 * * 5L", ["2026-11-27T00:00Z", "2026-12-25T00:00Z", "2027-01-29T00:00Z"]],
    ["0 0 29 2 *", ["2028-02-29T00:00Z", "2032-02-29T00:00Z", "2036-02-29T00:00Z"]],
    ["@daily", ["2026-11-16T00:00Z", "2026-11-17T00:00Z", "2026-11-18T00:00Z"]],
    [" 0  12  *  *  * ", ["2026-11-16T12:00Z", "2026-11-17T12:00Z", "2026-11-18T12:00Z"]],
  ])("%s", (expression, expected) => {
    expect(next(expression, "2026-11-15T12:00:00.500Z", 3)).toEqual(expected);
  });

  test("a sixth field in front is the second", () => {
    const cron = new Cron("*/20 * * * * *");
    expect(cron.next(1_000)).toBe(20_000);
    expect(cron.next(20_000)).toBe(40_000);
    expect(cron.next(40_000)).toBe(60_000);
  });

  test.each([
    ["", "five or six fields"],
    ["* * * *", "five or six fields"],
    ["* * * * * * *", "five or six fields"],
    ["60 * * * *", "minute (0 to 59)"],
    ["* 24 * * *", "hour (0 to 23)"],
    ["* * 0 * *", "day of the month (1 to 31)"],
    ["* * * 13 *", "month (1 to 12)"],
    ["* * * * 8", "day of the week (0 to 7)"],
    ["* * * * funday", "day of the week"],
    ["*/0 * * * *", "no number above 0"],
    ["*/x * * * *", "no number above 0"],
    ["5-1 * * * *", "runs backwards"],
    ["1-2-3 * * * *", "is no minute"],
    ["1,,2 * * * *", "is no minute"],
    ["-5 * * * *", "is no minute"],
    ["1.5 * * * *", "is no minute"],
    ["0 0 * * 5#6", "day of the week"],
    ["0 0 30 2 *", "never ticks"],
    ["0 0 31 4,6,9,11 *", "never ticks"],
    ["@reboot", "@hourly"],
    [undefined, "not a cron expression"],
    [5, "not a cron expression"],
    [{}, "not a cron expression"],
    [`${"1,".repeat(300)}1 * * * *`, "not a cron expression"],
  ])("%s is refused, and the message says why", (expression, why) => {
    const make = () => new Cron(expression as string);
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(/^cron: /);
    expect(make).toThrow(why);
  });

  test.each(["", "Europe/Nowhere", "CEST+2", 5, null])("the zone %s is refused", (zone) => {
    expect(() => new Cron("0 3 * * *", zone as string)).toThrow(expect.objectContaining({ setting: "timezone" }));
  });
});

/** Both changes of 2026 in three zones: an hour, an hour, and half an hour. */
const CHANGES = {
  "Europe/Madrid": { forward: "2026-03-29T01:00:00Z", back: "2026-10-25T01:00:00Z" },
  "America/New_York": { forward: "2026-03-08T07:00:00Z", back: "2026-11-01T06:00:00Z" },
  "Australia/Lord_Howe": { forward: "2026-10-03T15:30:00Z", back: "2026-04-04T15:00:00Z" },
} as const;

describe("F3: clocks are put forward: a time of day that they jump over ticks once, at the moment of the jump", () => {
  test.each([
    ["30 2 * * *", "Europe/Madrid", ["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"]],
    ["0 2 * * *", "Europe/Madrid", ["2026-03-28T01:00Z", "2026-03-29T01:00Z", "2026-03-30T00:00Z"]],
    ["30 2 * * *", "America/New_York", ["2026-03-07T07:30Z", "2026-03-08T07:00Z", "2026-03-09T06:30Z"]],
    ["15 2 * * *", "Australia/Lord_Howe", ["2026-10-02T15:45Z", "2026-10-03T15:30Z", "2026-10-04T15:15Z"]],
  ] as const)("%s in %s", (expression, zone, expected) => {
    const start = new Date(Date.parse(CHANGES[zone].forward) - 36 * 3_600_000).toISOString();
    expect(next(expression, start, 3, zone)).toEqual(expected);
  });

  test("several that they jump over are one tick, and none of it if the moment ticks by itself", () => {
    expect(next("*/15 2 * * *", "2026-03-29T00:00Z", 2, "Europe/Madrid")).toEqual([
      "2026-03-29T01:00Z",
      "2026-03-30T00:00Z",
    ]);
    expect(next("*/30 1-3 * * *", "2026-03-28T23:00Z", 5, "Europe/Madrid")).toEqual([
      "2026-03-29T00:00Z",
      "2026-03-29T00:30Z",
      "2026-03-29T01:00Z",
      "2026-03-29T01:30Z",
      "2026-03-29T23:00Z",
    ]);
  });

  test("also where midnight does not exist", () => {
    expect(next("0 0 * * *", "2026-04-23T12:00Z", 2, "Africa/Cairo")).toEqual([
      "2026-04-23T22:00Z",
      "2026-04-24T21:00Z",
    ]);
  });
});

describe("F3: clocks are put back: a time of day that they show twice ticks the first time only", () => {
  test.each([
    ["30 2 * * *", "Europe/Madrid", ["2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z"]],
    ["30 1 * * *", "America/New_York", ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"]],
    ["45 1 * * *", "Australia/Lord_Howe", ["2026-04-03T14:45Z", "2026-04-04T14:45Z", "2026-04-05T15:15Z"]],
  ] as const)("%s in %s", (expression, zone, expected) => {
    const start = new Date(Date.parse(CHANGES[zone].back) - 36 * 3_600_000).toISOString();
    expect(next(expression, start, 3, zone)).toEqual(expected);
    // A call in the middle of the second time is not told of it either.
    const again = new Date(Date.parse(CHANGES[zone].back) + 60_000).toISOString();
    expect(next(expression, again, 1, zone)).toEqual([expected[2]]);
  });
});

describe("F3: an interval ticks by real time", () => {
  test.each(
    Object.entries(CHANGES).flatMap(([zone, { forward, back }]) =>
      [forward, back].flatMap((change) =>
        ["*/15 * * * *", "*/10 * * * *", "*/30 * * * * *"].map((e) => [e, zone, change] as const),
      ),
    ),
  )("%s in %s around %s", (expression, zone, change) => {
    const stepMs = expression === "*/15 * * * *" ? 900_000 : expression === "*/10 * * * *" ? 600_000 : 30_000;
    const cron = new Cron(expression, zone);
    const start = Date.parse(change) - 2 * stepMs;
    for (let n = 0, ms = start; n < 12; n++) {
      expect(cron.next(ms)).toBe(ms + stepMs);
      ms += stepMs;
    }
  });

  test("every hour, at each full hour that clocks show, the doubled one twice", () => {
    expect(next("0 * * * *", "2026-10-24T23:30Z", 4, "Europe/Madrid")).toEqual([
      "2026-10-25T00:00Z",
      "2026-10-25T01:00Z",
      "2026-10-25T02:00Z",
      "2026-10-25T03:00Z",
    ]);
    expect(next("45 * * * *", "2026-04-04T14:00Z", 3, "Australia/Lord_Howe")).toEqual([
      "2026-04-04T14:45Z",
      "2026-04-04T15:15Z",
      "2026-04-04T16:15Z",
    ]);
  });
});

describe("for any expression, zone and moment", () => {
  const value = (min: number, max: number) => fc.integer({ min, max });
  const field = (min: number, max: number) =>
    fc.oneof(
      fc.constant("*"),
      value(1, 7).map((n) => `*/${n}`),
      fc.uniqueArray(value(min, max), { minLength: 1, maxLength: 4 }).map((list) => list.join(",")),
      fc.tuple(value(min, max), value(min, max)).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    );
  const expression = fc
    .tuple(
      fc.option(field(0, 59), { nil: undefined }),
      field(0, 59),
      field(0, 23),
      fc.oneof(
        { weight: 3, arbitrary: fc.constant("*") },
        { weight: 1, arbitrary: fc.oneof(field(1, 28), fc.constant("L")) },
      ),
      fc.oneof({ weight: 3, arbitrary: fc.constant("*") }, { weight: 1, arbitrary: field(1, 12) }),
      fc.oneof({ weight: 3, arbitrary: fc.constant("*") }, { weight: 1, arbitrary: field(0, 7) }),
    )
    .map((parts) => parts.filter((part) => part !== undefined).join(" "));
  const zone = fc.constantFrom(
    "UTC",
    ...Object.keys(CHANGES),
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "America/Sao_Paulo",
    "Pacific/Apia",
  );
  /** Near a change half of the time. */
  const moment = fc.oneof(
    value(Date.parse("1995-01-01"), Date.parse("2035-01-01")),
    fc
      .tuple(
        fc.constantFrom(...Object.values(CHANGES).flatMap(({ forward, back }) => [forward, back])),
        value(-7_200_000, 7_200_000),
      )
      .map(([change, by]) => Date.parse(change) + by),
  );

  test("next is behind the moment, nothing lies between, and ticks never repeat", () => {
    fc.assert(
      fc.property(expression, zone, moment, fc.double({ min: 0, max: 1, noNaN: true }), (text, zoneName, at, part) => {
        const cron = new Cron(text, zoneName);
        let before = at;
        for (let n = 0; n < 5; n++) {
          const tick = cron.next(before);
          expect(tick).toBeGreaterThan(before);
          expect(tick % 1000).toBe(0);
          // The same tick, from wherever between the two one asks.
          expect(cron.next(Math.floor(before + (tick - 1 - before) * part))).toBe(tick);
          before = tick;
        }
      }),
      { numRuns: 1_500 },
    );
  });

  test("a time of day ticks once on every day of every zone", () => {
    fc.assert(
      fc.property(value(0, 23), value(0, 59), fc.constantFrom(...Object.keys(CHANGES)), (hour, minute, zoneName) => {
        const cron = new Cron(`${minute} ${hour} * * *`, zoneName);
        const day = new Intl.DateTimeFormat("en-CA", { timeZone: zoneName });
        let ms = Date.parse("2026-01-01T00:00Z");
        for (let last = ""; ms < Date.parse("2026-12-31T00:00Z"); ) {
          ms = cron.next(ms);
          const today = day.format(ms);
          if (last !== "") expect(Date.parse(today) - Date.parse(last)).toBe(86_400_000);
          last = today;
        }
      }),
      { numRuns: 20 },
    );
  });
});
