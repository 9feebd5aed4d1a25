// What tells that the code of a job changed: purely, without a run.
import { describe, expect, test } from "vitest";
import { type KnownStep, KnownSteps } from "../../src/steps/step.js";
import { StepChangedError } from "../../src/steps/step-errors.js";

const step = (position: number, name: string, kind: KnownStep["kind"] = "run"): KnownStep => ({
  name,
  kind,
  position,
  result: name,
  signalled: false,
  finished: true,
});

describe("known steps", () => {
  const known = new KnownSteps([step(0, "a"), step(2, "c"), step(3, "d"), step(3, "d@2"), step(4, "e@x")]);

  test("are found where they were", () => {
    expect(known.at(0, "a", "run")?.result).toBe("a");
    expect(known.at(3, "d@2", "run")?.result).toBe("d@2");
    expect(known.at(4, "e@x", "run")?.result).toBe("e@x");
  });

  test("what is not known may come where nothing was, in a gap or behind the end", () => {
    expect(known.at(1, "b", "run")).toBeUndefined();
    expect(known.at(5, "f", "sleep")).toBeUndefined();
  });

  test("a later version takes the place of an earlier one", () => {
    expect(known.at(3, "d@10", "run")).toBeUndefined();
    expect(known.at(2, "c@2", "wait")).toBeUndefined();
  });

  test.each<[number, string, KnownStep["kind"]]>([
    [0, "x", "run"],
    [0, "a", "sleep"],
    [1, "a", "run"],
    [1, "c", "run"],
    [3, "d", "run"],
    [3, "d@1", "run"],
    [4, "e@2", "run"],
    [2, "cc@2", "run"],
  ])("number %i, %s as a %s, is a change", (position, name, kind) => {
    expect(() => known.at(position, name, kind)).toThrow(StepChangedError);
  });

  test("of a job without any, everything is new", () => {
    expect(new KnownSteps().at(0, "a", "run")).toBeUndefined();
  });
});
