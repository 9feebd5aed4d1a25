// Data that breaks queues: what is refused in input, and what is cleaned in results. PostgreSQL itself is the judge of both.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InputInvalidError, PayloadTooLargeError } from "../../src/base/errors.js";
import {
  PAYLOAD_BYTES_MAX,
  PAYLOAD_DEPTH_MAX,
  serializeInput,
  serializePlainList,
} from "../../src/base/json-content.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const kept = async (json: string): Promise<unknown> =>
  (await db.query<{ value: unknown }>("select $1::jsonb as value", [json]))[0]!.value;

const nested = (depth: number, leaf: unknown = 1): unknown => {
  let value = leaf;
  for (let i = 0; i < depth; i++) value = i % 2 ? { a: value } : [value];
  return value;
};
const issuesOf = (input: unknown) => {
  try {
    serializeInput("k", input);
  } catch (error) {
    expect(error).toBeInstanceOf(InputInvalidError);
    return (error as InputInvalidError).issues;
  }
  throw new Error("The input was accepted.");
};

describe("input that is JSON", () => {
  test.each([
    ["undefined as an empty object", undefined, "{}"],
    ["null", null, "null"],
    ["a number", 5, "5"],
    ["a text", "äöü 😀", '"äöü 😀"'],
    ["false", false, "false"],
    ["an empty list", [], "[]"],
    ["members that are undefined left out", { a: 1, b: undefined }, '{"a":1}'],
    ["a date as its text", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["an object by its toJSON", { money: { toJSON: () => ({ cents: 5 }) } }, '{"money":{"cents":5}}'],
    ["a date that is none as null", { at: new Date(Number.NaN) }, '{"at":null}'],
    ["minus zero as zero", -0, "0"],
    ["control characters", "a\u0001\n\u001fb", '"a\\u0001\\n\\u001fb"'],
    ["a backslash and a u", "\\u0000", '"\\\\u0000"'],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  ])("keeps %s", async (_, input, json) => {
    expect(serializeInput("k", input)).toBe(json);
    await kept(json);
  });

  test("keeps numbers beyond 2^53 as the nearest number that JavaScript knows, there and back", async () => {
    for (const number of [2 ** 53, 2 ** 53 + 2, 2 ** 60, -(2 ** 63), 1e21, 1.7976931348623157e308, 5e-324, 0.1])
      expect(await kept(serializeInput("k", number))).toBe(number);
  });

  test("keeps whatever JSON there is, unchanged by its way through PostgreSQL", async () => {
    const text = fc.string({ unit: "grapheme" }).filter((s) => !s.includes("\0"));
    const value = fc
      .jsonValue({ stringUnit: "grapheme", noUnicodeString: false })
      .filter((v) => !JSON.stringify(v).includes("\\u0000"));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(text, value), async (input) => {
        // Refused on purpose, at every level.
        if (JSON.stringify(input).includes('"__proto__"')) return;
        const json = serializeInput("k", input);
        expect(await kept(json)).toEqual(JSON.parse(JSON.stringify(input)));
      }),
      { numRuns: 100 },
    );
  });
});

describe("input that is not JSON, refused with the path of the fault", () => {
  test.each([
    ["NUL in a text", { a: { b: ["x", "y\0z"] } }, "a.b[1]", /NUL/],
    ["NUL in a key", { a: { "x\0": 1 } }, "a", /key with NUL/],
    ["a high surrogate alone", { a: "x\ud800" }, "a", /surrogate/],
    ["a low surrogate alone", ["\udc00x"], "[0]", /surrogate/],
    ["surrogates in the wrong order", "\udc00\ud800", "", /surrogate/],
    ["a lone surrogate in a key", { "\udfff": 1 }, "", /key with NUL or half/],
    ["the key __proto__", JSON.parse('{"a":{"__proto__":{"x":1}}}'), "a.__proto__", /__proto__ is refused/],
    ["NaN", { a: Number.NaN }, "a", /NaN is not a JSON number/],
    ["Infinity", [Number.POSITIVE_INFINITY], "[0]", /Infinity/],
    ["minus Infinity", Number.NEGATIVE_INFINITY, "", /-Infinity/],
    ["a bigint", { n: 5n }, "n", /a bigint is not JSON/],
    ["a function", { f: () => 1 }, "f", /a function is not JSON/],
    ["a symbol", { s: Symbol("s") }, "s", /a symbol is not JSON/],
    ["a function instead of an input", () => 1, "", /a function/],
    ["undefined in a list", { list: [1, undefined, 3] }, "list[1]", /undefined is not JSON/],
    // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested.
    ["a hole in a list", { list: [1, , 3] }, "list[1]", /undefined is not JSON/],
    ["what toJSON returns", { at: { toJSON: () => "a\0" } }, "at", /NUL/],
    [
      "what the toJSON of a class returns",
      {
        at: new (class {
          toJSON() {
            return Number.NaN;
          }
        })(),
      },
      "at",
      /NaN/,
    ],
    ["a toJSON that returns nothing in a list", [{ toJSON: () => undefined }], "[0]", /undefined/],
  ])("%s", (_, input, path, message) => {
    const issues = issuesOf(input);
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatchObject({ path, message: expect.stringMatching(message) });
  });

  test("names several faults at once, and stops at ten", () => {
    expect(issuesOf({ a: 1n, b: { c: Number.NaN } }).map(({ path }) => path)).toEqual(["a", "b.c"]);
    expect(issuesOf(Array.from({ length: 1_000 }, () => Number.NaN))).toHaveLength(10);
  });

  test("a toJSON that throws is named as the place where it happened", () => {
    const input = {
      at: {
        toJSON: () => {
          throw new Error("not today");
        },
      },
    };
    expect(issuesOf(input)).toEqual([{ path: "at", message: expect.stringContaining("not today") }]);
  });
});

describe("input that is too large", () => {
  test(`nested ${PAYLOAD_DEPTH_MAX} levels deep is kept, one more is refused`, async () => {
    await kept(serializeInput("k", nested(PAYLOAD_DEPTH_MAX)));
    expect(() => serializeInput("k", nested(PAYLOAD_DEPTH_MAX + 1))).toThrow(PayloadTooLargeError);
    expect(() => serializeInput("k", nested(PAYLOAD_DEPTH_MAX + 1))).toThrow(/deeper than 64 levels/);
    expect(() => serializeInput("k", nested(100_000))).toThrow(PayloadTooLargeError);
  });

  test("a circle is refused as too deep, not by running out of stack", () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    expect(() => serializeInput("k", circle)).toThrow(PayloadTooLargeError);
    const list: unknown[] = [1];
    list.push({ list });
    expect(() => serializeInput("k", list)).toThrow(PayloadTooLargeError);
    const itself = { toJSON: () => itself };
    expect(() => serializeInput("k", itself)).toThrow(PayloadTooLargeError);
  });

  test("a value that contains itself twice at every level is refused before the sun burns out", () => {
    let value: unknown = "leaf";
    for (let i = 0; i < 60; i++) value = { left: value, right: value };
    expect(() => serializeInput("k", value)).toThrow(PayloadTooLargeError);
  });

  test("1 MiB is kept, one byte more is refused, whether bytes are letters or parts of letters", () => {
    const letters = (bytes: number) => "a".repeat(bytes - 2);
    expect(Buffer.byteLength(serializeInput("k", letters(PAYLOAD_BYTES_MAX)))).toBe(PAYLOAD_BYTES_MAX);
    expect(() => serializeInput("k", letters(PAYLOAD_BYTES_MAX + 1))).toThrow(
      /1048577 bytes of JSON where 1048576 are/,
    );
    const wide = "ü".repeat(PAYLOAD_BYTES_MAX / 2 - 1);
    expect(Buffer.byteLength(serializeInput("k", wide))).toBe(PAYLOAD_BYTES_MAX);
    expect(() => serializeInput("k", `${wide}ü`)).toThrow(PayloadTooLargeError);
    expect(() => serializeInput("k", "\u0001".repeat(PAYLOAD_BYTES_MAX / 5))).toThrow(PayloadTooLargeError);
  });

  test("a payload of exactly 1 MiB is kept by PostgreSQL", async () => {
    await kept(serializeInput("k", "a".repeat(PAYLOAD_BYTES_MAX - 2)));
  });
});

describe("several inputs at once", () => {
  const CHARS_MAX = 16 * PAYLOAD_BYTES_MAX;
  const oneByOne = (inputs: readonly unknown[]) => `[${inputs.map((input) => serializeInput("k", input)).join(",")}]`;

  test("are the JSON that they are one by one, or take a closer look", () => {
    let plain = 0;
    fc.assert(
      fc.property(fc.array(fc.anything({ withDate: true, withNullPrototype: true, maxDepth: 3 })), (inputs) => {
        const text = serializePlainList(inputs, CHARS_MAX);
        if (text === undefined) return;
        plain++;
        expect(text).toBe(oneByOne(inputs));
      }),
      { numRuns: 500 },
    );
    expect(plain).toBeGreaterThan(50);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["no number", { a: [Number.NaN] }],
    ["NUL", "a\0"],
    ["half a surrogate pair", { a: "x\ud800" }],
    ["NUL in a key", { "a\0": 1 }],
    ["__proto__", JSON.parse('{"a": [{"__proto__": 1}]}')],
    ["a toJSON", { at: new Date(0) }],
    ["undefined in a list", [undefined]],
    ["no JSON at all", { a: () => 1 }],
    ["a level too many", nested(PAYLOAD_DEPTH_MAX + 1)],
  ])("with %s among them take a closer look", (_, input) => {
    expect(serializePlainList([{ n: 1 }, input, { n: 2 }], CHARS_MAX)).toBeUndefined();
  });

  /** As many of them as have a byte more of JSON than is kept. */
  const many = (one: unknown) =>
    Array.from({ length: PAYLOAD_BYTES_MAX / (Buffer.byteLength(JSON.stringify(one)) + 1) + 1 }, () => one);
  const shapes: [string, unknown][] = [
    ["letters", "a".repeat(PAYLOAD_BYTES_MAX)],
    ["letters of three bytes", "\u20ac".repeat(PAYLOAD_BYTES_MAX / 3)],
    ["quotes", '"'.repeat(PAYLOAD_BYTES_MAX / 2)],
    ["a key", { ["\u20ac".repeat(PAYLOAD_BYTES_MAX / 3)]: 1 }],
    ["long numbers", many(-0.0000012345678901234567)],
    ["long numbers in boxes", many(new Number(-0.0000012345678901234567))],
    ["yes and no", many(false)],
    ["nothing", many(null)],
    ["empty texts", many("")],
    ["empty objects", many({})],
    ["empty lists", many([])],
    ["short members", many({ a: "" })],
  ];
  test.each(shapes)("of which one may be too large because of %s take a closer look", (_, input) => {
    expect(() => serializeInput("k", input)).toThrow(PayloadTooLargeError);
    expect(serializePlainList([1, input], CHARS_MAX)).toBeUndefined();
  });

  test.each(shapes)("that are too much together are no list: %s", (_, input) => {
    const part = typeof input === "string" ? input.slice(0, 1000) : Object.values(input as object).slice(0, 1000);
    const inputs = Array.from({ length: 100 }, () => part);
    const text = JSON.stringify(inputs);
    expect(serializePlainList(inputs, text.length - 1)).toBeUndefined();
    expect(serializePlainList(inputs, 100 * text.length)).toBe(text);
  });

  test("whose list has a toJSON of its own take a closer look", () => {
    expect(serializePlainList(Object.assign([1], { toJSON: () => "all" }), CHARS_MAX)).toBeUndefined();
  });
});
