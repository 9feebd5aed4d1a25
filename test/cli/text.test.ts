// Columns, widths, words of a shell and times: pure functions.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { tableOf } from "../../src/cli/table.js";
import { fitTo, manyLines, oneLine, shellWord, toJson, widthOf } from "../../src/cli/text.js";
import { relative, spanOf } from "../../src/cli/times.js";

test("wide and combining characters count as terminals show them", () => {
  expect(widthOf("abc")).toBe(3);
  expect(widthOf("日本")).toBe(4);
  expect(widthOf("e\u0301")).toBe(1);
  expect(widthOf("👩‍👩‍👧")).toBe(2);
});

test("a text is cut or padded to the exact width, whatever it is made of", () => {
  for (const text of ["", "abc", "a longer text", "日本語のテキスト", "a日b本c語"])
    for (const width of [4, 5, 6, 7, 20]) expect(widthOf(fitTo(text, width)), `${text} in ${width}`).toBe(width);
  expect(fitTo("a longer text", 6)).toBe("a lon…");
});

test("what controls a terminal is shown, not obeyed", () => {
  expect(oneLine("a\u001b[2J\nb\u202ec")).toBe("a\\x1b[2J\\x0ab\\u202ec");
  expect(manyLines("a\nb\r")).toBe("a\nb\\x0d");
  const json = toJson({ text: "\u009b\u202e\u001b" });
  expect(json).toBe('{"text":"\\u009b\\u202e\\u001b"}');
});

test("a word of a shell is what the shell makes of it again", () => {
  expect(["acme", "a.b/c@d:1,2+3=4%_-", "-1"].map(shellWord)).toEqual(["acme", "a.b/c@d:1,2+3=4%_-", "-1"]);
  expect(["my tenant", "it's", "$(rm -r)", "", "~", "日本"].map(shellWord)).toEqual([
    "'my tenant'",
    String.raw`'it'\''s'`,
    "'$(rm -r)'",
    "''",
    "'~'",
    "'日本'",
  ]);
  const words = [
    "a b",
    "it's 'two'",
    "$HOME`id`\\",
    '"',
    "#",
    "a;b&c|d>e*?[x]{1,2}!",
    "=ls",
    "\u001b[2J\n\u0007'\\x",
    "\u202ea\u009b",
  ];
  expect(words.map(shellWord).filter((word) => oneLine(word) !== word)).toEqual([]);
  const read = execFileSync("bash", ["-c", `printf '%s\\0' ${words.map(shellWord).join(" ")}`], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C.UTF-8" },
  });
  expect(read.split("\0").slice(0, -1)).toEqual(words);
});

test("a table keeps its columns in line and inside the terminal", () => {
  const rows = [
    ["1", "short", "x".repeat(300)],
    ["22", "日本", "a\nb"],
  ];
  const lines = tableOf(["ID", "NAME", "REMARK"], rows, 40).split("\n");
  expect(lines).toHaveLength(3);
  expect(lines[0]).toBe("ID  NAME   REMARK");
  expect(lines[2]).toBe("22  日本   a\\x0ab");
  expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(40);
  expect(lines[1]!.endsWith("…")).toBe(true);
});

test.each([
  [0, "0ms"],
  [999, "999ms"],
  [45_249, "45.2s"],
  [59_999, "59.9s"],
  [250_000, "4m 10s"],
  [11_100_000, "3h 5m"],
  [187_200_000, "2d 4h"],
])("%i ms reads as %s", (ms, text) => {
  expect(spanOf(ms)).toBe(text);
});

test("moments are told from now", () => {
  expect(relative(new Date(1_000), 13_000)).toBe("12.0s ago");
  expect(relative(new Date(13_000), 1_000)).toBe("in 12.0s");
});
