// F4: the rules that a definition may have, the combinations that are refused, and the key that an input makes.
import { createHash } from "node:crypto";
import { defineJob } from "fairmill";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { canonicalJson } from "../../src/base/canonical-json.js";
import type { UniqueSettings } from "../../src/core/job/unique.js";
import { uniqueKeyOf } from "../../src/core/job/unique.js";

const ruleOf = (settings: UniqueSettings<{ user: string }>) =>
  defineJob<{ user: string }>({ kind: "j", ...settings }).unique;
const none = { by: undefined, until: undefined, forMs: undefined, debounceMs: undefined, debounceMaxMs: undefined };

describe("a definition", () => {
  test("without any of the three has no rule", () => {
    expect(ruleOf({})).toBeUndefined();
  });

  test.each<[string, UniqueSettings<{ user: string }>, object]>([
    ["unique alone holds until the end and keeps the first", { unique: {} }, { until: "settled", onConflict: "keep" }],
    [
      "unique until the start, replacing",
      { unique: { until: "started", onConflict: "replace" } },
      { until: "started", onConflict: "replace" },
    ],
    [
      "unique for a period",
      { unique: { for: "1h", onConflict: "refuse" } },
      { forMs: 3_600_000, onConflict: "refuse" },
    ],
    [
      "debounce is unique until the start, replacing, with its times",
      { debounce: { wait: "5s", max: "1m" } },
      { until: "started", onConflict: "replace", debounceMs: 5_000, debounceMaxMs: 60_000 },
    ],
    ["debounce without a bound", { debounce: { wait: 1 } }, { until: "started", onConflict: "replace", debounceMs: 1 }],
    ["throttle is unique for a period", { throttle: { per: "10m" } }, { forMs: 600_000, onConflict: "keep" }],
  ])("%s", (_, settings, rule) => {
    expect(ruleOf(settings)).toEqual({ ...none, ...rule });
    expect(Object.isFrozen(ruleOf(settings))).toBe(true);
  });

  test.each<[string, string, object]>([
    ["unique and debounce", "debounce", { unique: {}, debounce: { wait: 1 } }],
    ["unique and throttle", "throttle", { unique: {}, throttle: { per: 1 } }],
    ["debounce and throttle", "throttle", { debounce: { wait: 1 }, throttle: { per: 1 } }],
    ["until and for", "unique.for", { unique: { until: "started", for: 1 } }],
    ["an end that is none", "unique.until", { unique: { until: "done" } }],
    ["an answer that is none", "unique.onConflict", { unique: { onConflict: "ignore" } }],
    ["an unknown answer", "unique.onConflict", { unique: { onConflict: "tell" } }],
    ["a period of nothing", "unique.for", { unique: { for: 0 } }],
    ["a period that is no duration", "unique.for", { unique: { for: "soon" } }],
    ["a key that is no function", "unique.by", { unique: { by: "user" } }],
    ["a debounce without a wait", "debounce.wait", { debounce: {} }],
    ["a debounce of nothing", "debounce.wait", { debounce: { wait: 0 } }],
    ["a bound below the wait", "debounce.max", { debounce: { wait: "2s", max: "1s" } }],
    ["a debounce key that is no function", "debounce.by", { debounce: { wait: 1, by: 1 } }],
    ["a throttle without a time", "throttle.per", { throttle: {} }],
    ["a throttle of nothing", "throttle.per", { throttle: { per: 0 } }],
    ["a throttle key that is no function", "throttle.by", { throttle: { per: 1, by: null } }],
    ["a misspelt name", "onConflikt", { unique: { onConflikt: "keep" } }],
    ["a setting of another one", "until", { debounce: { wait: 1, until: "started" } }],
    ["a unique that is a word", "unique", { unique: "yes" }],
    ["a unique that is null", "unique", { unique: null }],
  ])("with %s is refused by name (%s)", (_, setting, settings) => {
    expect(() => ruleOf(settings as never)).toThrow(expect.objectContaining({ code: "FAIRMILL_CONFIG", setting }));
  });

  test("its key function gets the input as enqueue takes it", () => {
    defineJob({
      kind: "j",
      input: z.object({ at: z.string().transform((text) => new Date(text)) }),
      unique: {
        by: (input) => {
          expectTypeOf(input).toEqualTypeOf<{ at: string }>();
          return input.at;
        },
      },
    });
    defineJob<{ n: number }>({ kind: "j", debounce: { wait: 1, by: ({ n }) => String(n) } });
    // @ts-expect-error: a key is a text.
    defineJob<{ n: number }>({ kind: "j", throttle: { per: 1, by: ({ n }) => n } });
  });
});

describe("the key", () => {
  const keyOf = (input: unknown) =>
    uniqueKeyOf(defineJob<unknown>({ kind: "j", unique: {} }).unique!, input, JSON.stringify(input));

  test("is the SHA-256 of the whole input, whatever order its members have", () => {
    expect(keyOf({ b: 1, a: [{ d: null, c: "x" }] })).toBe(
      createHash("sha256").update('{"a":[{"c":"x","d":null}],"b":1}').digest("hex"),
    );
    expect(keyOf({ a: [{ c: "x", d: null }], b: 1 })).toBe(keyOf({ b: 1, a: [{ d: null, c: "x" }] }));
  });

  test.each([
    [{ a: 1 }, { a: "1" }],
    [{ a: 1 }, { a: 1, b: null }],
    [
      [1, 2],
      [2, 1],
    ],
    [{ a: "b" }, { b: "a" }],
    [null, "null"],
    [{}, []],
    [
      { 1: 0, 10: 1, 9: 2 },
      { 1: 0, 10: 2, 9: 1 },
    ],
  ])("of %j is another than of %j", (a, b) => {
    expect(keyOf(a)).not.toBe(keyOf(b));
  });

  test("canonical JSON sorts by code unit, escapes as JSON does, and says the same as its source", () => {
    const json = '{"é":1,"b":{"2":[true,false],"10":-0.5},"a\\"":"\\u0001","":1e21}';
    expect(canonicalJson(json)).toBe('{"":1e+21,"a\\"":"\\u0001","b":{"10":-0.5,"2":[true,false]},"é":1}');
    expect(JSON.parse(canonicalJson(json))).toEqual(JSON.parse(json));
  });
});
