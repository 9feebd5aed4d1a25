import { describe, expect, test } from "vitest";
import { endAfterTest } from "./leftovers.js";

describe("what a test asks to be ended", () => {
  let ends = 0;
  test("is going on while the test is", () => {
    endAfterTest(async () => void ends++);
    expect(ends).toBe(0);
  });
  for (const n of ["next", "one behind it"])
    test(`was ended once, says the ${n}`, () => {
      expect(ends).toBe(1);
    });
});
