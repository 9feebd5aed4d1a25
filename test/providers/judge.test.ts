import { expect, test } from "vitest";
import { NonRetryableError } from "../../src/base/errors.js";
import { isAnswer, judgeAnswer, judgeError } from "../../src/providers/judge.js";

const answer = (status: number, headers: Record<string, string> = {}) => new Response("", { status, headers });
const judged = (status: number, headers?: Record<string, string>) => judgeAnswer(answer(status, headers), 0, 5_000);

test.each([
  [200, "ok"],
  [404, "ok"],
  [422, "ok"],
  [401, "refused"],
  [403, "refused"],
  [408, "failed"],
  [500, "failed"],
  [503, "failed"],
  [429, "limited"],
])("an answer %i is %s", (status, result) => {
  expect(judged(status).result).toBe(result);
});

test("a 429 that does not say for how long closes for as long as the definition says", () => {
  expect(judged(429).limited).toEqual({ ms: 5_000, by: "429" });
  expect(judged(429, { "retry-after": "2" }).limited).toEqual({ ms: 2_000, by: "retry-after" });
});

test("a 503 with Retry-After fails, and closes", () => {
  expect(judged(503, { "retry-after": "2" })).toEqual({
    result: "failed",
    status: 503,
    limited: { ms: 2_000, by: "retry-after" },
  });
});

test("errors of clients are read by their status and headers", () => {
  const limited = Object.assign(new Error("slow down"), { status: 429, headers: { "Retry-After": "4" } });
  expect(judgeError(limited, 0, 5_000)).toEqual({
    result: "limited",
    status: 429,
    limited: { ms: 4_000, by: "retry-after" },
  });
  const wrapped = { response: { status: 502, headers: new Headers() } };
  expect(judgeError(wrapped, 0, 5_000).result).toBe("failed");
  expect(judgeError({ statusCode: 401 }, 0, 5_000).result).toBe("refused");
  expect(judgeError({ status: 429, retryAfterMs: 70 }, 0, 5_000).limited?.ms).toBe(70);
  expect(judgeError(new TypeError("fetch failed"), 0, 5_000).result).toBe("failed");
  expect(judgeError(new NonRetryableError("no such picture"), 0, 5_000).result).toBe("ok");
});

test("hostile values are judged, not thrown", () => {
  const trap = new Proxy(
    {},
    {
      get: () => {
        throw new Error("no");
      },
    },
  );
  expect(judgeError(trap, 0, 5_000).result).toBe("failed");
  expect(isAnswer(trap)).toBe(false);
  expect(isAnswer(undefined)).toBe(false);
  expect(isAnswer({ status: 200 })).toBe(false);
  expect(isAnswer(answer(200))).toBe(true);
});
