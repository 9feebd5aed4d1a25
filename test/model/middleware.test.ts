import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/base/errors.js";
import { Chain, chainOf } from "../../src/core/job/middleware-list.js";

const one = (name: string) => ({ name, run: () => {} });
const names = (chain: Chain) => [...chain].map(({ name }) => name);
const abc = new Chain([one("a"), one("b"), one("c")]);

describe("E4: middlewares stand in a line", () => {
  test("in the order in which they were given", () => {
    expect(names(abc)).toEqual(["a", "b", "c"]);
    expect(abc.names).toEqual(["a", "b", "c"]);
  });

  test("others are put at the end, before or behind one, and one is taken out", () => {
    expect(abc.add(one("d")).names).toEqual(["a", "b", "c", "d"]);
    expect(abc.before("a", one("d")).names).toEqual(["d", "a", "b", "c"]);
    expect(abc.before("c", one("d")).names).toEqual(["a", "b", "d", "c"]);
    expect(abc.after("a", one("d")).names).toEqual(["a", "d", "b", "c"]);
    expect(abc.after("c", one("d")).names).toEqual(["a", "b", "c", "d"]);
    expect(abc.remove("b").names).toEqual(["a", "c"]);
    expect(abc.remove("b").add(one("b")).names).toEqual(["a", "c", "b"]);
    // The line itself stays as it is.
    expect(abc.names).toEqual(["a", "b", "c"]);
  });

  test("whatever is done to it, it is what a list would be", () => {
    const step = fc.record({
      what: fc.constantFrom("add", "before", "after", "remove" as const),
      at: fc.nat({ max: 7 }),
      name: fc.integer({ min: 0, max: 7 }).map((n) => `m${n}`),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let chain: Chain = new Chain([]);
        let list: string[] = [];
        for (const { what, at, name } of steps) {
          const target = `m${at}`;
          const index = list.indexOf(target);
          const mayDo = (what === "remove" || !list.includes(name)) && (what === "add" || index >= 0);
          const change = () => {
            if (what === "add") return chain.add(one(name));
            if (what === "remove") return chain.remove(target);
            return what === "before" ? chain.before(target, one(name)) : chain.after(target, one(name));
          };
          if (!mayDo) expect(change).toThrow(ConfigError);
          else {
            chain = change();
            if (what === "add") list = [...list, name];
            else if (what === "remove") list = list.toSpliced(index, 1);
            else list = list.toSpliced(what === "before" ? index : index + 1, 0, name);
          }
          expect(chain.names).toEqual(list);
        }
      }),
    );
  });

  test("a name is there once", () => {
    expect(() => abc.add(one("b"))).toThrow('use: two middlewares have the name "b"');
    expect(() => abc.before("a", one("c"))).toThrow(ConfigError);
    expect(() => new Chain([one("a"), one("a")])).toThrow(ConfigError);
  });

  test("a name that is not there is refused, with those that are", () => {
    expect(() => abc.remove("d")).toThrow('use: no middleware has the name "d". There are: "a", "b", "c".');
    expect(() => abc.before("d", one("e"))).toThrow(ConfigError);
    expect(() => abc.after("d", one("e"))).toThrow(ConfigError);
    expect(() => new Chain([]).remove("a")).toThrow("There are: none.");
  });
});

describe("the setting use", () => {
  test("takes a list or a chain", () => {
    expect(chainOf([one("a")])?.names).toEqual(["a"]);
    expect(chainOf(abc)).toBe(abc);
    expect(chainOf(undefined)).toBeUndefined();
  });

  test.each<[string, unknown, RegExp]>([
    ["a middleware that stands alone", one("a"), /must be a list/],
    ["a function", () => {}, /must be a list/],
    ["a list of functions", [() => {}], /is no middleware/],
    ["null", [null], /is no middleware/],
    ["no name", [{ run: () => {} }], /use\[0\]\.name/],
    ["an empty name", [{ name: "", run: () => {} }], /use\[0\]\.name/],
    ["nothing to do", [{ name: "a" }], /neither enqueue nor run/],
    ["a part that is no function", [{ name: "a", run: 5 }], /run must be a function/],
    ["a misspelt part", [{ name: "a", enqueu: () => {} }], /Did you mean "enqueue"/],
  ])("refuses %s", (_, use, message) => {
    expect(() => chainOf(use as never)).toThrow(ConfigError);
    expect(() => chainOf(use as never)).toThrow(message);
  });
});
