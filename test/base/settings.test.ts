import { expect, test } from "vitest";
import { ConfigError } from "../../src/base/errors.js";
import { nameOf, refuseUnknown, wholeNumber } from "../../src/base/settings.js";

const KNOWN = ["concurrency", "lease", "heartbeat", "poll"];

test("known settings pass, in any number", () => {
  refuseUnknown({}, KNOWN, "createWorker");
  refuseUnknown({ lease: 1, poll: undefined }, KNOWN, "createWorker");
});

test("an unknown setting is refused by name, with the one that was probably meant and all that are known", () => {
  expect(() => refuseUnknown({ concurency: 5 }, KNOWN, "createWorker")).toThrow(
    'createWorker: unknown setting "concurency". Did you mean "concurrency"? Known: concurrency, lease, heartbeat, poll.',
  );
  expect(() => refuseUnknown({ Lease: 5 }, KNOWN, "x")).toThrow(/Did you mean "lease"/);
  try {
    refuseUnknown({ lease: 1, hartbeat: 5 }, KNOWN, "x");
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ code: "FAIRMILL_CONFIG", setting: "hartbeat" });
  }
});

test("a setting that resembles none gets no bad advice", () => {
  expect(() => refuseUnknown({ autoscalingTarget: 5 }, KNOWN, "x")).toThrow(
    /^x: unknown setting "autoscalingTarget"\. Known/,
  );
});

test.each(["__proto__", "constructor", "toString"])("the name %s is no back door", (name) => {
  expect(() => refuseUnknown(JSON.parse(`{"${name}": 1}`), KNOWN, "x")).toThrow(ConfigError);
});

test("a whole number within its bounds passes, its edges included", () => {
  expect([wholeNumber(1, 1, 10, "n"), wholeNumber(10, 1, 10, "n"), wholeNumber(-0, -1, 1, "n")]).toEqual([1, 10, -0]);
});

test.each([0, 11, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", null, undefined, true, [5], 5n])(
  "%o is no whole number from 1 to 10",
  (bad) => {
    expect(() => wholeNumber(bad, 1, 10, "crashesMax")).toThrow(
      /^crashesMax: .* is not a whole number from 1 to 10\.$/,
    );
  },
);

test("a name has 1 to 200 bytes, whatever the script", () => {
  for (const name of ["a", " ", "тенант", "a".repeat(200), "ü".repeat(100), "😀".repeat(50), "'; drop table job; --"])
    expect(nameOf(name, "tenant")).toBe(name);
});

test.each([
  ["an empty text", ""],
  ["201 letters", "a".repeat(201)],
  ["101 letters of two bytes", "ü".repeat(101)],
  ["51 letters of four bytes", "😀".repeat(51)],
  ["NUL", "a\0b"],
  ["half a surrogate pair", "a\ud83d"],
  ["a number", 5],
  ["null", null],
  ["undefined", undefined],
  ["an object", { toString: () => "a" }],
])("%s is no name", (_, bad) => {
  expect(() => nameOf(bad, "tenant")).toThrow(ConfigError);
  expect(() => nameOf(bad, "tenant")).toThrow(/^tenant: .* is not a name of 1 to 200 bytes\.$/s);
});
