// F3: which ticks get a job when a worker looks, and how long after them it starts.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Cron } from "../../src/schedules/cron.js";
import { checkMissed, dueTicks, jitterOf, missedOf, ON_TIME_MS } from "../../src/schedules/schedule.js";

const hourly = new Cron("0 * * * *");
const at = (text: string) => Date.parse(`2026-11-15T${text}Z`);
const due = (from: string, now: string, missedMax: number, cron = hourly) => {
  const { ticks, nextMs } = dueTicks(cron, at(from), at(now), missedMax);
  return [...ticks, nextMs].map((ms) => new Date(ms).toISOString().slice(11, 19));
};

describe("F3: the ticks that get a job; the last one is the next", () => {
  test("one that is on time gets it, whatever the policy", () => {
    for (const missedMax of [0, 1, 10]) {
      expect(due("12:00", "12:00", missedMax)).toEqual(["12:00:00", "13:00:00"]);
      expect(due("12:00", "12:00:59", missedMax)).toEqual(["12:00:00", "13:00:00"]);
    }
  });

  test("missed ones: none, the latest, or the latest so many", () => {
    expect(due("05:00", "12:30", 0)).toEqual(["13:00:00"]);
    expect(due("05:00", "12:30", 1)).toEqual(["12:00:00", "13:00:00"]);
    expect(due("05:00", "12:30", 3)).toEqual(["10:00:00", "11:00:00", "12:00:00", "13:00:00"]);
    expect(due("11:00", "12:30", 3)).toEqual(["11:00:00", "12:00:00", "13:00:00"]);
  });

  test("one that is on time does for the missed ones, too", () => {
    expect(due("05:00", "12:00:30", 0)).toEqual(["12:00:00", "13:00:00"]);
    expect(due("05:00", "12:00:30", 1)).toEqual(["12:00:00", "13:00:00"]);
    expect(due("05:00", "12:00:30", 2)).toEqual(["11:00:00", "12:00:00", "13:00:00"]);
  });

  test("nothing is due before its time", () => {
    expect(due("13:00", "12:30", 5)).toEqual(["13:00:00"]);
  });

  test("ten years of seconds are not counted one by one", () => {
    const cron = new Cron("* * * * * *", "Europe/Madrid");
    let looked = 0;
    const each = {
      next: (afterMs: number) => {
        looked++;
        return cron.next(afterMs);
      },
    };
    const { ticks } = dueTicks(each, Date.parse("2016-11-15T00:00Z"), at("12:00"), 1_000);
    // Of 315 million.
    expect(looked).toBeLessThan(100_000);
    expect(ticks).toHaveLength(1_000);
    expect(ticks.at(-1)).toBe(at("12:00"));
    const yearly = new Cron("0 0 1 1 *");
    expect(dueTicks(yearly, Date.parse("2016-11-15T00:00Z"), at("12:00"), 1_000).ticks).toHaveLength(10);
  });

  test("always the latest of all that lie between, in order, and none that is on time is left out", () => {
    const moment = fc.integer({ min: Date.parse("2026-03-01"), max: Date.parse("2026-04-10") });
    const expression = fc.constantFrom("*/7 * * * *", "30 2 * * *", "0 */5 * * *", "*/30 * * * * *", "0 0 1 * *");
    fc.assert(
      fc.property(
        expression,
        moment,
        fc.integer({ min: 0, max: 86_400_000 }),
        fc.integer({ min: 0, max: 40 }),
        (text, from, span, max) => {
          const cron = new Cron(text, "Europe/Madrid");
          const now = from + span;
          const all: number[] = [];
          for (let tick = cron.next(from - 1); tick <= now; tick = cron.next(tick)) all.push(tick);
          const onTime = all.filter((tick) => tick >= now - ON_TIME_MS).length;
          const count = Math.min(all.length, Math.max(max, onTime));
          expect(dueTicks(cron, from, now, max)).toEqual({
            ticks: count === 0 ? [] : all.slice(-count),
            nextMs: cron.next(now),
          });
        },
      ),
      { numRuns: 300 },
    );
  });
});

test("jitter is the same for the same tick, within its bound, and spread", () => {
  const delays = Array.from({ length: 1_000 }, (_, n) => jitterOf("nightly", n * 60_000, 30_000));
  expect(delays).toEqual(Array.from({ length: 1_000 }, (_, n) => jitterOf("nightly", n * 60_000, 30_000)));
  for (const delay of delays) expect(delay >= 0 && delay <= 30_000 && Number.isInteger(delay)).toBe(true);
  expect(new Set(delays).size).toBeGreaterThan(900);
  expect(jitterOf("nightly", 0, 30_000)).not.toBe(jitterOf("weekly", 0, 30_000));
  expect(jitterOf("nightly", 5, 0)).toBe(0);
});

test("policies, and what is none", () => {
  for (const missed of ["skip", "once", { all: 7 }] as const) expect(missedOf(checkMissed(missed))).toEqual(missed);
  expect(missedOf(checkMissed(undefined))).toBe("once");
  for (const [missed, setting] of [
    ["never", "missed"],
    [null, "missed"],
    [{ all: 0 }, "missed.all"],
    [{ all: 1_001 }, "missed.all"],
    [{}, "missed.all"],
    [{ al: 3 }, "al"],
  ] as const)
    expect(() => checkMissed(missed)).toThrow(expect.objectContaining({ setting }));
});
