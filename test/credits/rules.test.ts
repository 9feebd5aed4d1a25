import { ConfigError, defineJob, type JobCredits } from "fairmill";
import { describe, expect, test } from "vitest";
import { AMOUNT_MAX, priceOf } from "../../src/core/job/job-credits.js";

const define = (credits: unknown) => defineJob({ kind: "j", credits: credits as JobCredits<unknown> });

describe("credits of a definition", () => {
  test.each<[what: unknown, setting: string]>([
    [null, "credits"],
    ["ann", "credits"],
    [{}, "credits.account"],
    [{ account: "ann" }, "credits.account"],
    [{ account: () => "ann", amount: 0 }, "credits.amount"],
    [{ account: () => "ann", amount: 1.5 }, "credits.amount"],
    [{ account: () => "ann", amount: AMOUNT_MAX + 1 }, "credits.amount"],
    [{ account: () => "ann", amount: "1" }, "credits.amount"],
    [{ account: () => "ann", amount: null }, "credits.amount"],
    [{ account: () => "ann", amout: 1 }, "amout"],
  ])("%o is refused by name", (credits, setting) => {
    expect(() => define(credits)).toThrow(ConfigError);
    expect(() => define(credits)).toThrow(expect.objectContaining({ setting }));
  });

  test("an amount is a number, or a function of the input, or 1", () => {
    const account = (input: { user: string }) => input.user;
    expect(priceOf({ account }, { user: "ann" })).toEqual({ account: "ann", amount: 1 });
    expect(priceOf({ account, amount: 7 }, { user: "ann" })).toEqual({ account: "ann", amount: 7 });
    expect(priceOf({ account, amount: ({ user }) => user.length }, { user: "ann" })).toEqual({
      account: "ann",
      amount: 3,
    });
  });

  test("are frozen with the definition", () => {
    expect(Object.isFrozen(define({ account: () => "ann" }).credits)).toBe(true);
    expect(defineJob({ kind: "j" }).credits).toBeUndefined();
  });
});
