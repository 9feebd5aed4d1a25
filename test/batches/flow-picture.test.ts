// The picture of a flow: a pure function from nodes to lines.
import { describe, expect, test } from "vitest";
import { flowPicture, type PicturedNode } from "../../src/batches/command/flow-picture.js";
import { HERE, railsOf } from "../../src/batches/command/rails.js";
import { widthOf } from "../../src/cli/text.js";
import { dice, newSeed } from "../support/dice.js";

/** Nodes of flow 1, told one after the other; `after` are names. */
function flow(...told: readonly (readonly [name: string, after?: string, more?: Partial<PicturedNode>])[]) {
  const ids = new Map(told.map(([name], n) => [name, String(n + 2)]));
  return told.map(
    ([name, after = "", more = {}], n): PicturedNode => ({
      ...{ id: String(n + 2), parent: "1", name, state: "succeeded", when: "succeeded", onFailure: "fail" },
      ...{ done: 0, dead: 0, cancelled: 0, live: 0 },
      after: after.split(" ").flatMap((one) => ids.get(one) ?? []),
      ...more,
    }),
  );
}

const drawn = (nodes: readonly PicturedNode[], columns = 100) => flowPicture("1", nodes, { columns });

describe("what one sees", () => {
  test("a diamond and its join", () => {
    const nodes = flow(
      ["fetch", "", { done: 1 }],
      ["resize", "fetch", { done: 3 }],
      ["caption", "fetch", { state: "failed", done: 2, dead: 1 }],
      ["publish", "resize caption", { state: "skipped" }],
    );
    expect(drawn(nodes)).toBe(
      `
✓    fetch    succeeded, 1 done
├─╮
✓ │  resize   succeeded, 3 done
│ ✗  caption  failed, 2 done, 1 dead
├─╯
○    publish  skipped, after resize, caption`.slice(1),
    );
  });

  test("a chain: what touches leads on; a node that waits for none stands alone", () => {
    expect(drawn(flow(["a"], ["b", "a", { state: "pending", live: 4 }], ["c"]))).toBe(
      `
✓    a  succeeded
│ ✓  c  succeeded
●    b  pending, 4 live`.slice(1),
    );
    expect(drawn(flow(["a"], ["b", "a"]))).toBe("✓  a  succeeded\n│\n✓  b  succeeded");
    expect(drawn(flow(["a"], ["b"]))).toBe("✓  a  succeeded\n✓  b  succeeded");
  });

  test("a line that crosses another does not touch it", () => {
    expect(drawn(flow(["a"], ["b"], ["c", "a"], ["d", "a b"], ["e", "b"], ["f", "c d e"]))).toBe(
      `
✓      a  succeeded
│ ✓    b  succeeded
├─│─╮
│ │ ✓  c  succeeded
├─┤ │
✓ │ │  d  succeeded, after a, b
│ ✓ │  e  succeeded
├─┴─╯
✓      f  succeeded, after c, d, e`.slice(1),
    );
  });

  test("one that waits for a node far above", () => {
    expect(drawn(flow(["a"], ["b1", "a"], ["b2", "a"], ["c", "b1 b2"], ["d", "a c", { when: "settled" }]))).toBe(
      `
✓      a   succeeded
├─┬─╮
│ ✓ │  b1  succeeded
│ │ ✓  b2  succeeded
│ ├─╯
│ ✓    c   succeeded, after b1, b2
├─╯
✓      d   succeeded, when settled, after a, c`.slice(1),
    );
  });

  test("a flow inside a node stands below it, beside the rails that go on", () => {
    const nodes = flow(
      ["pages"],
      ["nested", "pages", { state: "pending" }],
      ["x", "", { parent: "3", done: 1 }],
      ["y", "x", { parent: "3", state: "pending", live: 1 }],
      ["last", "nested", { state: "waiting" }],
    );
    expect(drawn(nodes)).toBe(
      `
✓  pages   succeeded
│
●  nested  pending
│  ┆ ✓  x  succeeded, 1 done
│  ┆ │
│  ┆ ●  y  pending, 1 live
│  ╰
│
·  last    waiting`.slice(1),
    );
  });

  test("a flow that a job started inside is drawn apart, by its number", () => {
    expect(drawn(flow(["a"], ["stranger", "", { parent: "77" }]))).toContain(
      "Started by a job, flow 77:\n✓  stranger  succeeded",
    );
  });

  test("colours are asked for, never assumed; they change no width", () => {
    const nodes = flow(["a", "", { state: "failed" }]);
    expect(flowPicture("1", nodes, { columns: 100, paint: (state, text) => `<${state}:${text}>` })).toBe(
      "<failed:✗>  a  <failed:failed>",
    );
  });

  test("names cannot move the cursor", () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there.
    expect(drawn(flow(["\u001b[2J\nevil"], ["b", "\u001b[2J\nevil"]))).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  });
});

describe("flows that are too large to be drawn node by node", () => {
  const many = (count: number, more: (n: number) => Partial<PicturedNode> = () => ({})) =>
    Array.from({ length: count }, (_, n) => [`page ${n + 1}`.replace(" ", "-"), "split", more(n)] as const);

  test("10,000 nodes: those that are alike are one line, with the names of the failed", () => {
    const pages = many(9_998, (n) => (n === 76 ? { state: "failed", dead: 1 } : { done: 1 }));
    const names = pages.map(([name]) => name).join(" ");
    const picture = drawn(flow(["split"], ...pages, ["bind", names, { state: "skipped" }]));
    expect(picture.split("\n")).toHaveLength(5);
    expect(picture).toContain(
      "✗  page-1 … page-9998  9998 nodes: 1 failed (page-77), 9997 succeeded, 9997 done, 1 dead",
    );
  });

  test("a tangle of 10,000: level by level; a chain of 10,000: so many levels a line", () => {
    const roll = dice(newSeed());
    const ids = Array.from({ length: 10_000 }, (_, n) => String(n + 2));
    const [template] = flow(["n"]);
    const of = (after: (n: number) => string[]) =>
      ids.map((id, n): PicturedNode => ({ ...template!, id, name: `n${n}`, after: n === 0 ? [] : after(n) }));
    const tangle = of((n) => [...new Set([ids[Math.floor(roll() * n)]!, ids[Math.floor(roll() * n)]!])]);
    const chain = of((n) => [ids[n - 1]!]);
    for (const nodes of [tangle, chain]) {
      const lines = drawn(nodes).split("\n");
      expect(lines.length).toBeLessThanOrEqual(250);
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(100);
      const counted = [...drawn(nodes).matchAll(/(\d+) nodes: /g)].reduce((sum, [, count]) => sum + Number(count), 0);
      const single = lines.filter((line) => /succeeded/.test(line) && !/nodes: /.test(line)).length;
      expect(counted + single).toBe(10_000);
    }
    expect(drawn(chain)).toContain("levels 1 to 84: n0 …");
  });

  test("nothing is wider than the terminal, however deep flows lie in one another", () => {
    const nodes = flow(
      ...Array.from(
        { length: 8 },
        (_, n) => [`${n} ${"long ".repeat(30)}`, "", { parent: n === 0 ? "1" : String(n + 1) }] as const,
      ),
    );
    for (const columns of [40, 80, 100]) {
      for (const line of drawn(nodes, columns).split("\n")) expect(widthOf(line), line).toBeLessThanOrEqual(columns);
    }
    expect(drawn(nodes)).toContain("╰ 1 nodes inside");
  });
});

/** Where a stroke leads. */
const UP = "│├┤┼╯╰┴";
const DOWN = "│├┤┼╮╭┬";

test("following the rails leads from every node to those that wait for it, in any graph", () => {
  const roll = dice(newSeed());
  for (let round = 0; round < 300; round++) {
    const size = 2 + Math.floor(roll() * 11);
    const stops = Array.from({ length: size }, (_, n) => ({
      after: Array.from({ length: n }, (_, before) => before).filter(() => roll() < 0.25),
    }));
    const { lines } = railsOf(stops);
    const picture = lines.map(({ text }) => text.replace(HERE, "o")).join("\n");
    /** Per rail the node above, and all that the last line across led to it. */
    const above = new Map<number, number>();
    const led = new Map<number, readonly number[]>();
    const seen = new Set<number>();
    for (const { text, node } of lines) {
      if (node !== undefined) {
        const rail = text.indexOf(HERE) / 2;
        const told = [...stops[node]!.after].toSorted((a, b) => a - b);
        const ways = [led.get(rail) ?? [], above.has(rail) ? [above.get(rail)!] : []];
        expect([...ways, []], `${picture}\nnode ${node}`).toContainEqual(told);
        if (told.length > 0) expect(ways).toContainEqual(told);
        above.set(rail, node);
        led.delete(rail);
        seen.add(node);
        continue;
      }
      const cells = [...text].filter((_, at) => at % 2 === 0);
      const parts = cells.flatMap((cell, rail) => ("├┤┼╯╰┴╮╭┬".includes(cell) ? [rail] : []));
      const sources = parts.filter((rail) => UP.includes(cells[rail]!)).map((rail) => above.get(rail)!);
      expect(sources, picture).not.toContain(undefined);
      for (const rail of parts) {
        if (DOWN.includes(cells[rail]!))
          led.set(
            rail,
            sources.toSorted((a, b) => a - b),
          );
        if (!UP.includes(cells[rail]!) || !DOWN.includes(cells[rail]!)) above.delete(rail);
      }
    }
    expect(seen.size).toBe(size);
  }
});
