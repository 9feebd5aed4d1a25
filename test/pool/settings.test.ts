// Requirement D6: the settings of a pool: unknown, malformed and contradictory ones are refused by name, before anything is started.
import { createSupervisor, defineConfig } from "fairmill";
import type { PoolOptions } from "fairmill/pool";
import { describe, expect, test } from "vitest";
import { stuckPart } from "../../src/pool/health.js";
import { CHILD_STATES, CHILD_TRANSITIONS, judgeExit, mayFollow } from "../../src/pool/life-cycle.js";
import { arrivalsSince } from "../../src/pool/scale/scaler.js";

test("the paper's configuration is taken", () => {
  expect(() =>
    defineConfig({
      worker: { minInstances: 2, maxInstances: 10, healthCheckInterval: "30s", maxConsecutiveFailures: 3 },
    }),
  ).not.toThrow();
});

test.each([
  [{ minInstance: 2 }, /unknown setting "minInstance". Did you mean "minInstances"\?/],
  [{ minInstances: 5, maxInstances: 3 }, /minInstances: 5 is more than maxInstances, which is 3/],
  [{ minInstances: -1 }, /minInstances: -1 is not a whole number/],
  [{ maxInstances: 0 }, /maxInstances: 0 is not a whole number from 1/],
  [{ healthCheckInterval: "soon" }, /healthCheckInterval: "soon" is not a duration/],
  [{ hangTimeout: 5 }, /hangTimeout: 5 is less than 500 ms/],
  [{ maxConsecutiveFailures: 0 }, /maxConsecutiveFailures/],
  [{ policy: "magic" }, /policy: "magic" is not one of/],
  [{ allocation: "random" }, /allocation: "random" is not one of "round-robin"/],
  [{ idleBelow: 0.9 }, /idleBelow: must be less than busyAbove/],
  [{ busyAbove: 2 }, /busyAbove: 2 is not a part between 0 and 1/],
  [{ connections: { perChild: 5, max: 8 } }, /connections: 2 children \(minInstances\) with 5 each need more than 8/],
  [{ recycle: { jobs: 0 } }, /recycle.jobs/],
  [{ recycle: { hours: 1 } }, /unknown setting "hours"/],
  [{ floors: [{ from: "8", to: "18:00", minInstances: 1 }] }, /floors\[0\].from: "8" is not a time of day/],
  [{ floors: [{ days: "mo-fr", from: "08:00", to: "18:00", minInstances: 1 }] }, /days: "mo-fr" names no days/],
  [{ floors: [{ from: "08:00", to: "18:00", timezone: "Mars/Base", minInstances: 1 }] }, /timezone/],
  [{ floors: [{ from: "08:00", to: "18:00", minInstances: 99 }] }, /minInstances: 99/],
  [{ graceByKind: [] }, /graceByKind/],
  [{ target: "cloud" }, /target: "cloud"/],
  [{ target: { kubernetes: { deploy: "x" } } }, /unknown setting "deploy"/],
  [{ execArgv: "--inspect" }, /execArgv/],
  [{ targetWait: "20s" }, /targetWait: is of the policy "targetWait", and the policy is "utilisation"/],
  [{ policy: "utilisation", stepMax: 2 }, /stepMax: is of the policy "targetWait"/],
  [{ busyFor: "-5m" }, /busyFor: "-5m" is not a duration/],
  [{ idleFor: -1 }, /idleFor: -1 is not a duration/],
  [{ target: {} }, /target: name one of kubernetes and external/],
  [{ target: { kubernetes: { deployment: "mill" }, external: {} } }, /target: name one of/],
  [{ target: { external: { childrenPerPod: 0 } } }, /external.childrenPerPod: 0/],
  [{ target: { kubernetes: { deployment: "mill" } }, minInstances: 0 }, /minInstances: 0 would end the last pod/],
  [{ target: { external: {} }, memoryBytesMax: 1e9 }, /memoryBytesMax: is of children of one host/],
  [
    { target: { external: { childrenPerPod: 4 } }, connections: { perChild: 5, max: 30 } },
    /8 children \(minInstances\) with 5 each need more than 30/,
  ],
] as [unknown, RegExp][])("%j is refused", (worker, message) => {
  expect(() => defineConfig({ worker: worker as PoolOptions })).toThrow(message);
});

test("a supervisor needs a module, and refuses what it does not know", () => {
  expect(() => createSupervisor({ module: 7 as never })).toThrow(/module: 7 is not a path/);
  expect(() => createSupervisor({ module: "x.js", instances: 4 } as never)).toThrow(/unknown setting "instances"/);
  expect(() => createSupervisor({ module: "x.js", worker: { minInstances: "two" as never } })).toThrow(/minInstances/);
  // These may well fit the config, which is read later, as is whether the file is there.
  const part = { targetWait: "5s", idleBelow: 0.85, connections: { perChild: 50, max: 60 } } as const;
  expect(() => createSupervisor({ module: "x.js", worker: part })).not.toThrow();
});

test("a module that is not there is named when the supervisor starts", async () => {
  await expect(createSupervisor({ module: "/nowhere/x.js" }).start()).rejects.toMatchObject({
    code: "FAIRMILL_CONFIG",
    message: "module: there is no file /nowhere/x.js.",
  });
});

test.each([
  [{ minInstances: 5, maxInstances: 2 }, /createSupervisor: worker.minInstances: 5 is more than maxInstances/],
  [{ idleBelow: 0.7, busyAbove: 0.6 }, /idleBelow: must be less than busyAbove/],
  [{ maxInstances: 3, floors: [{ from: "08:00", to: "18:00", minInstances: 4 }] }, /floors\[0\].minInstances: 4/],
] as [PoolOptions, RegExp][])(
  "%j contradicts itself whatever the config adds, and is refused at once",
  (worker, message) => {
    expect(() => createSupervisor({ module: "x.js", worker })).toThrow(message);
  },
);

describe("the life of a child as a table", () => {
  test("leads from a start to an end, and from failed back to ready", () => {
    expect(CHILD_STATES).toEqual(["idle", "ready", "working", "failed", "terminated"]);
    expect(mayFollow("failed", "ready")).toBe(true);
    expect(mayFollow("terminated", "ready")).toBe(false);
    expect(mayFollow("idle", "working")).toBe(false);
    for (const nexts of Object.values(CHILD_TRANSITIONS))
      for (const next of nexts) expect(CHILD_STATES).toContain(next);
  });

  test("how a process ended says what it costs", () => {
    expect(judgeExit({ code: 0, signal: null, ended: { kind: "wanted", reason: "recycled" } })).toEqual({
      kind: "wanted",
      reason: "recycled",
    });
    expect(judgeExit({ code: null, signal: "SIGABRT" }).kind).toBe("out of memory");
    expect(judgeExit({ code: null, signal: "SIGKILL" })).toEqual({ kind: "crash", reason: "killed by SIGKILL" });
    expect(judgeExit({ code: 0, signal: null })).toEqual({ kind: "crash", reason: "exit code 0" });
    expect(judgeExit({ code: 1, signal: null, said: { type: "unable", message: "no config" } }).kind).toBe("unable");
  });
});

test("liveness is progress: the part that has not succeeded for too long is stuck, and no claim is missed where there is no room", () => {
  const facts = { nowMs: 100_000, stuckMs: 30_000, mayClaim: true };
  const seen = (claim: number, upkeep: number, heartbeat: number) => ({ claim, upkeep, heartbeat });
  expect(stuckPart({ ...facts, seenAtMs: seen(99_000, 95_000, 98_000) })).toBeUndefined();
  expect(stuckPart({ ...facts, seenAtMs: seen(1, 95_000, 98_000) })).toBe("claim");
  expect(stuckPart({ ...facts, mayClaim: false, seenAtMs: seen(1, 95_000, 98_000) })).toBeUndefined();
  expect(stuckPart({ ...facts, seenAtMs: seen(99_000, 1, 98_000) })).toBe("upkeep");
  expect(stuckPart({ ...facts, seenAtMs: seen(99_000, 99_000, 1) })).toBe("heartbeat");
  // Of several the one that has been silent for longest.
  expect(stuckPart({ ...facts, seenAtMs: seen(3, 2, 1) })).toBe("heartbeat");
  expect(stuckPart({ ...facts, seenAtMs: seen(1, 2, 3) })).toBe("claim");
});

test("arrivals are what was claimed and what the backlog grew by; a worker that ended is no negative arrival", () => {
  const look = (atMs: number, claimed: number, runnable: number) => ({
    atMs,
    fleet: { claimed, backlog: { runnable } },
  });
  expect(arrivalsSince(undefined, look(0, 5, 5))).toBeUndefined();
  expect(arrivalsSince(look(0, 100, 10), look(10_000, 150, 30))).toBe(7);
  expect(arrivalsSince(look(0, 100, 10), look(10_000, 40, 30))).toBe(2);
  expect(arrivalsSince(look(0, 100, 100), look(10_000, 120, 0))).toBe(0);
});
