// Which texts are moments, and which only look like one to Date.parse.
import fc from "fast-check";
import { expect, test } from "vitest";
import { momentOf } from "../../src/base/time.js";
import { newSeed } from "../support/dice.js";

test.each([
  ["2030-01-31", "2030-01-31T00:00:00.000Z"],
  ["2030-01-31T09:00Z", "2030-01-31T09:00:00.000Z"],
  ["2030-01-31T09:00:00Z", "2030-01-31T09:00:00.000Z"],
  ["2030-01-31T09:00:00.123456Z", "2030-01-31T09:00:00.123Z"],
  ["2030-01-31T09:00:00+02:00", "2030-01-31T07:00:00.000Z"],
  ["2030-01-31T09:00:00-0530", "2030-01-31T14:30:00.000Z"],
  ["2028-02-29", "2028-02-29T00:00:00.000Z"],
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
])("%s is a moment", (text, iso) => {
  expect(momentOf(text, "runAt")).toBe(iso);
});

test.each([
  "tomorrow 5",
  "foo 5",
  "5",
  "",
  "2030",
  "2030-01",
  "2030-1-31",
  "31.01.2030",
  "2030-01-31 09:00:00Z",
  "2030-01-31T09:00:00",
  "2030-01-31T24:00:00Z",
  "2030-01-31T09:60:00Z",
  "2030-02-30",
  "2029-02-29T00:00:00Z",
  "2030-00-10",
  "2030-13-10",
  "2030-01-31T09:00:00Z ",
  "+012030-01-31T09:00:00Z",
  "0000-06-01T00:00:00Z",
  "2030-01-31T09:00:00+25:00",
  "infinity",
])("%j is none", (text) => {
  expect(() => momentOf(text, "runAt")).toThrow(
    expect.objectContaining({ code: "FAIRMILL_CONFIG", setting: "runAt", message: expect.stringContaining("2030-01") }),
  );
});

test("what is neither a date, a number nor a text is none", () => {
  const liar = new Proxy(new Date(), {});
  for (const value of [null, undefined, {}, [], true, 5n, Symbol("s"), Number.NaN, Number.POSITIVE_INFINITY, liar])
    expect(() => momentOf(value as never, "runAt")).toThrow(expect.objectContaining({ code: "FAIRMILL_CONFIG" }));
});

test("every moment of a Date is the same as its text and its number", () => {
  const from = new Date("0001-01-01T00:00:00Z");
  const to = new Date("9999-12-31T23:59:59Z");
  fc.assert(
    fc.property(fc.date({ min: from, max: to, noInvalidDate: true }), (date) => {
      const iso = date.toISOString();
      expect([momentOf(date, "m"), momentOf(iso, "m"), momentOf(date.getTime(), "m")]).toEqual([iso, iso, iso]);
    }),
    { seed: newSeed() },
  );
});
