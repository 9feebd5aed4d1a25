// A11 B17 C6: every rule fires and clears once in a simulated history, and stays silent in a quiet one.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_RULES } from "../../src/alerts/default-rules.js";
import { type AlertChange, evaluate, type SubjectState } from "../../src/alerts/evaluate.js";
import { type AlertRule, rulesInForce } from "../../src/alerts/rule.js";
import type { AlertSample } from "../../src/alerts/samples.js";
import { ConfigError } from "../../src/base/errors.js";

const EVERY_MS = 15_000;

/** Plays values to a rule, one a round; undefined is a round without a sample. */
function play(rule: AlertRule, values: readonly (number | undefined)[]): (AlertChange & { round: number })[] {
  let state: ReadonlyMap<string, SubjectState> = new Map();
  const all: (AlertChange & { round: number })[] = [];
  for (const [round, value] of values.entries()) {
    const samples: AlertSample[] = value === undefined ? [] : [{ subject: "s", value }];
    const evaluated = evaluate(rule, samples, state, round * EVERY_MS);
    state = evaluated.state;
    all.push(...evaluated.changes.map((change) => ({ ...change, round })));
  }
  return all;
}

const repeat = <T>(value: T, times: number): T[] => Array.from({ length: times }, () => value);
const rules = rulesInForce();

describe.each(rules.map((rule) => [rule.name, rule] as const))("%s", (_, rule) => {
  const over = rule.above * 1.5 + 1;
  const between = rule.clearAt < rule.above ? (rule.clearAt + rule.above) / 2 : rule.above;
  const forRounds = Math.ceil(rule.forMs / EVERY_MS);
  const clearRounds = Math.ceil(rule.clearForMs / EVERY_MS);

  test("fires once and clears once, however it swings meanwhile", () => {
    const history = [
      ...repeat(0, 20),
      ...(forRounds > 1 ? [...repeat(over, forRounds - 1), 0] : []),
      ...repeat(over, forRounds + 20),
      ...(rule.clearAt < rule.above ? repeat(between, 20) : []),
      ...repeat(0, Math.max(0, clearRounds - 1)),
      ...repeat(over, 5),
      ...repeat(0, clearRounds + 20),
    ];
    expect(play(rule, history).map(({ change }) => change)).toEqual(["fired", "resolved"]);
  });

  test("stays silent in a quiet history, at its threshold too, and when it is over it only for a moment", () => {
    expect(play(rule, repeat(0, 500))).toEqual([]);
    expect(play(rule, repeat(rule.above, 500))).toEqual([]);
    expect(play(rule, repeat(undefined, 500))).toEqual([]);
    if (forRounds > 0)
      expect(
        play(
          rule,
          Array.from({ length: 500 }, (__, n) => (n % (forRounds + 1) === 0 ? 0 : over)),
        ),
      ).toEqual([]);
  });

  test("fires when it has been over for as long as it says, not before", () => {
    const [first] = play(rule, repeat(over, forRounds + 5));
    expect(first).toMatchObject({ change: "fired", round: forRounds, value: over });
  });

  test("a subject that is gone is clear", () => {
    const changes = play(rule, [...repeat(over, forRounds + 1), ...repeat(undefined, clearRounds + 1)]);
    expect(changes.map(({ change }) => change)).toEqual(["fired", "resolved"]);
  });
});

test("the thresholds of the papers", () => {
  const above = Object.fromEntries(rules.map((rule) => [rule.name, rule.above]));
  expect(above).toMatchObject({
    "job-running-long": 300,
    "queue-depth-10": 10,
    "queue-depth-50": 50,
    "processing-time": 60,
    "error-rate": 0.05,
    "provider-latency-30s": 30,
    "provider-latency-10s": 10,
    "storage-size": 10e9,
    "tick-duration-30s": 30,
    "tick-duration-50s": 50,
    "contention-1": 1,
    "contention-5": 5,
    "jobs-per-tick-50": 50,
    "jobs-per-tick-100": 100,
    "worker-queue-depth-100": 100,
    "worker-queue-depth-500": 500,
  });
});

test("whatever the history is: changes of a subject take turns, beginning with fired", () => {
  const rule = rulesInForce({ own: { metric: "queue_depth", above: 10, clearAt: 5, for: "30s", clearFor: "45s" } }).at(
    -1,
  )!;
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }), { maxLength: 200 }),
      (history) => {
        const changes = play(rule, history).map(({ change }) => change);
        expect(changes).toEqual(changes.map((_, n) => (n % 2 === 0 ? "fired" : "resolved")));
      },
    ),
  );
});

describe("rules of the project", () => {
  test("change those out of the box, add others, switch one off", () => {
    const own = rulesInForce({
      "queue-depth-50": { above: 100, only: ["mails"] },
      "queue-depth-10": false,
      slow: { metric: "avg_wait", above: 5 },
    });
    expect(own.find(({ name }) => name === "queue-depth-50")).toMatchObject({
      above: 100,
      clearAt: 90,
      forMs: 60_000,
      severity: "warning",
      only: ["mails"],
    });
    expect(own.some(({ name }) => name === "queue-depth-10")).toBe(false);
    expect(own.find(({ name }) => name === "slow")).toMatchObject({
      metric: "avg_wait",
      unit: "s",
      severity: "warning",
      forMs: 0,
    });
    expect(own.length).toBe(Object.keys(DEFAULT_RULES).length);
    const mails = own.find(({ name }) => name === "queue-depth-50")!;
    expect(evaluate({ ...mails, forMs: 0 }, [{ subject: "other", value: 999 }], new Map(), 0).changes).toEqual([]);
  });

  test.each([
    ["a rule that is none", { nope: false }],
    ["no figure", { own: { above: 1 } }],
    ["no threshold", { own: { metric: "queue_depth" } }],
    ["an unknown figure", { own: { metric: "depth", above: 1 } }],
    ["an unknown setting", { own: { metric: "queue_depth", over: 1 } }],
    ["over before it fires", { own: { metric: "queue_depth", above: 1, clearAt: 2 } }],
    ["a severity that is none", { own: { metric: "queue_depth", above: 1, severity: "loud" } }],
  ])("%s is refused", (_, own) => {
    expect(() => rulesInForce(own as never)).toThrow(ConfigError);
  });
});
