// What the dashboard decides without a browser: words for numbers and times, folded graphs, files for spreadsheets, and its size.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { knownRuns, latestOf, linePath, stepLine } from "../../dashboard/src/charts/paths.js";
import { timeTicks, valueTicks } from "../../dashboard/src/charts/scale.js";
import type { ScalingDecision } from "../../dashboard/src/data/contract.js";
import { restMs } from "../../dashboard/src/data/rest.js";
import { busyShare, claimedAhead } from "../../dashboard/src/format/busy.js";
import { allOf, bytes, compact, percent } from "../../dashboard/src/format/numbers.js";
import { coarse, duration, readable, tenth } from "../../dashboard/src/format/times.js";
import { measure } from "../../dashboard/src/views/alerts/measure.js";
import { fold, nameOf, stateOf, wordsOf } from "../../dashboard/src/views/flows/fold.js";
import { csvCell, csvOf } from "../../dashboard/src/views/jobs/export.js";
import { verdict } from "../../dashboard/src/views/now/backlog-chart.js";
import { balance } from "../../dashboard/src/views/now/flow-chart.js";
import { trend } from "../../dashboard/src/views/now/trend.js";
import { checkOf, reasonOf } from "../../dashboard/src/views/reasons.js";
import { cronWords, inZone } from "../../dashboard/src/views/schedules/cron-words.js";
import { rowsOf } from "../../dashboard/src/views/tenants/rows.js";
import { isNews } from "../../dashboard/src/views/workers/news.js";
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

test("what is not known is a gap: in lines, steps and areas; a value alone is a dash, and the last known one is the latest", () => {
  expect(linePath([0, 10, 20, 30], [null, 5, null, 7])).toBe("M8 5h4M28 7h4");
  expect(linePath([0, 10, 20], [5, 6, null])).toBe("M0 5L10 6");
  expect(stepLine([0, 10, 20], 30, [null, 4, 5])).toBe("M10 4H20L20 5H30");
  expect(knownRuns(5, (index) => index !== 2)).toEqual([
    [0, 2],
    [3, 5],
  ]);
  expect([latestOf([1, 0, null]), latestOf([null])]).toEqual([0, null]);
});

test("one of a thing is told as one, in lists and in alerts", () => {
  expect([allOf(1, "limits in units"), allOf(2, "limits in units"), allOf(1, "workers")]).toEqual([
    "One limit in units.",
    "All 2 limits in units.",
    "One worker.",
  ]);
  expect([measure(1, "messages"), measure(2, "messages"), measure(1, "s")]).toEqual(["1 message", "2 messages", "1 s"]);
});

test("a tenant that was served lately has its row when it has nothing at this moment; on a page of several it has not", () => {
  const row = (tenant: string) => ({ tenant }) as never;
  const fairness = { lanes: [{ tenant: "acme", weight: 2 }, { tenant: "globex" }] } as never;
  const page = (next: string | null) => ({ items: [row("globex")], next, notice: null });
  expect(rowsOf(page(null), fairness, true)).toMatchObject([
    { tenant: "acme", weight: 2, running: { count: 0 } },
    row("globex"),
  ]);
  expect(rowsOf(page("globex"), fairness, true)).toEqual([row("globex")]);
  expect(rowsOf(page(null), fairness, false)).toEqual([row("globex")]);
});

test("a decision that came to the same as the one before has no mark", () => {
  const one = { wanted: 2, actual: 3, suppressed: true, cappedBy: null } as never as ScalingDecision;
  expect(isNews(one, undefined)).toBe(true);
  expect(isNews(one, { ...one })).toBe(false);
  expect(isNews({ ...one, suppressed: false }, one)).toBe(true);
  expect(isNews({ ...one, cappedBy: "maxInstances" }, one)).toBe(true);
});

test("times in sentences of the server are told by the clocks of the reader, with how far away they are", () => {
  const now = Date.parse("2026-11-18T08:57:41.000Z");
  const said = readable("the next one at 2026-11-18T08:57:44.214Z.", now);
  expect(said).toBe(`the next one at ${tenth(now + 3_214).slice(0, 8)} (in\u00a03.2\u00a0s).`);
  expect(readable("no time: 2026-11-18, T1", now)).toBe("no time: 2026-11-18, T1");
  expect(timeTicks(0, 900, 5).map(({ label }) => label.slice(-2))).toEqual([".0", ".2", ".4", ".6", ".8"]);
});

test("every reason and check that the SQL knows has words and a colour of its own", () => {
  const sql = (name: string) => readFileSync(join(import.meta.dirname, "..", "..", "sql", name), "utf8");
  const reasons = [...sql("inner/pool/backlog_lanes.sql").matchAll(/v_why := '([a-z ]+)'/g)].map(
    ([, reason]) => reason!,
  );
  expect(reasons).toContain("budget spent");
  expect(reasons.filter((reason) => reasonOf(reason).tone === "w-other")).toEqual([]);
  const folder = join(import.meta.dirname, "..", "..", "sql", "inner");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".sql"));
  const checks = files.flatMap((name) =>
    [...sql(`inner/${name}`).matchAll(/'([a-z ]+)', (?:true|false),/g)].map(([, check]) => check!),
  );
  expect(checks).toContain("budget");
  const plain = new Set(["state", "expired"]);
  expect(checks.filter((check) => !plain.has(check) && checkOf(check)[1] === "w-other")).toEqual([]);
});

test("the sentence over the backlog is about what is due, and the one over the flow says which way it goes", () => {
  const of = (values: Record<string, number>) =>
    verdict({
      reasons: Object.entries(values).map(([reason, value]) => ({ reason: reason as "rate", values: [value] })),
      atLeast: [false],
    });
  expect(of({ scheduled: 900, rate: 30, key: 10 })).toBe("75% of what is due: rate; a higher rate would help.");
  expect(of({ scheduled: 900, rate: 0 })).toContain("Nothing that is due waits");
  expect(of({})).toBe("Nothing waits now.");
  const flow = (come: (number | null)[], go: (number | null)[]) =>
    balance({
      items: [
        ["jobs.in", come],
        ["jobs.out", go],
      ].map(([name, values]) => ({ name, lines: [{ key: "", values }] })) as never,
    });
  // Of the points at which both are known.
  expect(flow([null, 10, 10], [2, 4, 4])).toBe("6 a second more come than go: the backlog grows.");
  expect(flow([10], [10.1])).toBe("As many go as come.");
  expect(flow([0], [5])).toContain("shrinks");
  expect(flow([], [null])).toBe("Too little is on record yet to compare them.");
  const busy = (come: number, go: number, stepMs: number, waiting?: number) =>
    balance(
      {
        items: [
          { name: "jobs.in", stepMs, lines: [{ key: "", values: [come, come, come, come] }] },
          { name: "jobs.out", stepMs, lines: [{ key: "", values: [go, go, go, go] }] },
        ] as never,
      },
      waiting,
    );
  // 8 jobs a second in 80 s are 640: chance makes a difference of 50, which is 0.63 a second.
  expect([busy(4.3, 3.7, 20_000), busy(4.4, 3.6, 20_000)]).toEqual([
    "As many go as come.",
    "0.8 a second more come than go: the backlog grows.",
  ]);
  expect([busy(9, 3, 20_000, 44), busy(9, 3, 20_000, 46)]).toEqual([
    "As many go as come.",
    "6 a second more come than go: the backlog grows.",
  ]);
  const count = (value: number) => ({ count: value, more: false });
  const trends = [
    { inPerSecond: 9, outPerSecond: 3, ready: count(44) },
    { inPerSecond: 9, outPerSecond: 3, ready: count(46) },
    { inPerSecond: null, outPerSecond: 3, ready: count(46) },
    { inPerSecond: null, outPerSecond: null, ready: count(46) },
  ].map(trend);
  expect(trends).toEqual([
    "nothing waits for long",
    "the backlog grows",
    "not known long enough",
    "no interval records",
  ]);
});

test("a screen rests for two seconds, and longer after an answer that took long", () => {
  expect([0, 100, 500, 60_000].map(restMs)).toEqual([2_000, 2_000, 10_000, 30_000]);
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

test("a fleet that has claimed ahead is busy in full, not above it", () => {
  const said = (running: number, capacity: number) => busyShare(running, capacity) + claimedAhead(running, capacity);
  expect([said(0, 12), said(9, 12), said(12, 12), said(15, 12), said(0, 0)]).toEqual([
    "0%",
    "75%",
    "100%",
    "100%, 3 claimed ahead",
    "–",
  ]);
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
    "0 9 L * *",
    "30 8,17 * * mon,fri",
    "*/10 9-17 * * 1-5",
    "0 12 1,15 jan,jul *",
    "0 6 * * 5#2",
    "0 6 * * 5L",
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
    "at 09:00, on the last day of the month",
    "at 08:30 and 17:30, every Monday and Friday",
    "every 10 minutes from 09:00 to 17:59, Monday to Friday",
    "at 12:00, on day 1 and 15 of the month, in January and July",
    "at 06:00, on the second Friday of the month",
    "at 06:00, on the last Friday of the month",
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
