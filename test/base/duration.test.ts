import fc from "fast-check";
import { expect, test } from "vitest";
import { type Duration, toMs } from "../../src/base/duration.js";
import { ConfigError } from "../../src/base/errors.js";

test.each<[Duration, number]>([
  [0, 0],
  [1.5, 1.5],
  [250, 250],
  ["0s", 0],
  ["500ms", 500],
  ["30s", 30_000],
  ["1.5s", 1_500],
  ["5m", 300_000],
  ["2h", 7_200_000],
  ["1d", 86_400_000],
  ["10 m" as Duration, 600_000],
])("%j is %d milliseconds", (duration, ms) => {
  expect(toMs(duration, "poll")).toBe(ms);
});

test.each([
  "",
  "s",
  "5",
  "5 minutes",
  "-5s",
  "+5s",
  "1e3s",
  "0x10s",
  "5S",
  " 5s",
  "5s ",
  "5s\n",
  "1.s",
  ".5s",
  "1,5s",
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  null,
  undefined,
  {},
  [],
  true,
  10n,
])("%o is no duration and is refused with the setting's name", (bad) => {
  try {
    toMs(bad as Duration, "grace");
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ code: "FAIRMILL_CONFIG", setting: "grace" });
    expect((error as Error).message).toMatch(/^grace: .* is not a duration\. Write "500ms"/);
  }
});

test("longer than a hundred years is refused: no calendar of PostgreSQL's has room for it", () => {
  expect(toMs("36500d", "delay")).toBe(36_500 * 86_400_000);
  expect(() => toMs("36501d", "delay")).toThrow(/delay: .* longer than 36500 days/);
  expect(() => toMs(Number.MAX_VALUE, "delay")).toThrow(ConfigError);
  expect(() => toMs(`${"9".repeat(400)}d` as Duration, "delay")).toThrow(ConfigError);
});

test("every whole number of every unit comes out as that many milliseconds", () => {
  const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 36_500 }), fc.constantFrom(...Object.entries(units)), (n, [unit, factor]) => {
      expect(toMs(`${n}${unit}` as Duration, "x")).toBe(n * factor);
    }),
  );
});
