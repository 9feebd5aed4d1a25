import fc from "fast-check";
import { expect, test } from "vitest";
import { ConfigError } from "../../src/base/errors.js";
import { exponential, fixed } from "../../src/core/job/backoff.js";

/** The dice in the middle: no jitter. */
const MIDDLE = 0.5;

test("B3: the wait doubles with every attempt until it reaches the cap", () => {
  const backoff = exponential({ base: "2s", cap: "30s" });
  expect([1, 2, 3, 4, 5, 6, 7].map((attempt) => backoff(attempt, MIDDLE))).toEqual([
    2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
  ]);
});

test("B3: unless set otherwise the first wait is two seconds and the longest five minutes, give or take a tenth", () => {
  const backoff = exponential();
  expect([backoff(1, 0), backoff(1, MIDDLE), backoff(1, 0.999)]).toEqual([1_800, 2_000, 2_200]);
  expect([backoff(50, 0), backoff(50, MIDDLE), backoff(50, 0.999)]).toEqual([270_000, 300_000, 329_940]);
});

test("B3: two jobs that failed together do not come back together: the dice spread them over the whole jitter", () => {
  const backoff = exponential({ base: 10_000, jitter: 0.4 });
  const waits = Array.from({ length: 101 }, (_, i) => backoff(1, i / 101));
  expect(Math.min(...waits)).toBe(8_000);
  expect(Math.max(...waits)).toBeGreaterThan(11_900);
  expect(new Set(waits).size).toBe(101);
});

test("whatever the settings, the attempt and the dice, a wait is a whole number within cap and jitter", () => {
  fc.assert(
    fc.property(
      fc.record({
        base: fc.integer({ min: 0, max: 10_000_000 }),
        cap: fc.integer({ min: 10_000_000, max: 100_000_000 }),
        factor: fc.double({ min: 1, max: 100, noNaN: true }),
        jitter: fc.double({ min: 0, max: 2, noNaN: true }),
      }),
      fc.integer({ min: 1, max: 32_767 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (options, attempt, random) => {
        const waitMs = exponential(options)(attempt, random);
        expect(Number.isInteger(waitMs)).toBe(true);
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(Math.round(options.cap * (1 + options.jitter / 2)));
      },
    ),
  );
});

test("the wait never shrinks from one attempt to the next when the dice fall the same", () => {
  const backoff = exponential({ base: 7, cap: "1d", factor: 1.5 });
  for (let attempt = 1; attempt < 200; attempt++)
    expect(backoff(attempt + 1, 0.3)).toBeGreaterThanOrEqual(backoff(attempt, 0.3));
});

test("a fixed wait is the same after every attempt", () => {
  const backoff = fixed("5s");
  expect([backoff(1, 0), backoff(2, 0.9), backoff(1_000, 0.5)]).toEqual([5_000, 5_000, 5_000]);
});

test("a first wait above the usual cap is its own cap; one above a cap that was given is refused", () => {
  expect(exponential({ base: "1h", jitter: 0 })(1, 0)).toBe(3_600_000);
  expect(exponential({ base: "1h", jitter: 0 })(9, 0)).toBe(3_600_000);
  expect(() => exponential({ base: "1h", cap: "1m" })).toThrow(/retry\.backoff\.cap/);
});

test("a wait that is no duration is refused by name when it is given, not when a job fails", () => {
  expect(() => fixed("soon" as "1s")).toThrow(ConfigError);
  expect(() => exponential({ base: -1 })).toThrow(/retry\.backoff\.base/);
  expect(() => exponential({ cap: Number.NaN })).toThrow(/retry\.backoff\.cap/);
});

test("an unknown setting is refused", () => {
  expect(() => exponential({ maximum: "1s" } as never)).toThrow(/^exponential: unknown setting "maximum"/);
  expect(() => exponential("1s" as never)).toThrow(ConfigError);
});

test.each([
  ["factor", { factor: 0.5 }],
  ["factor", { factor: Number.NaN }],
  ["jitter", { jitter: -0.1 }],
  ["jitter", { jitter: 3 }],
  ["jitter", { jitter: Number.NaN }],
])("a senseless %s is refused by name: %o", (name, options) => {
  expect(() => exponential(options)).toThrow(new RegExp(`retry\\.backoff\\.${name}`));
});
