// Which lane is claimed next: fairness between lanes of one priority, priorities, and lanes whose limit is closed.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Probe } from "../../../src/core/claim/claim-statements.js";
import { add, LOWER_SHARE, newRing, Reference } from "./reference.js";

const tenants = (probes: readonly Probe[]) => probes.map(({ tenant }) => tenant);

describe("I9 C2: fairness between lanes of one priority", () => {
  test("backlogged lanes are served equally, at most one batch apart, at every moment and for every sequence of demands", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 30 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }),
        (laneCount, demands) => {
          const ring = newRing();
          const reference = new Reference();
          const names = Array.from({ length: laneCount }, (_, i) => `t${i}`);
          for (const tenant of names) reference.put(0, tenant, 3_000);
          add(ring, 0, ...names);
          const batchMax = Math.max(...demands);
          // The same demands again and again: an advantage that repeats itself would add up.
          for (const demand of [...demands, ...demands, ...demands]) {
            if (reference.claim(ring, demand) !== demand) throw new Error("A claim was short.");
            if (reference.spread(names) > batchMax) throw new Error(`${reference.spread(names)} jobs apart.`);
          }
        },
      ),
    );
  });

  test("with the same demand each time, backlogged lanes stay within one turn of each other", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 30 }), fc.integer({ min: 1, max: 40 }), (laneCount, demand) => {
        const ring = newRing();
        const reference = new Reference();
        const names = Array.from({ length: laneCount }, (_, i) => `t${i}`);
        for (const tenant of names) reference.put(0, tenant, 3_000);
        add(ring, 0, ...names);
        const turn = Math.ceil(demand / Math.min(laneCount, demand));
        for (let i = 0; i < 50; i++) {
          reference.claim(ring, demand);
          if (reference.spread(names) > turn) throw new Error(`${reference.spread(names)} jobs apart.`);
        }
      }),
    );
  });

  test("no lane starves: however lanes come and go, one that waits is served within two rounds of the ring", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 1, max: 30 })), {
          minLength: 5,
          maxLength: 40,
        }),
        fc.integer({ min: 1, max: 7 }),
        (arrivals, demand) => {
          const ring = newRing();
          const reference = new Reference();
          const waitedTurns = new Map<string, number>();
          for (const [lane, count] of arrivals) {
            const tenant = `t${lane}`;
            reference.put(0, tenant, count);
            add(ring, 0, tenant);
            const before = new Map(reference.served);
            reference.claim(ring, demand);
            for (let l = 0; l <= 9; l++) {
              const name = `0/t${l}`;
              const isServed = reference.count(name) > (before.get(name) ?? 0);
              waitedTurns.set(name, isServed || reference.left(name) === 0 ? 0 : (waitedTurns.get(name) ?? 0) + 1);
              if (waitedTurns.get(name)! > 2 * Math.ceil(10 / demand)) throw new Error(`${name} starves.`);
            }
          }
        },
      ),
    );
  });

  test("everything that waits is claimed in the end, and a claim is only short when nothing more waits", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            tenant: fc.integer({ min: 0, max: 5 }),
            priority: fc.constantFrom(0, 5, 10),
            count: fc.nat({ max: 40 }),
          }),
        ),
        fc.integer({ min: 1, max: 20 }),
        (lanes, demand) => {
          const ring = newRing();
          const reference = new Reference();
          let total = 0;
          for (const { tenant, priority, count } of lanes) {
            reference.put(priority, `t${tenant}`, count);
            add(ring, priority, `t${tenant}`);
            total += count;
          }
          let claimed = 0;
          // Every claim brings something or takes at least one empty lane out of the ring.
          for (let turns = 0; ring.size > 0; turns++) {
            if (turns > total + lanes.length) throw new Error("The ring does not get empty.");
            claimed += reference.claim(ring, demand);
          }
          expect(claimed).toBe(total);
        },
      ),
    );
  });
});

describe("B8: priorities", () => {
  test("higher goes first, and lower gets its guaranteed tenth, no more and no less", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 4 }), (demand, lanesEach) => {
        const ring = newRing();
        const reference = new Reference();
        for (let i = 0; i < lanesEach; i++) {
          reference.put(0, `low${i}`, 5_000);
          reference.put(10, `high${i}`, 5_000);
          add(ring, 0, `low${i}`);
          add(ring, 10, `high${i}`);
        }
        let claimed = 0;
        while (claimed < 1_000) claimed += reference.claim(ring, demand);
        const low = [...reference.served].filter(([name]) => name.startsWith("0/")).reduce((sum, [, n]) => sum + n, 0);
        expect(low).toBeGreaterThanOrEqual(claimed * LOWER_SHARE - demand * LOWER_SHARE - 2);
        expect(low).toBeLessThanOrEqual(claimed * LOWER_SHARE + 1);
      }),
    );
  });

  test("each of several lower priorities gets its tenth", () => {
    const ring = newRing();
    const reference = new Reference();
    for (const priority of [0, 3, 7, 9]) {
      reference.put(priority, "t", 10_000);
      add(ring, priority, "t");
    }
    for (let i = 0; i < 100; i++) reference.claim(ring, 20);
    for (const priority of [0, 3, 7]) expect(Math.abs(reference.count(`${priority}/t`) - 200)).toBeLessThanOrEqual(4);
    expect(reference.count("9/t")).toBeGreaterThanOrEqual(1_390);
  });

  test("however many priorities wait, the highest still gets the larger half, and the lowest is not forgotten", () => {
    const ring = newRing();
    const reference = new Reference();
    for (let priority = 0; priority < 30; priority++) {
      reference.put(priority, "t", 10_000);
      add(ring, priority, "t");
    }
    for (let i = 0; i < 200; i++) reference.claim(ring, 10);
    expect(reference.count("29/t")).toBeGreaterThanOrEqual(1_000);
    for (let priority = 0; priority < 29; priority++) expect(reference.count(`${priority}/t`)).toBeGreaterThan(10);
  });

  test("where nothing higher waits, a lower priority gets everything", () => {
    const ring = newRing();
    const reference = new Reference();
    reference.put(10, "high", 3);
    reference.put(0, "low", 100);
    add(ring, 10, "high");
    add(ring, 0, "low");
    expect(reference.claim(ring, 10)).toBe(10);
    expect(reference.count("0/low")).toBe(7);
    expect(reference.claim(ring, 10)).toBe(10);
  });

  test("no credit is gathered while nothing waits: who comes late has no claim on the past", () => {
    const ring = newRing();
    const reference = new Reference();
    reference.put(10, "high", 10_000);
    reference.put(0, "low", 1);
    add(ring, 10, "high");
    add(ring, 0, "low");
    for (let i = 0; i < 100; i++) reference.claim(ring, 10);
    const before = reference.count("0/low");
    reference.put(0, "low", 1_000);
    add(ring, 0, "low");
    for (let i = 0; i < 10; i++) reference.claim(ring, 10);
    expect(reference.count("0/low") - before).toBeLessThanOrEqual(11);
  });

  test("a share of nothing makes priorities strict", () => {
    const ring = newRing(0);
    const reference = new Reference();
    reference.put(10, "high", 500);
    reference.put(0, "low", 500);
    add(ring, 10, "high");
    add(ring, 0, "low");
    for (let i = 0; i < 49; i++) reference.claim(ring, 10);
    expect(reference.count("0/low")).toBe(0);
  });

  test("whatever the priorities, shares and demands, each lower one that waits throughout is served its share in time", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: -5, max: 5 }), { minLength: 2, maxLength: 4 }),
        fc.integer({ min: 1, max: 25 }),
        fc.double({ min: 0.02, max: 0.2, noNaN: true }),
        (priorities, demand, share) => {
          const ring = newRing(share);
          const reference = new Reference();
          for (const priority of priorities) {
            reference.put(priority, "t", 10_000);
            add(ring, priority, "t");
          }
          let claimed = 0;
          while (claimed < 500) claimed += reference.claim(ring, demand);
          const effective = Math.min(share, 0.5 / (priorities.length - 1));
          const top = Math.max(...priorities);
          for (const priority of priorities)
            if (priority !== top)
              expect(reference.count(`${priority}/t`)).toBeGreaterThanOrEqual(
                Math.floor((claimed - 2 * demand) * effective) - 1,
              );
        },
      ),
    );
  });
});

describe("limits", () => {
  test("100,000 lanes cost at most 1,000 probes a claim, and all of them get their turn", () => {
    const ring = newRing();
    for (let i = 0; i < 100_000; i++) ring.add({ priority: 0, tenant: `t${i}`, weight: 1 }, false);
    const seen = new Set<string>();
    for (let claims = 0; claims < 100; claims++) {
      const probes = ring.take(5_000);
      expect(probes.length).toBe(1_000);
      expect(probes.reduce((sum, { quantum }) => sum + quantum, 0)).toBe(5_000);
      for (const { tenant } of probes) seen.add(tenant);
      ring.report(
        probes,
        probes.map(({ quantum }) => quantum),
        probes.map(() => "1"),
        true,
      );
    }
    expect(seen.size).toBe(100_000);
  });

  test("lanes beyond the limit are left to the next scan", () => {
    const ring = newRing();
    for (let i = 0; i < 100_010; i++) ring.add({ priority: 0, tenant: `t${i}`, weight: 1 }, false);
    expect(ring.size).toBe(100_000);
    ring.clear();
    expect(ring.size).toBe(0);
    expect(ring.take(1)).toEqual([]);
  });

  test("many lower lanes never push the highest priority out of the probes", () => {
    const ring = newRing();
    add(ring, 10, "high");
    for (let i = 0; i < 5_000; i++) ring.add({ priority: 0, tenant: `t${i}`, weight: 1 }, false);
    for (let turn = 0; turn < 50; turn++) {
      const probes = ring.take(2_000);
      expect(tenants(probes)).toContain("high");
      ring.report(
        probes,
        probes.map(({ quantum }) => quantum),
        probes.map(() => "1"),
        true,
      );
    }
  });
});
