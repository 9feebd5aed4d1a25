// What comes back of a value that was kept, as the compiler knows it. `npm run check` compiles this file; what runs here compares types with values.

import { expect, expectTypeOf, test } from "vitest";
import type { Jsonify } from "../../src/base/jsonify.js";

const back = <T>(value: T): Jsonify<T> => JSON.parse(JSON.stringify(value)) as Jsonify<T>;

test("what JSON knows stays as it is", () => {
  expectTypeOf<Jsonify<string>>().toEqualTypeOf<string>();
  expectTypeOf<Jsonify<"a" | 5 | true | null>>().toEqualTypeOf<"a" | 5 | true | null>();
  expectTypeOf<Jsonify<{ a: number; b: { c: boolean }[] }>>().toEqualTypeOf<{ a: number; b: { c: boolean }[] }>();
  expectTypeOf<Jsonify<Record<string, number>>>().toEqualTypeOf<Record<string, number>>();
});

test("dates, and whatever says by toJSON what it is, are that", () => {
  class Money {
    readonly cents = 5;
    toJSON() {
      return { amount: this.cents, at: new Date(0) };
    }
  }
  expectTypeOf<Jsonify<Date>>().toEqualTypeOf<string>();
  expectTypeOf<Jsonify<{ at: Date; by?: Date | null }>>().toEqualTypeOf<{ at: string; by?: string | null }>();
  expectTypeOf<Jsonify<Money>>().toEqualTypeOf<{ amount: number; at: string }>();
  expect(back({ price: new Money() })).toEqual({ price: { amount: 5, at: "1970-01-01T00:00:00.000Z" } });
});

test("members that may be left out are optional, and those that always are, are gone", () => {
  interface Given {
    a: string | undefined;
    b?: number;
    c: () => void;
    d: symbol;
    e: string | (() => void);
    readonly f: 1;
    [Symbol.iterator]: number;
  }
  expectTypeOf<Jsonify<Given>>().toEqualTypeOf<{ a?: string; b?: number; e?: string; readonly f: 1 }>();
});

test("lists and tuples keep their length, and hold null for what JSON does not know", () => {
  expectTypeOf<Jsonify<(Date | undefined)[]>>().toEqualTypeOf<(string | null)[]>();
  expectTypeOf<Jsonify<[Date, number?]>>().toEqualTypeOf<[string, (number | null)?]>();
  expectTypeOf<Jsonify<readonly [1, () => void]>>().toEqualTypeOf<readonly [1, null]>();
  expectTypeOf<Jsonify<readonly Date[]>>().toEqualTypeOf<readonly string[]>();
  expect(back([new Date(0), undefined])).toEqual(["1970-01-01T00:00:00.000Z", null]);
});

test("unions go member by member, any and unknown stay, brands stay", () => {
  type Id = string & { readonly __brand: "id" };
  expectTypeOf<Jsonify<{ kind: "a"; at: Date } | { kind: "b" }>>().toEqualTypeOf<
    { kind: "a"; at: string } | { kind: "b" }
  >();
  expectTypeOf<Jsonify<unknown>>().toEqualTypeOf<unknown>();
  // biome-ignore lint/suspicious/noExplicitAny: this is about it.
  expectTypeOf<Jsonify<any>>().toBeAny();
  expectTypeOf<Jsonify<{ a: unknown }>>().toEqualTypeOf<{ a: unknown }>();
  expectTypeOf<Jsonify<{ id: Id }>>().toEqualTypeOf<{ id: Id }>();
});

test("what is lost has the type of what is left, and a bigint none", () => {
  expectTypeOf<Jsonify<Map<string, number>>>().toEqualTypeOf<Record<string, never>>();
  expectTypeOf<Jsonify<{ seen: Set<string> }>>().toEqualTypeOf<{ seen: Record<string, never> }>();
  expectTypeOf<Jsonify<bigint>>().toEqualTypeOf<never>();
  expectTypeOf<Jsonify<undefined>>().toEqualTypeOf<undefined>();
  expectTypeOf<Jsonify<void>>().toEqualTypeOf<undefined>();
});

test("types that contain themselves do, too", () => {
  interface Tree {
    at: Date;
    children: Tree[];
  }
  const tree = back<Tree>({ at: new Date(0), children: [{ at: new Date(0), children: [] }] });
  expectTypeOf<(typeof tree)["children"][number]["children"][number]["at"]>().toEqualTypeOf<string>();
  expect(tree.children[0]!.at).toBe("1970-01-01T00:00:00.000Z");
});
