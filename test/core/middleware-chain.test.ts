import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/base/errors.js";
import { checkMiddlewares } from "../../src/core/job/middleware-list.js";

const one = (name: string) => ({ name, run: () => {} });

describe("the setting use", () => {
  test("E4: is a list of named middlewares, in the order in which they were given", () => {
    const list = [one("a"), one("b"), one("c")];
    expect(checkMiddlewares(list)).toEqual(list);
    expect(checkMiddlewares([])).toEqual([]);
    expect(checkMiddlewares(undefined)).toBeUndefined();
  });

  test("E4: one is removed by its name, as from any list", () => {
    const list = [one("a"), one("b"), one("c")];
    expect(checkMiddlewares(list.filter(({ name }) => name !== "b"))?.map(({ name }) => name)).toEqual(["a", "c"]);
  });

  test("keeps what it was given: a list that is changed afterwards changes nothing", () => {
    const list = [one("a")];
    const checked = checkMiddlewares(list);
    list.push(one("b"));
    expect(checked).toHaveLength(1);
  });

  test("a name is there once", () => {
    expect(() => checkMiddlewares([one("a"), one("b"), one("a")])).toThrow('use: two middlewares have the name "a"');
  });

  test.each<[string, unknown, RegExp]>([
    ["a middleware that stands alone", one("a"), /is no list/],
    ["a function", () => {}, /is no list/],
    ["a list of functions", [() => {}], /is no middleware/],
    ["null", [null], /is no middleware/],
    ["no name", [{ run: () => {} }], /use\[0\]\.name/],
    ["an empty name", [{ name: "", run: () => {} }], /use\[0\]\.name/],
    ["nothing to do", [{ name: "a" }], /neither enqueue nor run/],
    ["a part that is no function", [{ name: "a", run: 5 }], /run must be a function/],
    ["a misspelt part", [{ name: "a", enqueu: () => {} }], /Did you mean "enqueue"/],
  ])("refuses %s", (_, use, message) => {
    expect(() => checkMiddlewares(use as never)).toThrow(ConfigError);
    expect(() => checkMiddlewares(use as never)).toThrow(message);
  });
});
