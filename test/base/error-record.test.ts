// A5: a failed job keeps its error. Anything may be thrown; what is kept is small, readable and accepted by PostgreSQL.
import fc from "fast-check";
import { expect, test } from "vitest";
import { MESSAGE_CHARS_MAX, recordError } from "../../src/base/error-record.js";
import { NonRetryableError } from "../../src/base/errors.js";

const trap = () => {
  throw new Error("trap");
};

test("an error keeps its name, message, code, stack and cause", () => {
  const record = recordError(
    Object.assign(new TypeError("no such user", { cause: new RangeError("id -1") }), { code: "E_USER" }),
  );
  expect(record).toEqual({
    name: "TypeError",
    message: "no such user",
    code: "E_USER",
    stack: expect.stringContaining("error-record.test"),
    cause: { name: "RangeError", message: "id -1" },
  });
  expect(recordError(new NonRetryableError("no"))).toMatchObject({ code: "FAIRMILL_NON_RETRYABLE" });
  expect(recordError(Object.assign(new Error("x"), { code: 404 }))).toMatchObject({ code: "404" });
});

test.each<[string, unknown, string]>([
  ["undefined", undefined, "undefined"],
  ["null", null, "null"],
  ["a text", "out of paper", "out of paper"],
  ["an empty text", "", ""],
  ["a number", 42, "42"],
  ["NaN", Number.NaN, "null"],
  ["a bigint", 5n, "5"],
  ["a symbol", Symbol("s"), "Symbol(s)"],
  ["an object", { reason: "x" }, '{"reason":"x"}'],
  ["a list", [1, "a"], '[1,"a"]'],
])("%s, thrown instead of an error, is described", (_, thrown, message) => {
  expect(recordError(thrown)).toEqual({ name: "NonError", message });
});

test("a function thrown is described by its text", () => {
  expect(recordError(function broken() {})).toMatchObject({
    name: "NonError",
    message: expect.stringContaining("broken"),
  });
});

test("an error of another realm keeps its name and message", async () => {
  const { runInNewContext } = await import("node:vm");
  expect(recordError(runInNewContext("new TypeError('far away')"))).toMatchObject({
    name: "TypeError",
    message: "far away",
  });
});

test.each<[string, unknown]>([
  ["a message that cannot be read", Object.defineProperty(new Error(), "message", { get: trap })],
  ["a name that cannot be read", Object.defineProperty(new Error(), "name", { get: trap })],
  ["a stack that cannot be read", Object.defineProperty(new Error("x"), "stack", { get: trap })],
  ["a cause that cannot be read", Object.defineProperty(new Error("x"), "cause", { get: trap })],
  ["a code that cannot be read", Object.defineProperty(new Error("x"), "code", { get: trap })],
  ["a toString that throws", { toJSON: trap, toString: trap }],
  ["an object that is no text at all", Object.assign(Object.create(null), { toJSON: trap })],
  ["a proxy that refuses everything", new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap, ownKeys: trap })],
  ["a message that is an object", Object.assign(new Error(), { message: Object.create(null) })],
])("%s does not break the record", (_, thrown) => {
  const record = recordError(thrown);
  expect(record.name).toEqual(expect.any(String));
  expect(record.message).toEqual(expect.any(String));
});

test("a circle thrown instead of an error is described somehow", () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  expect(recordError(circle)).toEqual({ name: "NonError", message: "[object Object]" });
});

test("a huge message is cut, and says how much is missing", () => {
  const { message } = recordError(new Error("x".repeat(1_000_000)));
  expect(message.startsWith("x".repeat(MESSAGE_CHARS_MAX))).toBe(true);
  expect(message).toContain(`(${1_000_000 - MESSAGE_CHARS_MAX} more)`);
  expect(message.length).toBeLessThan(MESSAGE_CHARS_MAX + 50);
});

test("whatever is thrown, the record stays below 64 KiB as PostgreSQL keeps it", () => {
  for (const letter of ["x", "ü", "語", "\0", "😀", "\ud800"]) {
    const text = letter.repeat(200_000);
    const error = Object.assign(new Error(text, { cause: Object.assign(new Error(text), { name: text }) }), {
      name: text,
      code: text,
      stack: text,
    });
    // Control characters are escaped in JSON, and stored as single bytes.
    const bytes = Object.values(recordError(error)).reduce(
      (sum, part) => sum + Buffer.byteLength(typeof part === "string" ? part : part.name + part.message) + 50,
      0,
    );
    expect(bytes).toBeLessThan(64 * 1024);
  }
});

test("text that PostgreSQL refuses is cleaned in every part, also where the cut goes through a letter", () => {
  const dirty = "a\0b\ud800c";
  const record = recordError(
    Object.assign(new Error(dirty, { cause: Object.assign(new Error(dirty), { name: dirty }) }), {
      name: dirty,
      code: dirty,
      stack: dirty,
    }),
  );
  expect(JSON.stringify(record)).not.toMatch(/\\u0000|\\ud8/);
  const cut = recordError(new Error("x".repeat(MESSAGE_CHARS_MAX - 1) + "😀".repeat(10)));
  expect(cut.message.isWellFormed()).toBe(true);
});

test("anything at all gives a record of texts", () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true, withMap: true }), (thrown) => {
      const record = recordError(thrown);
      expect(record.message).toEqual(expect.any(String));
      expect(() => JSON.stringify(record)).not.toThrow();
    }),
  );
});
