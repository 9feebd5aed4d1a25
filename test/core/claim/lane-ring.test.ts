// The ring against a small reference that answers probes as the database does: turns, floors, priorities, limits.
import { describe, expect, test } from "vitest";
import type { Probe } from "../../../src/core/claim/claim-statements.js";
import { add, newRing } from "./reference.js";

const tenants = (probes: readonly Probe[]) => probes.map(({ tenant }) => tenant);

describe("turns", () => {
  test("an empty ring proposes nothing", () => {
    expect(newRing().take(10)).toEqual([]);
  });

  test("the jobs are split evenly over the waiting lanes, what is left over goes to the first", () => {
    const ring = newRing();
    add(ring, 0, "a", "b", "c");
    expect(ring.take(8).map(({ tenant, quantum }) => [tenant, quantum])).toEqual([
      ["a", 3],
      ["b", 3],
      ["c", 2],
    ]);
  });

  test("more lanes than jobs: one job each for the first lanes", () => {
    const ring = newRing();
    add(ring, 0, "a", "b", "c", "d");
    expect(ring.take(2).map(({ tenant, quantum }) => [tenant, quantum])).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
  });

  test("a lane that gave all it was asked for goes to the end; one that gave less leaves", () => {
    const ring = newRing();
    add(ring, 0, "a", "b", "c");
    const probes = ring.take(3);
    ring.report(probes, [1, 0, 1], ["5", undefined, "7"], false);
    expect(tenants(ring.take(10))).toEqual(["a", "c"]);
    expect(ring.size).toBe(2);
  });

  test("a lane that is known keeps its turn when it is added again", () => {
    const ring = newRing();
    add(ring, 0, "a", "b");
    add(ring, 0, "a");
    expect(tenants(ring.take(5))).toEqual(["a", "b"]);
    expect(ring.size).toBe(2);
  });

  test("lanes that were not asked, because the claim was full before, keep their turn and their place", () => {
    const ring = newRing();
    add(ring, 0, "a", "b", "c", "d");
    const probes = ring.take(4);
    // The claim stopped at two: c and d were never looked at.
    ring.report(probes, [1, 1, 0, 0], ["1", "2", undefined, undefined], true);
    expect(tenants(ring.take(4))).toEqual(["c", "d", "a", "b"]);
  });

  test("the lane at which a full claim was cut stays in the ring, although it gave less than it was asked for", () => {
    const ring = newRing();
    add(ring, 0, "a", "b");
    const probes = ring.take(10);
    ring.report(probes, [5, 3], ["5", "8"], true);
    expect(ring.size).toBe(2);
  });
});

describe("floors", () => {
  test("a lane is probed from the last id that it gave", () => {
    const ring = newRing();
    add(ring, 0, "a");
    ring.report(ring.take(2), [2], ["17"], true);
    expect(ring.take(2)[0]!.floor).toBe("17");
  });

  test("a floor never sinks by a claim of older ids, beyond 2^53 too", () => {
    const ring = newRing();
    add(ring, 0, "a");
    ring.report(ring.take(1), [1], ["9007199254740993"], true);
    ring.report(ring.take(1), [1], ["9007199254740992"], true);
    expect(ring.take(1)[0]!.floor).toBe("9007199254740993");
  });

  test("news of a position below the floor lower it, other news do not", () => {
    const ring = newRing();
    add(ring, 0, "a");
    ring.report(ring.take(1), [1], ["17"], true);
    ring.add({ priority: 0, tenant: "a", weight: 1 }, false, "20");
    expect(ring.take(1)[0]!.floor).toBe("17");
    ring.add({ priority: 0, tenant: "a", weight: 1 }, false, "11");
    expect(ring.take(1)[0]!.floor).toBe("11");
  });

  test("a lane that is new begins at its first job", () => {
    const ring = newRing();
    ring.add({ priority: 0, tenant: "a", weight: 1 }, false, "20");
    expect(ring.take(1)[0]!.floor).toBe("20");
  });

  test("a scan has a known lane looked at from the bottom to its floor, which stays unless something is there", () => {
    const ring = newRing();
    add(ring, 0, "a");
    ring.report(ring.take(1), [1], ["17"], true);
    ring.proved(ring.doubts(9), new Map());
    ring.add({ priority: 0, tenant: "a", weight: 1 }, true);
    const doubts = ring.doubts(9);
    expect(doubts).toMatchObject([{ low: "0", ceiling: "17" }]);
    expect(ring.take(1)[0]!.floor).toBe("17");
    ring.proved(doubts, new Map([[0, "5"]]));
    expect(ring.take(1)[0]!.floor).toBe("4");
  });
});

describe("lanes that are not proved", () => {
  const end = "9223372036854775807";

  test("what was claimed is looked at once, from where the last look ended", () => {
    const ring = newRing();
    ring.add({ priority: 0, tenant: "a", weight: 1 }, false, "9");
    ring.report(ring.take(2), [2], ["17"], true);
    const doubts = ring.doubts(9);
    expect(doubts).toMatchObject([{ low: "9", ceiling: "17" }]);
    ring.proved(doubts, new Map());
    expect(ring.doubts(9)).toEqual([]);
    ring.report(ring.take(2), [2], ["25"], true);
    expect(ring.doubts(9)).toMatchObject([{ low: "17", ceiling: "25" }]);
  });

  test("a lane that left is looked at to its end: found empty it is forgotten, found ready it has a turn", () => {
    const ring = newRing();
    for (const tenant of ["a", "b"]) ring.add({ priority: 0, tenant, weight: 1 }, false, "9");
    ring.report(ring.take(4), [1, 0], ["17", undefined], false);
    expect(ring.size).toBe(0);
    const doubts = ring.doubts(9);
    expect(doubts).toMatchObject([
      { low: "9", ceiling: end },
      { low: "9", ceiling: end },
    ]);
    ring.proved(doubts, new Map([[0, "13"]]));
    expect(ring.take(4)).toMatchObject([{ tenant: "a", floor: "12" }]);
    add(ring, 0, "b");
    expect(ring.take(4).find(({ tenant }) => tenant === "b")!.floor).toBe("0");
  });

  test("a lane that ran empty and has a job again begins there; what others took in between is looked at, even if it was proved up to its floor", () => {
    const ring = newRing();
    ring.add({ priority: 0, tenant: "a", weight: 1 }, false, "9");
    ring.report(ring.take(2), [1], ["17"], false);
    const doubts = ring.doubts(9);
    ring.add({ priority: 0, tenant: "a", weight: 1 }, false, "40");
    expect(ring.take(1)[0]!.floor).toBe("40");
    // The look that was under way says nothing of the new floor.
    ring.proved(doubts, new Map());
    expect(ring.doubts(9)).toMatchObject([{ low: "9", ceiling: "40" }]);
  });

  test("a job that comes back while the look is under way is not proved away", () => {
    for (const id of ["12", "5"]) {
      const ring = newRing();
      ring.add({ priority: 0, tenant: "a", weight: 1 }, false, "9");
      ring.report(ring.take(2), [2], ["17"], true);
      const doubts = ring.doubts(9);
      ring.returned({ priority: 0, tenant: "a" }, id);
      ring.proved(doubts, new Map());
      expect(ring.take(1)[0]!.floor).toBe(String(Number(id) - 1));
      // A claim that was under way already raises the floor above it.
      ring.report(ring.take(1), [1], ["20"], true);
      expect(BigInt(ring.doubts(9)[0]!.low)).toBeLessThan(BigInt(id));
    }
  });

  test("a look that failed is made again", () => {
    const ring = newRing();
    add(ring, 0, "a");
    ring.report(ring.take(2), [1], ["17"], false);
    ring.stillDoubted(ring.doubts(9));
    expect(ring.doubts(9)).toHaveLength(1);
  });

  test("lanes that left count towards the limit of lanes and make room for others; then the ring is not complete", () => {
    const ring = newRing();
    for (let n = 0; n < 100_000; n++) add(ring, 0, `t${n}`);
    expect(ring.isComplete).toBe(true);
    const probes = ring.take(1_000);
    ring.report(
      probes,
      probes.map(() => 0),
      probes.map(() => undefined),
      false,
    );
    for (let n = 0; n < 1_000; n++) add(ring, 0, `new${n}`);
    expect(ring.isComplete).toBe(false);
    expect(ring.size).toBe(100_000);
    expect(ring.doubts(200_000)).toEqual([]);
    add(ring, 0, "one too many");
    expect(ring.size).toBe(100_000);
    ring.scanBegins();
    expect(ring.isComplete).toBe(true);
  });
});
