// What becomes of a job: every outcome of a run, in every situation of its attempts.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  InputInvalidError,
  JobCancelledError,
  LeaseLostError,
  NonRetryableError,
  ShutdownError,
  TimeoutError,
} from "../../src/base/errors.js";
import type { Backoff } from "../../src/core/job/backoff.js";
import { KeyUnknownError, NotSealedError, SealBrokenError, SealedError } from "../../src/core/job/codec-errors.js";
import { type AttemptFacts, cancel, decide, type Outcome, snooze, type Verdict } from "../../src/core/job/outcome.js";
import { PayloadOutdatedError } from "../../src/core/job/validate-input.js";
import { StepChangedError } from "../../src/steps/step-errors.js";

/** Says which attempt it was asked for, so that the verdict shows it. */
const backoff: Backoff = (attempt) => attempt * 1_000;

const SITUATIONS = {
  "the first of three attempts": { attempt: 1, crashes: 0, maxAttempts: 3 },
  "the last of three attempts": { attempt: 3, crashes: 0, maxAttempts: 3 },
  "the only attempt": { attempt: 1, crashes: 0, maxAttempts: 1 },
  "the third attempt, two workers died": { attempt: 3, crashes: 2, maxAttempts: 3 },
  "the fifth attempt, two workers died": { attempt: 5, crashes: 2, maxAttempts: 3 },
} satisfies Record<string, AttemptFacts>;
type Situation = keyof typeof SITUATIONS;

const threw = (error: unknown, abortedBy?: unknown): Outcome => ({ type: "threw", error, abortedBy });
const returned = (value: unknown): Outcome => ({ type: "returned", value });
const outdated = new PayloadOutdatedError(new InputInvalidError("k", [{ path: "a", message: "is missing" }]));
class OwnError extends Error {
  readonly retryable = false;
}

/** What each situation makes of a failure that may be tried again. */
const RETRIED: Record<Situation, string> = {
  "the first of three attempts": "retry after 1000",
  "the last of three attempts": "dead",
  "the only attempt": "dead",
  "the third attempt, two workers died": "retry after 1000",
  "the fifth attempt, two workers died": "dead",
};
const always = (short: string) => Object.fromEntries(Object.keys(SITUATIONS).map((name) => [name, short]));

const ROWS: [what: string, outcome: Outcome, expected: Record<string, string>, how?: string][] = [
  ["returned nothing", returned(undefined), always("done")],
  ["returned a value", returned({ ok: true }), always("done")],
  ["returned null", returned(null), always("done")],
  ["returned cancel()", returned(cancel()), always("cancelled")],
  ["returned cancel(reason)", returned(cancel("the user left")), always("cancelled")],
  ["returned snooze()", returned(snooze("1m")), always("snooze for 60000")],
  ["came to a sleep", { type: "paused", delayMs: 5, waits: [] }, always("snooze for 5")],
  ["threw an error", threw(new Error("no")), RETRIED, "failed"],
  ["threw undefined", threw(undefined), RETRIED, "failed"],
  ["threw null", threw(null), RETRIED, "failed"],
  ["threw a text", threw("no"), RETRIED, "failed"],
  ["threw an error that may be retried", threw(Object.assign(new Error("no"), { retryable: true })), RETRIED, "failed"],
  ["threw NonRetryableError", threw(new NonRetryableError("no")), always("dead"), "failed"],
  ["threw an error with retryable: false", threw(new OwnError("no")), always("dead"), "failed"],
  ["threw a plain object with retryable: false", threw({ retryable: false }), always("dead"), "failed"],
  ["threw an input error of its own", threw(new InputInvalidError("k", [])), RETRIED, "failed"],
  ["found the payload outdated", threw(outdated), always("dead"), "invalid"],
  ["exceeded its time limit", threw(new Error("stopped"), new TimeoutError(50)), RETRIED, "timeout"],
  ["threw a TimeoutError of its own", threw(new TimeoutError(50)), RETRIED, "timeout"],
  [
    "exceeded its time limit and then refused to be retried",
    threw(new NonRetryableError("no"), new TimeoutError(50)),
    RETRIED,
    "timeout",
  ],
  ["was cancelled", threw(new Error("stopped"), new JobCancelledError()), always("cancelled")],
  ["was cancelled, then refused", threw(new NonRetryableError("no"), new JobCancelledError()), always("cancelled")],
  ["was stopped with the worker", threw(new Error("stopped"), new ShutdownError()), always("release")],
  ["was stopped, then refused", threw(new NonRetryableError("no"), new ShutdownError()), always("release")],
  ["lost its lease", threw(new Error("stopped"), new LeaseLostError()), always("release")],
  ["lost its lease, then was outdated", threw(outdated, new LeaseLostError()), always("release")],
];
const OUTCOMES = ROWS.map(([what, outcome, expected, how]) => ({ what, outcome, expected, how }));

const short = (verdict: Verdict): string => {
  if (verdict.verdict === "retry") return `retry after ${verdict.delayMs}`;
  return verdict.verdict === "snooze" ? `snooze for ${verdict.delayMs}` : verdict.verdict;
};

describe.each(Object.entries(SITUATIONS))("in %s", (situation, facts) => {
  test.each(OUTCOMES)("B3 B4: a run that $what", ({ outcome, expected, how }) => {
    const verdict = decide(facts, outcome, backoff, 0.5);
    expect(short(verdict)).toBe(expected[situation]);
    if (how) expect(verdict).toMatchObject({ outcome: how, error: { message: expect.any(String) } });
  });
});

const facts = SITUATIONS["the first of three attempts"];

test("a done job carries what its handler returned, a cancelled one the reason that was given", () => {
  expect(decide(facts, returned({ ok: 1 }), backoff, 0)).toEqual({ verdict: "done", result: { ok: 1 } });
  expect(decide(facts, returned(cancel()), backoff, 0)).toEqual({ verdict: "cancelled" });
  expect(decide(facts, returned(cancel("the user left")), backoff, 0)).toEqual({
    verdict: "cancelled",
    error: { name: "Cancelled", message: "the user left" },
  });
});

test("A5: the error of a run that exceeded its limit says so, not what the handler threw when it was stopped", () => {
  expect(decide(facts, threw(new Error("aborted"), new TimeoutError(50)), backoff, 0)).toMatchObject({
    error: { name: "TimeoutError", code: "FAIRMILL_TIMEOUT", message: "The run exceeded its time limit of 50 ms." },
  });
});

test("an object that only looks like an outcome is a result", () => {
  const lookalike = { verdict: "snooze", delayMs: 5, reason: "x" };
  expect(decide(facts, returned(lookalike), backoff, 0)).toEqual({ verdict: "done", result: lookalike });
});

test("a run that came to waits says for which signals the job waits", () => {
  const facts = SITUATIONS["the only attempt"];
  expect(decide(facts, { type: "paused", delayMs: 5, waits: ["go"] }, backoff, 0)).toEqual({
    verdict: "snooze",
    delayMs: 5,
    waits: ["go"],
  });
});

test("changed code is tried again when a deployment may be over, and no sooner", () => {
  const facts = SITUATIONS["the first of three attempts"];
  const changed = threw(new StepChangedError("a", "it is new"));
  expect(decide(facts, changed, backoff, 0)).toMatchObject({ verdict: "retry", delayMs: 60_000 });
  expect(decide(facts, changed, () => 90_000, 0)).toMatchObject({ verdict: "retry", delayMs: 90_000 });
});

test("an error that says when to come again is obeyed, a day at most", () => {
  const facts = SITUATIONS["the first of three attempts"];
  const asks = (retryAfterMs: unknown) => threw(Object.assign(new Error("busy"), { retryAfterMs }));
  expect(decide(facts, asks(3_600_000), () => 5, 0)).toMatchObject({ verdict: "retry", delayMs: 3_600_000 });
  expect(decide(facts, asks(1), () => 5, 0)).toMatchObject({ verdict: "retry", delayMs: 5 });
  expect(decide(facts, asks(1e12), () => 5, 0)).toMatchObject({ verdict: "retry", delayMs: 86_400_000 });
  for (const nonsense of [-1, Number.NaN, "7", null, undefined])
    expect(decide(facts, asks(nonsense), () => 5, 0)).toMatchObject({ verdict: "retry", delayMs: 5 });
});

test("a backoff that is asynchronous is no backoff: the usual one takes its place, and what it rejects with is ignored", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on("unhandledRejection", note);
  const rejects = async () => {
    throw new Error("no backoff");
  };
  for (const asynchronous of [async () => 10, rejects] as unknown as Backoff[])
    expect(decide(facts, threw(new Error("x")), asynchronous, 0.5)).toMatchObject({ verdict: "retry", delayMs: 2_000 });
  // Node tells of what was not handled when the promises of this turn are through.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

test("a snooze of no duration is refused where it is made", () => {
  expect(() => snooze("later" as "1s")).toThrow(/snooze/);
  expect(() => snooze(-1)).toThrow(/snooze/);
});

test("a reason to cancel that PostgreSQL cannot keep is cleaned", () => {
  const verdict = decide(facts, returned(cancel("a\0b\ud800")), backoff, 0);
  expect(verdict).toMatchObject({ error: { message: "a\ufffdb\ufffd" } });
});

describe("a verdict is reached whatever the user's code does", () => {
  const usual = /^retry after \d+$/;

  test.each<[string, Backoff]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["returns NaN", () => Number.NaN],
    ["returns Infinity", () => Number.POSITIVE_INFINITY],
    ["returns a negative number", () => -5],
    ["returns nothing", (() => undefined) as unknown as Backoff],
    ["returns a text", (() => "5s") as unknown as Backoff],
    ["returns a date beyond all calendars", () => 1e300],
  ])("a backoff that %s gives way to the usual one", (_, broken) => {
    const verdict = decide(facts, threw(new Error("no")), broken, 0.5);
    expect(short(verdict)).toBe("retry after 2000");
  });

  test("an error whose properties throw is a failure like any other", () => {
    const trap = () => {
      throw new Error("trap");
    };
    const hostile = new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap, ownKeys: trap });
    expect(short(decide(facts, threw(hostile), backoff, 0))).toMatch(usual);
    const getter = Object.defineProperty(new Error("x"), "retryable", { get: trap });
    expect(short(decide(facts, threw(getter), backoff, 0))).toMatch(usual);
  });

  test("a result that cannot even be looked at is a result", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(decide(facts, returned(proxy), backoff, 0).verdict).toBe("done");
  });
});

const attempts = fc
  .record({
    crashes: fc.integer({ min: 0, max: 50 }),
    spent: fc.integer({ min: 1, max: 50 }),
    maxAttempts: fc.integer({ min: 1, max: 50 }),
  })
  .map(({ crashes, spent, maxAttempts }) => ({ attempt: crashes + spent, crashes, maxAttempts }));
const anyThrown = fc.oneof(
  fc.anything(),
  fc.string().map((message) => new Error(message)),
  fc.constantFrom(new NonRetryableError("n"), new OwnError("o"), outdated, new TimeoutError(1)),
);
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test("I10: no job is tried again once its attempts without a crash reach the maximum", () => {
  fc.assert(
    fc.property(attempts, anyThrown, random, (job, error, dice) => {
      const verdict = decide(job, threw(error), backoff, dice);
      const spent = job.attempt - job.crashes;
      if (spent >= job.maxAttempts) expect(verdict.verdict).toBe("dead");
      if (verdict.verdict === "retry") {
        expect(spent).toBeLessThan(job.maxAttempts);
        expect(verdict.delayMs).toBe(spent * 1_000);
      }
    }),
  );
});

test("why a run was stopped outranks what its handler threw about it", () => {
  fc.assert(
    fc.property(attempts, anyThrown, random, (job, error, dice) => {
      const after = (reason: unknown) => decide(job, threw(error, reason), backoff, dice);
      expect(after(new JobCancelledError())).toEqual({ verdict: "cancelled" });
      expect(after(new ShutdownError())).toEqual({ verdict: "release", reason: new ShutdownError().message });
      expect(after(new LeaseLostError())).toEqual({ verdict: "release", reason: new LeaseLostError().message });
      expect(after(new TimeoutError(7))).toMatchObject({ outcome: "timeout" });
    }),
  );
});

test("what trying again cannot help is never tried again", () => {
  fc.assert(
    fc.property(attempts, fc.constantFrom(new NonRetryableError("n"), new OwnError("o"), outdated), (job, error) => {
      expect(decide(job, threw(error), backoff, 0).verdict).toBe("dead");
    }),
  );
});

describe("a payload that could not be opened", () => {
  const unopened = (error: unknown, unspent = 0): Outcome => ({ type: "unopened", error, unspent });
  const situations = Object.values(SITUATIONS);

  test("for want of a key or a codec waits without spending an attempt, the longer the more often, five minutes at most", () => {
    for (const error of [new KeyUnknownError("payload", "k"), new SealedError("payload", "k")])
      for (const job of situations) {
        const delayAfter = (unspent: number) => {
          const verdict = decide(job, unopened(error, unspent), backoff, 0.5);
          expect(verdict.verdict).toBe("snooze");
          return (verdict as { delayMs: number }).delayMs;
        };
        expect([0, 1, 2, 3, 10, 100_000].map(delayAfter)).toEqual([5_000, 10_000, 20_000, 40_000, 300_000, 300_000]);
      }
  });

  test("because it is not what was sealed, or not sealed, ends the job at once, with its code", () => {
    for (const error of [new SealBrokenError("payload", "k"), new NotSealedError("payload")])
      for (const job of situations)
        expect(decide(job, unopened(error), backoff, 0.5)).toMatchObject({
          verdict: "dead",
          outcome: "invalid",
          error: { code: error.code },
        });
  });

  test("because a codec of one's own failed is a failure like any other", () => {
    const error = new Error("the vault is closed");
    for (const job of situations)
      expect(decide(job, unopened(error), backoff, 0.5)).toEqual(decide(job, threw(error), backoff, 0.5));
  });

  test("a handler that throws such errors of its own fails like any other: it was called", () => {
    expect(
      decide(SITUATIONS["the first of three attempts"], threw(new KeyUnknownError("result", "k")), backoff, 0.5),
    ).toMatchObject({
      verdict: "retry",
      outcome: "failed",
    });
  });
});
