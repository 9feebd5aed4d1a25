// What the dashboard decides without a browser: words for numbers and times, folded graphs, files for spreadsheets, and its size.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { timeTicks, valueTicks } from "../../dashboard/src/charts/scale.js";
import { bytes, compact, percent } from "../../dashboard/src/format/numbers.js";
import { coarse, duration } from "../../dashboard/src/format/times.js";
import { fold, nameOf, stateOf, wordsOf } from "../../dashboard/src/views/flows/fold.js";
import { csvCell, csvOf } from "../../dashboard/src/views/jobs/export.js";
import { cronWords, inZone } from "../../dashboard/src/views/schedules/cron-words.js";
import { dashboardSize, GZIPPED_BYTES_MAX } from "../../scripts/dashboard-build.mjs";
import { flowDetail } from "./fixture/flows.js";

test("durations have at most two units and never sixty seconds", () => {
  const said = [0, 999, 1000, 9_999, 59_700, 61_000, 3_600_000, 7_260_000, 90_000_000, -2000].map(duration);
  expect(said).toEqual([
    "0 ms",
    "999 ms",
    "1.0 s",
    "10.0 s",
    "1 min",
    "1 min 1 s",
    "1 h",
    "2 h 1 min",
    "1 d 1 h",
    "−2.0 s",
  ]);
  expect([duration(null), duration(Number.NaN), coarse(119_000)]).toEqual(["–", "–", "1 min"]);
});

test("numbers that are missing are dashes; large ones are short", () => {
  expect([compact(null), compact(0), compact(9999), compact(12_400), compact(1_000_000)]).toEqual([
    "–",
    "0",
    "9,999",
    "12.4k",
    "1M",
  ]);
  expect([bytes(1_600_000), percent(0.004), percent(0.5), percent(undefined)]).toEqual(["1.6 MB", "0.4%", "50%", "–"]);
});

test("axes begin at zero, end at or above the highest value, and hold what is no number", () => {
  for (const max of [0.003, 0.7, 1, 9, 99, 1234, 8e6]) expect(valueTicks(max).at(-1)).toBeGreaterThanOrEqual(max);
  expect([valueTicks(0), valueTicks(Number.NaN), valueTicks(3, 4, true)]).toEqual([
    [0, 1],
    [0, 1],
    [0, 1, 2, 3],
  ]);
  expect(timeTicks(0, 3_600_000, 8).length).toBeLessThanOrEqual(8);
  expect(timeTicks(5, 5, 8)).toEqual([]);
});

test("a fan-out is folded to one node that says how many failed", () => {
  const folded = fold(flowDetail("812").nodes);
  const group = folded.find(({ nodes }) => nodes.length > 1)!;
  expect([nameOf(group), stateOf(group.nodes), wordsOf(group)]).toEqual(["render ×120", "failed", "3 failed, 93 done"]);
  expect(folded.find(({ nodes }) => nodes[0]!.name === "zip")!.after).toHaveLength(3);
});

test("a cell that a spreadsheet would run is text", () => {
  expect(["=1+1", "+1+cmd", "@SUM(1)", "-5", 'say "hi", ann', null, { a: 1 }].map(csvCell)).toEqual([
    "'=1+1",
    "'+1+cmd",
    "'@SUM(1)",
    "-5",
    '"say ""hi"", ann"',
    "",
    '"{""a"":1}"',
  ]);
  expect(csvOf([{ id: "1", kind: "a" }])).toBe("id,kind\r\n1,a");
});

test("cron expressions in words where they are usual, and themselves otherwise", () => {
  const said = [
    "0 3 * * *",
    "*/5 * * * *",
    "30 8 * * 1-5",
    "0 9 1 * *",
    "15 */6 * * *",
    "0 0 1-7 * 1",
    "@daily",
    "61 x * * *",
  ].map(cronWords);
  expect(said).toEqual([
    "at 03:00",
    "every 5 minutes",
    "at 08:30, Monday to Friday",
    "at 09:00, on day 1 of the month",
    "every 6 hours at :15",
    "0 0 1-7 * 1",
    "@daily",
    "61 x * * *",
  ]);
  expect(inZone("2026-11-19T02:00:00Z", "Europe/Madrid")).toContain("03:00");
  expect(inZone("2026-11-19T02:00:00Z", "Not/AZone")).toContain("02:00");
});

test("the built dashboard is small enough, and has nothing that the content security policy would refuse", () => {
  const folder = join(import.meta.dirname, "..", "..", "dist", "dashboard");
  expect(dashboardSize(folder).total).toBeLessThan(GZIPPED_BYTES_MAX);
  const page = readFileSync(join(folder, "index.html"), "utf8");
  expect(page).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)|\son\w+=|https?:\/\//);
  for (const name of readdirSync(join(folder, "assets")).filter((one) => one.endsWith(".js")))
    expect(readFileSync(join(folder, "assets", name), "utf8")).not.toMatch(/\beval\(|new Function\(/);
});

test("S10 no source file writes markup", () => {
  const folder = join(import.meta.dirname, "..", "..", "dashboard", "src");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
  const writing = files.filter((name) =>
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|setAttribute\("style/.test(
      readFileSync(join(folder, name), "utf8"),
    ),
  );
  expect(files.length).toBeGreaterThan(60);
  expect(writing).toEqual([]);
});
