// Results of handlers as JSON: whatever a handler returns, its settle does not fail, and PostgreSQL keeps the text.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cleanText, PAYLOAD_BYTES_MAX, serializeResult } from "../../src/base/json-content.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const kept = async (json: string): Promise<unknown> =>
  (await db.query<{ value: unknown }>("select $1::jsonb as value", [json]))[0]!.value;

const nested = (depth: number, leaf: unknown = 1): unknown => {
  let value = leaf;
  for (let i = 0; i < depth; i++) value = i % 2 ? { a: value } : [value];
  return value;
};

describe("results, which never make a settle fail", () => {
  test.each([
    ["nothing", undefined, undefined],
    ["null", null, "null"],
    ["a value", { ok: true }, '{"ok":true}'],
    ["NUL in a text", { a: "x\0y" }, '{"a":"x\ufffdy"}'],
    ["NUL in a key", { "a\0": 1 }, '{"a\ufffd":1}'],
    ["lone surrogates", ["\ud800", "\udc00x", "ok 😀"], '["\ufffd","\ufffdx","ok 😀"]'],
    ["a lone surrogate in a key", { "\ud83d": 1 }, '{"\ufffd":1}'],
    ["numbers that are none", [Number.NaN, Number.POSITIVE_INFINITY], "[null,null]"],
    ["a text that only looks escaped", "\\u0000", '"\\\\u0000"'],
    ["the key __proto__ beside a NUL", JSON.parse('{"__proto__":{"x":"\\u0000"}}'), '{"__proto__":{"x":"\ufffd"}}'],
  ])("%s", async (_, value, json) => {
    expect(serializeResult(value)).toEqual({ json });
    if (json !== undefined) await kept(json);
  });

  const circle: { self?: unknown } = {};
  circle.self = circle;
  const throwing = (thrown: unknown) => ({
    toJSON: () => {
      throw thrown;
    },
  });
  test.each<[string, unknown, RegExp]>([
    ["a function", () => 1, /a function is not JSON/],
    ["a symbol", Symbol("s"), /a symbol is not JSON/],
    ["a bigint", { n: 5n }, /BigInt/],
    ["a circle", circle, /circular/],
    ["a toJSON that throws", throwing(new Error("not today")), /not today/],
    ["a toJSON that throws nothing", throwing(undefined), /undefined/],
    ["a toJSON that throws what cannot be read", throwing(Object.create(null)), /./],
    [
      "a toJSON that throws an error that cannot be read",
      throwing(
        Object.defineProperty(new Error(), "message", {
          get: () => {
            throw new Error("trap");
          },
        }),
      ),
      /./,
    ],
    ["more than 1 MiB", "a".repeat(PAYLOAD_BYTES_MAX - 1), /more than 1048576 bytes/],
    ["more than 1 MiB in few letters", "ü".repeat(PAYLOAD_BYTES_MAX / 2), /more than 1048576 bytes/],
    ["65 levels", nested(65), /deeper than 64 levels/],
    ["1,000 levels", nested(1_000), /deeper than 64 levels/],
    ["1,000 levels around a NUL", nested(1_000, "\0"), /deeper than 64 levels/],
    ["a million levels", nested(1_000_000), /./],
  ])("are left out, with the reason: %s", (_, value, problem) => {
    const result = serializeResult(value);
    expect(result.json).toBeUndefined();
    expect(result.problem).toMatch(problem);
  });

  test("1 MiB and 64 levels are kept", async () => {
    expect(serializeResult("a".repeat(PAYLOAD_BYTES_MAX - 2)).problem).toBeUndefined();
    await kept(serializeResult(nested(64)).json!);
    // Brackets inside texts are no levels.
    expect(serializeResult(`"${"[{".repeat(500)}\\`).problem).toBeUndefined();
  });

  test("whatever a handler returns, what is left of it is JSON that PostgreSQL keeps", async () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSparseArray: true,
      withNullPrototype: true,
      withUnicodeString: true,
      stringUnit: "binary",
      maxDepth: 3,
    });
    await fc.assert(
      fc.asyncProperty(
        anything,
        fc.string({ unit: fc.constantFrom("\0", "\ud800", "\udfff", "a", "\\", '"') }),
        async (a, b) => {
          const { json, problem } = serializeResult({ a, [b]: b });
          if (json === undefined) expect(problem).toEqual(expect.any(String));
          else await kept(json);
        },
      ),
      { numRuns: 200 },
    );
  });
});

test("cleaned text is what PostgreSQL keeps, and text that was clean stays as it was", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: fc.constantFrom("\0", "\ud800", "\udc00", "😀", "a", "\n") }), async (text) => {
      const clean = cleanText(text);
      expect(await kept(JSON.stringify(clean))).toBe(clean);
      if (!text.includes("\0") && text.isWellFormed()) expect(clean).toBe(text);
      expect(clean.length).toBe(text.length);
    }),
    { numRuns: 100 },
  );
});
