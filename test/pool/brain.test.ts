// B11 and requirement D5: the autoscaler's brain, by itself: a simulated day under a clock of the test's, and the mistakes of others as named cases.
import {
  decideScale,
  type ScaleDecision,
  type ScaleHistory,
  type ScaleInputs,
  type ScaleSettings,
} from "fairmill/pool";
import { describe, expect, test } from "vitest";
import { checkFloors } from "../../src/pool/scale/floors.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A Monday, 00:00 UTC. */
const MONDAY = Date.UTC(2026, 10, 16);

const settings: ScaleSettings = {
  min: 2,
  max: 10,
  policy: "utilisation",
  targetWaitMs: 30_000,
  busyAbove: 0.8,
  busyForMs: 5 * MINUTE,
  idleBelow: 0.3,
  idleForMs: 15 * MINUTE,
  stepMax: 4,
  floors: [],
  connections: undefined,
};

const quiet: ScaleInputs = {
  nowMs: MONDAY,
  current: 2,
  ready: 2,
  capacity: 10,
  busy: 0,
  runnable: 0,
  heldBack: {},
  arrivalsPerS: 0,
  meanRunMs: 1_000,
  hosts: 1,
  memory: undefined,
};

const decideOnce = (inputs: Partial<ScaleInputs>, own: Partial<ScaleSettings> = {}, history: ScaleHistory = {}) =>
  decideScale({ ...quiet, ...inputs }, history, { ...settings, ...own }).decision;

interface Moment extends ScaleDecision {
  readonly minute: number;
}

/** Runs the brain over minutes, each with the share of the capacity that is busy, or with all inputs; what it says is done at once. */
function simulate(
  minutes: number,
  at: (minute: number, current: number) => Partial<ScaleInputs>,
  own: Partial<ScaleSettings> = {},
  first = 2,
  startMs = MONDAY,
): Moment[] {
  let history: ScaleHistory = {};
  let current = first;
  const said: Moment[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    const inputs = { ...quiet, current, ready: current, nowMs: startMs + minute * MINUTE, ...at(minute, current) };
    const answer = decideScale(inputs, history, { ...settings, ...own });
    history = answer.history;
    const { decision } = answer;
    expect(decision.target).toBeGreaterThanOrEqual(Math.min(current, own.min ?? settings.min));
    expect(decision.target).toBeLessThanOrEqual(own.max ?? settings.max);
    expect(decision.action === "up" || decision.action === "down").toBe(decision.target !== current);
    if (decision.target !== current) said.push({ minute, ...decision });
    current = decision.target;
  }
  return said;
}

const busyShare = (share: number) => (_: number, current: number) => ({ busy: share * current * 10 });

describe("the paper's rules", () => {
  test("more than 80 % busy for 5 minutes: one more, and another one after 5 more, up to the maximum", () => {
    const said = simulate(120, busyShare(0.9));
    expect(said.map(({ minute, target }) => [minute, target])).toEqual([
      [5, 3],
      [11, 4],
      [17, 5],
      [23, 6],
      [29, 7],
      [35, 8],
      [41, 9],
      [47, 10],
    ]);
    expect(said[0]!.reason).toBe("more than 80 % busy for 5 min");
  });

  test("less than 30 % busy for 15 minutes: one fewer, down to the minimum", () => {
    const said = simulate(60, busyShare(0.2), {}, 4);
    expect(said.map(({ minute, target, reason }) => [minute, target, reason])).toEqual([
      [15, 3, "less than 30 % busy for 15 min"],
      [31, 2, "less than 30 % busy for 15 min"],
    ]);
  });

  test("a moment below or above the line begins the window again", () => {
    expect(simulate(60, (minute, current) => ({ busy: (minute % 5 === 4 ? 0.5 : 0.9) * current * 10 }))).toEqual([]);
    expect(simulate(60, (minute, current) => ({ busy: (minute % 15 === 14 ? 0.5 : 0) * current * 10 }), {}, 4)).toEqual(
      [],
    );
  });

  test("a day: exactly the decisions that the rules give, no flapping, never outside of the bounds", () => {
    // Load in jobs at once: a quiet night, a morning that grows, a busy noon, an evening that falls, quiet again.
    const load = (minute: number) => {
      const hour = minute / 60;
      if (hour < 7 || hour >= 21) return 2;
      if (hour < 10) return 10 + (hour - 7) * 10;
      if (hour < 16) return 45;
      return Math.max(4, 45 - (hour - 16) * 12);
    };
    const said = simulate(24 * 60, (minute, current) => {
      const busy = Math.min(current * 10, load(minute));
      return { busy, runnable: Math.max(0, load(minute) - busy) };
    });
    expect(said.map(({ action }) => action).join(" ")).toBe("up up up up down down down down");
    expect(Math.max(...said.map(({ target }) => target))).toBe(6);
    expect(said.at(-1)!.target).toBe(2);
  });
});

describe("the wait leads, utilisation guards", () => {
  const waits = { policy: "targetWait", max: 30 } as const;

  test("from 1 to what is needed at once, in steps, and not by one in five minutes", () => {
    const backlog = { runnable: 6_000, arrivalsPerS: 0, meanRunMs: 1_000, busy: 10 };
    expect(decideOnce({ ...backlog, current: 2 }, waits)).toMatchObject({ action: "up", wanted: 20, target: 6 });
    const said = simulate(6, (_, current) => ({ ...backlog, busy: current * 10 }), waits);
    expect(said.map(({ minute, target }) => [minute, target])).toEqual([
      [0, 6],
      [1, 10],
      [2, 14],
      [3, 18],
      [4, 20],
    ]);
  });

  test("one waiting job does not scale to the maximum", () => {
    expect(decideOnce({ runnable: 1, meanRunMs: 1_000, busy: 3 }, waits)).toMatchObject({ target: 2 });
    expect(decideOnce({ runnable: 1, meanRunMs: undefined, busy: 20 }, waits)).toMatchObject({
      action: "up",
      target: 3,
    });
    expect(decideOnce({ runnable: 1, meanRunMs: undefined, busy: 3 }, waits)).toMatchObject({
      action: "hold",
      target: 2,
    });
  });

  test("jobs that a limit holds back, or that are due next week, do not count, and the reason says so", () => {
    const heldBack = { capped: 3_900, scheduled: 50_000 };
    const decision = decideOnce({ runnable: 200, heldBack, meanRunMs: 10_000, busy: 20 }, waits);
    expect(decision).toMatchObject({ action: "up", wanted: 7, target: 6 });
    expect(decision.reason).toContain("54100 wait, of which 200 count (3900 capped, 50000 scheduled)");
    expect(decideOnce({ runnable: 0, heldBack, busy: 0 }, waits)).toMatchObject({ action: "hold", target: 2 });
  });

  test("no new decision while children are starting: what is on its way counts first", () => {
    const decision = decideOnce({ current: 6, ready: 2, runnable: 6_000, busy: 20 }, waits);
    expect(decision).toMatchObject({ action: "suppressed", wanted: 20, target: 6 });
    expect(decision.reason).toContain("4 of 6 are still starting");
  });

  test("down only when both agree for the whole window, and one at a time", () => {
    // Idle by utilisation, but the wait still needs them: long jobs that arrive now and then.
    expect(simulate(60, () => ({ busy: 5, runnable: 0, arrivalsPerS: 4, meanRunMs: 10_000 }), waits, 4)).toEqual([]);
    const said = simulate(60, () => ({ busy: 2 }), waits, 4);
    expect(said.map(({ minute, action, target }) => [minute, action, target])).toEqual([
      [15, "down", 3],
      [31, "down", 2],
    ]);
  });

  test("several hosts share what there is to do", () => {
    const backlog = { runnable: 6_000, meanRunMs: 1_000, busy: 20 };
    expect(decideOnce({ ...backlog, hosts: 4 }, waits)).toMatchObject({ wanted: 5, target: 5 });
  });
});

describe("bounds have names", () => {
  const hungry = { current: 18, ready: 18, runnable: 7_800, meanRunMs: 1_000, busy: 180 };
  const waits = { policy: "targetWait", max: 30, stepMax: 30 } as const;

  test("connections, memory, the maximum: the tightest is named, and a decision that is cut or not taken is told", () => {
    const connections = { perChild: 5, max: 100 };
    expect(decideOnce(hungry, { ...waits, connections })).toMatchObject({
      action: "up",
      wanted: 26,
      target: 20,
      reason: expect.stringContaining("wanted 26, 20 by connections"),
    });
    expect(decideOnce({ ...hungry, current: 20, ready: 20, busy: 200 }, { ...waits, connections })).toMatchObject({
      action: "suppressed",
      wanted: 26,
      target: 20,
      reason: expect.stringContaining("wanted 26, 20 by connections"),
    });
    expect(decideOnce({ ...hungry, memory: { perChild: 100, max: 1_900 } }, waits)).toMatchObject({
      target: 19,
      reason: expect.stringContaining("19 by memory"),
    });
    expect(decideOnce(hungry, { ...waits, max: 22 })).toMatchObject({
      target: 22,
      reason: expect.stringContaining("22 by the maximum"),
    });
  });

  test("connections are those of one database, so hosts share them", () => {
    const connections = { perChild: 5, max: 100 };
    expect(decideOnce({ ...hungry, current: 4, ready: 4, hosts: 3 }, { ...waits, connections })).toMatchObject({
      target: 6,
      reason: expect.stringMatching(/6 by connections/),
    });
  });

  test("what was started beyond a cap shrinks, one at a time", () => {
    expect(decideOnce({ ...hungry, memory: { perChild: 100, max: 1_000 } }, waits)).toMatchObject({
      action: "down",
      target: 17,
      reason: "10 by memory",
    });
  });

  test("a pool that is below its minimum, or starts, begins at the least and not at the most", () => {
    expect(decideOnce({ current: 0, ready: 0 })).toMatchObject({ action: "up", target: 2, reason: "the minimum is 2" });
    expect(simulate(30, () => ({}), {}, 2)).toEqual([]);
  });

  test("what would be fewer than the minimum is told, once the window is over", () => {
    expect(decideOnce({ busy: 1 }, {}, { idleSinceMs: MONDAY - HOUR })).toMatchObject({
      action: "suppressed",
      wanted: 1,
      target: 2,
      reason: expect.stringContaining("2 by the minimum"),
    });
  });

  test("floors by time of day, in a zone: weekdays 8 to 18 four, at night the minimum", () => {
    const floors = checkFloors(
      [{ days: "mon-fri", from: "08:00", to: "18:00", timezone: "Europe/Madrid", minInstances: 4 }],
      10,
      "floors",
    );
    const said = simulate(24 * 60, () => ({}), { floors });
    expect(said.map(({ minute, target }) => [minute, target])).toEqual([
      [7 * 60, 4],
      [17 * 60, 3],
      [17 * 60 + 16, 2],
    ]);
    expect(said[0]!.reason).toBe("the floor mon-fri 08:00–18:00 Europe/Madrid is 4");
    // Saturday.
    expect(simulate(24 * 60, () => ({}), { floors }, 2, MONDAY + 5 * 24 * HOUR)).toEqual([]);
  });

  test("over midnight", () => {
    const floors = checkFloors([{ days: "fri", from: "22:00", to: "02:00", minInstances: 5 }], 10, "floors");
    const friday = MONDAY + 4 * 24 * HOUR;
    const floorAt = (hours: number) => decideOnce({ nowMs: friday + hours * HOUR }, { floors }).target;
    expect([21, 22, 25, 26].map(floorAt)).toEqual([2, 5, 5, 2]);
  });
});

describe("to zero and back", () => {
  const zero = { min: 0 };

  test("the last child ends when nothing runs and nothing waits for the whole window", () => {
    const said = simulate(40, (minute) => (minute < 5 ? { busy: 1 } : {}), zero, 1);
    expect(said.map(({ minute, target }) => [minute, target])).toEqual([[15, 0]]);
    expect(simulate(40, () => ({ busy: 1 }), zero, 1)).toEqual([]);
    expect(simulate(40, () => ({ runnable: 1 }), zero, 1)).toEqual([]);
  });

  test("one runnable job brings the first child back at once; one that is held back does not", () => {
    expect(decideOnce({ current: 0, ready: 0, runnable: 1 }, zero)).toMatchObject({ action: "up", target: 1 });
    expect(decideOnce({ current: 0, ready: 0, heldBack: { scheduled: 9 } }, zero)).toMatchObject({
      action: "hold",
      target: 0,
    });
    const decision = decideOnce(
      { current: 0, ready: 0, runnable: 600, meanRunMs: 1_000 },
      { ...zero, policy: "targetWait" },
    );
    expect(decision).toMatchObject({ action: "up", wanted: 2, target: 2 });
  });
});
