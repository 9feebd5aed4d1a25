// Limits as people write them: what is taken, in which form it is stored, and that a refusal names the setting.
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/base/errors.js";
import { defineJob } from "../../src/core/job/job-definition.js";
import {
  checkJobLimits,
  checkLimits,
  checkPauseTarget,
  checkRate,
  type JobLimits,
  type RateLimit,
} from "../../src/limits/limit-settings.js";

/** The setting that a refusal names, and its message. */
function refusal(give: () => unknown): { setting: string; message: string } {
  try {
    give();
  } catch (error) {
    if (error instanceof ConfigError) return { setting: error.setting, message: error.message };
    throw error;
  }
  throw new Error("It was taken.");
}

describe("a rate", () => {
  test("is stored in milliseconds, as a window at start unless it says otherwise", () => {
    expect(checkRate({ limit: 5, per: "1m" }, "rate")).toEqual({
      limit: 5,
      perMs: 60_000,
      how: "window",
      at: "start",
    });
    expect(checkRate({ limit: 1, per: 250, how: "uniform", at: "enqueue" }, "rate")).toEqual({
      limit: 1,
      perMs: 250,
      how: "uniform",
      at: "enqueue",
    });
    expect(checkRate({ limit: 1_000_000, per: "30d" }, "rate").perMs).toBe(30 * 86_400_000);
    expect(checkRate({ limit: 1, per: 0.6 }, "rate").perMs).toBe(1);
  });

  test.each([
    [null, "rate"],
    ["5/1m", "rate"],
    [{ limit: 0, per: "1s" }, "rate.limit"],
    [{ limit: 1.5, per: "1s" }, "rate.limit"],
    [{ limit: 1_000_001, per: "1s" }, "rate.limit"],
    [{ limit: "5", per: "1s" }, "rate.limit"],
    [{ limit: 5 }, "rate.per"],
    [{ limit: 5, per: "soon" }, "rate.per"],
    [{ limit: 5, per: 0 }, "rate.per"],
    [{ limit: 5, per: 0.4 }, "rate.per"],
    [{ limit: 5, per: "31d" }, "rate.per"],
    [{ limit: 5, per: "1s", how: "even" }, "rate.how"],
    [{ limit: 5, per: "1s", at: "noon" }, "rate.at"],
    [{ limit: 5, per: "1s", burst: 2 }, "burst"],
  ])("%j is refused, and the message names %s", (given, setting) => {
    const refused = refusal(() => checkRate(given as unknown as RateLimit, "rate"));
    expect(refused.setting).toBe(setting);
    expect(refused.message).toContain(setting);
  });
});

describe("the limits of a definition", () => {
  const limitsOf = (limits: JobLimits, key?: (input: unknown) => string) =>
    defineJob<unknown>({ kind: "k", limits, ...(key ? { key } : {}) }).limits;

  test("count per key where there is one, otherwise for the kind, unless they say", () => {
    expect(limitsOf({ active: 1 })).toEqual({ per: "kind", active: 1, whenActive: "wait", rate: null });
    expect(limitsOf({ active: 1 }, () => "ann")).toMatchObject({ per: "key" });
    expect(limitsOf({ active: 1, per: "tenant" }, () => "ann")).toMatchObject({ per: "tenant" });
    expect(limitsOf({ active: 10_000, whenActive: "refuse" })).toMatchObject({
      active: 10_000,
      whenActive: "refuse",
    });
    expect(limitsOf({ rate: { limit: 5, per: "1s" } })).toEqual({
      per: "kind",
      active: null,
      whenActive: "wait",
      rate: { limit: 5, perMs: 1_000, how: "window", at: "start" },
    });
    expect(defineJob({ kind: "k" }).limits).toBeUndefined();
    expect(checkJobLimits(undefined, true, "here")).toBeUndefined();
  });

  test.each([
    [null, "limits"],
    [3, "limits"],
    [{}, "limits"],
    [{ per: "key" }, "limits"],
    [{ active: 0 }, "limits.active"],
    [{ active: 10_001 }, "limits.active"],
    [{ active: "1" }, "limits.active"],
    [{ active: 1, whenActive: "drop" }, "limits.whenActive"],
    [{ rate: { limit: 1, per: "1s" }, whenActive: "wait" }, "limits.whenActive"],
    [{ active: 1, per: "user" }, "limits.per"],
    [{ rate: { limit: 0, per: "1s" } }, "limits.rate.limit"],
    [{ rate: { limit: 1 } }, "limits.rate.per"],
    [{ activ: 1 }, "activ"],
  ])("%j is refused, and the message names %s", (given, setting) => {
    const refused = refusal(() => limitsOf(given as unknown as JobLimits));
    expect(refused.setting).toBe(setting);
    expect(refused.message).toContain(setting);
  });

  test("a misspelt limit is told what was probably meant", () => {
    expect(refusal(() => limitsOf({ activ: 1 } as object)).message).toContain('Did you mean "active"?');
  });
});

describe("the settings of a limit", () => {
  test("only what is named is stored; null takes away", () => {
    expect(checkLimits({}, "tenant", "here")).toEqual({});
    expect(checkLimits({ weight: 2, maxRunning: 0, rate: { limit: 1, per: "1s" } }, "tenant", "here")).toEqual({
      weight: 2,
      max_running: 0,
      rate: { limit: 1, per_ms: 1_000, how: "window", at: "start" },
    });
    expect(checkLimits({ weight: null, maxRunning: null, rate: null }, "tenant", "here")).toEqual({
      weight: null,
      max_running: null,
      rate: null,
    });
  });

  test.each([
    ["tenant", null, "settings"],
    ["tenant", { weight: 0 }, "weight"],
    ["tenant", { weight: 0.009 }, "weight"],
    ["tenant", { weight: 1_000.1 }, "weight"],
    ["tenant", { weight: Number.NaN }, "weight"],
    ["tenant", { weight: "2" }, "weight"],
    ["queue", { weight: 2 }, "weight"],
    ["kind", { weight: 2 }, "weight"],
    ["queue", { maxRunning: -1 }, "maxRunning"],
    ["queue", { maxRunning: 1_000_001 }, "maxRunning"],
    ["kind", { maxRunning: 0.5 }, "maxRunning"],
    ["kind", { rate: { limit: 1, per: -1 } }, "rate.per"],
    ["kind", { paused: true }, "paused"],
  ] as const)("of a %s: %j is refused, and the message names %s", (scope, given, setting) => {
    const refused = refusal(() => checkLimits(given as object, scope, "here"));
    expect(refused.setting).toBe(setting);
    expect(refused.message).toContain(setting);
  });
});

describe("which limit", () => {
  test("is one of three", () => {
    expect(checkPauseTarget({ queue: "mails" }, "pause")).toEqual({ scope: "queue", name: "mails" });
    expect(checkPauseTarget({ kind: "mail.send" }, "pause")).toEqual({ scope: "kind", name: "mail.send" });
    expect(checkPauseTarget({ tenant: "acme" }, "pause")).toEqual({ scope: "tenant", name: "acme" });
  });

  test.each([
    [undefined],
    [null],
    ["mails"],
    [{}],
    [{ queue: "" }],
    [{ queue: 7 }],
    [{ queue: "a", kind: "b" }],
    [{ quue: "a" }],
  ])("%j is refused", (given) => {
    expect(refusal(() => checkPauseTarget(given as unknown as { queue: string }, "pause")).message).toMatch(/^pause: /);
  });
});
