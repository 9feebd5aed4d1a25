import { expect, test } from "vitest";
import { limitedBy } from "../../src/providers/rate-headers.js";

const NOW = Date.parse("2026-11-18T12:00:00Z");
const ask = (headers: Record<string, string>, isRefused = true) => limitedBy((name) => headers[name], NOW, isRefused);

test.each([
  ["seconds", { "retry-after": "3" }, 3_000],
  ["a date", { "retry-after": "Wed, 18 Nov 2026 12:00:30 GMT" }, 30_000],
  ["milliseconds", { "retry-after-ms": "250", "retry-after": "1" }, 250],
  ["seconds until the reset", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "12" }, 12_000],
  ["the second of the reset", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(NOW / 1000 + 7) }, 7_000],
  ["the millisecond of the reset", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(NOW + 900) }, 900],
  ["a length of time", { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0.5s" }, 360_500],
  [
    "the longer one of two",
    {
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "20ms",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-tokens": "2s",
    },
    2_000,
  ],
  ["the draft", { ratelimit: '"burst";r=5;t=1, "day";r=0;t=40' }, 40_000],
  ["the older draft", { ratelimit: "limit=10, remaining=0, reset=9" }, 9_000],
  ["the draft in three", { "ratelimit-remaining": "0", "ratelimit-reset": "4" }, 4_000],
  ["no longer than a day", { "retry-after": "9999999" }, 86_400_000],
])("a limit is read from %s", (_, headers, ms) => {
  expect(ask(headers)?.ms).toBe(ms);
});

test.each([
  ["nothing", {}],
  ["nonsense", { "retry-after": "soon", "x-ratelimit-reset": "later", "x-ratelimit-remaining": "0" }],
  ["an allowance that is left", { "x-ratelimit-remaining": "3", "x-ratelimit-reset": "12" }],
])("no limit is read from %s", (_, headers) => {
  expect(ask(headers)).toBeUndefined();
});

test("an answer that was let through closes only where nothing is left", () => {
  expect(ask({ "retry-after": "3" }, false)).toBeUndefined();
  expect(ask({ "x-ratelimit-reset": "12" }, false)).toBeUndefined();
  expect(ask({ "x-ratelimit-remaining": "1", "x-ratelimit-reset": "12" }, false)).toBeUndefined();
  expect(ask({ "x-ratelimit-remaining": "0", "x-ratelimit-reset": "12" }, false)?.ms).toBe(12_000);
});
