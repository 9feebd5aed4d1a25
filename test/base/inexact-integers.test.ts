import fc from "fast-check";
import { expect, test } from "vitest";
import { findInexactInteger, inexactText } from "../../src/base/inexact-integers.js";

test.each([
  ["9007199254740993", "9007199254740992"],
  ["-9007199254740993", "-9007199254740992"],
  ['{"a":[1,{"id":12345678901234567890}]}', "12345678901234567000"],
  ['{"text":"9007199254740993","id":9007199254740995}', "9007199254740996"],
  [`[1${"0".repeat(400)}]`, "Infinity"],
])("%s is found, with what it would become", (json, read) => {
  expect(findInexactInteger(json)?.read).toBe(read);
});

test.each([
  "9007199254740992",
  "-9007199254740992",
  "1152921504606846976",
  '"9007199254740993"',
  '{"9007199254740993":1}',
  '"\\"9007199254740993"',
  '"\\\\",1',
  "0.12345678901234567890",
  "9007199254740993.5",
  "9007199254740993e0",
  '{"phone":"+34 600 000 000","n":1}',
])("%s has none", (json) => {
  expect(findInexactInteger(json)).toBeUndefined();
});

test("what JavaScript writes has none", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => findInexactInteger(JSON.stringify(value)) === undefined));
});

test("a long text is looked through without running out of stack, and a long number is told in short", () => {
  const json = `{"text":${JSON.stringify('\\"1234567890123456789'.repeat(100_000))},"n":${"7".repeat(300)}}`;
  const found = findInexactInteger(json)!;
  expect(found.written).toHaveLength(300);
  expect(inexactText(found).length).toBeLessThan(250);
});
