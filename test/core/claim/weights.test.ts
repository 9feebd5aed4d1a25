// F8: weighted tenants. Shares are exact in the long run, whatever the weights and the sizes of the claims.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { newRing, Reference } from "./reference.js";

const JOBS = 20_000;

/** Backlogged lanes of these weights; names are t0, t1, … */
function backlog(weights: readonly number[], jobsEach = JOBS, tenantJobsMax?: number) {
  const ring = newRing(0.1, tenantJobsMax);
  const reference = new Reference();
  for (const [i, weight] of weights.entries()) {
    reference.put(0, `t${i}`, jobsEach);
    ring.add({ priority: 0, tenant: `t${i}`, weight }, false);
  }
  return { ring, reference, served: () => weights.map((_, i) => reference.count(`0/t${i}`)) };
}

const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);

describe("F8: lanes of one priority are served in proportion to their weights", () => {
  test("after every claim two lanes are at most one job of each apart, whatever the weights and demands", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.01, max: 1_000, noNaN: true }), { minLength: 2, maxLength: 12 }),
        fc.array(fc.constantFrom(1, 2, 3, 7, 10, 64, 333), { minLength: 1, maxLength: 30 }),
        (weights, demands) => {
          const { ring, reference, served } = backlog(weights, 6_000);
          for (let jobs = 0, i = 0; jobs < 3_000; i++) {
            const demand = demands[i % demands.length]!;
            if (reference.claim(ring, demand) !== demand) throw new Error("A claim was short.");
            jobs += demand;
            const rounds = served().map((count, lane) => count / weights[lane]!);
            // A job of a lane is 1/weight of a round.
            for (const [a, one] of rounds.entries())
              for (const [b, other] of rounds.entries())
                if (one - other > 1 / weights[a]! + 1 / weights[b]! + 1e-6)
                  throw new Error(`${a} is ${one - other} rounds before ${b}.`);
          }
        },
      ),
    );
  });

  test.each([1, 3, 10, 200, 2_000])(
    "claims of %d: weights 1, 2 and 5 get their shares within 2 % of 10,000 jobs",
    (demand) => {
      const weights = [1, 2, 5];
      const { ring, reference, served } = backlog(weights);
      for (let jobs = 0; jobs < 10_000; ) jobs += reference.claim(ring, demand);
      for (const [i, count] of served().entries()) {
        const fair = (sum(served()) * weights[i]!) / 8;
        expect(Math.abs(count - fair) / fair).toBeLessThan(0.02);
      }
    },
  );

  test("weights between 0.01 and 1000 stand beside each other: none starves, none comes in bursts", () => {
    const { ring, reference, served } = backlog([1_000, 1_000, 10, 0.01], 300_000);
    for (let jobs = 0; jobs < 201_001; jobs += 10) {
      reference.claim(ring, 10);
      // Two of the same weight take turns, whatever the weight.
      expect(Math.abs(served()[0]! - served()[1]!)).toBeLessThanOrEqual(1);
    }
    expect(Math.abs(served()[2]! - 1_000)).toBeLessThanOrEqual(2);
    expect(served()[3]).toBeLessThanOrEqual(2);
    for (let jobs = 0; jobs < 3 * 201_001; jobs += 10_000) reference.claim(ring, 10_000);
    expect(served()[3]).toBeGreaterThanOrEqual(1);
  });

  test.each([0.01, 0.3, 1, 5, 1_000])(
    "fifty lanes that all weigh %d get the same: Jain's index is at least 0.99",
    (weight) => {
      const { ring, reference, served } = backlog(Array.from({ length: 50 }, () => weight));
      for (let jobs = 0, i = 0; jobs < 5_000; i++) jobs += reference.claim(ring, [1, 3, 10, 77][i % 4]!);
      const counts = served();
      expect(sum(counts) ** 2 / (50 * sum(counts.map((count) => count ** 2)))).toBeGreaterThanOrEqual(0.99);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    },
  );

  test("a claim of 10 over 100,000 lanes of all weights looks at 10 of them", () => {
    const ring = newRing();
    for (let i = 0; i < 100_000; i++)
      ring.add({ priority: 0, tenant: `t${i}`, weight: [0.01, 1, 1_000][i % 3]! }, false);
    for (let claims = 0; claims < 1_000; claims++) {
      const probes = ring.take(10);
      expect(sum(probes.map(({ quantum }) => quantum))).toBe(10);
      expect(probes.length).toBeLessThanOrEqual(10);
      const counts = probes.map(({ quantum }) => quantum);
      ring.report(
        probes,
        counts,
        probes.map(() => "1"),
        true,
      );
    }
  });
});

describe("no credit for the past", () => {
  test("a lane that ran dry and comes back gets its share from now on, and no more", () => {
    const { ring, reference } = backlog([1, 1]);
    reference.put(0, "late", 1);
    ring.add({ priority: 0, tenant: "late", weight: 1 }, false);
    for (let i = 0; i < 500; i++) reference.claim(ring, 10);
    expect(reference.count("0/late")).toBe(1);
    reference.put(0, "late", 1_000);
    ring.add({ priority: 0, tenant: "late", weight: 1 }, false);
    for (let i = 0; i < 30; i++) reference.claim(ring, 10);
    expect(Math.abs(reference.count("0/late") - 101)).toBeLessThanOrEqual(2);
  });

  test("who comes and goes with single jobs gets no more than who waits throughout, also beside a very light lane", () => {
    const { ring, reference, served } = backlog([1, 1, 0.01]);
    for (let i = 0; i < 300; i++) {
      reference.put(0, "guest", 1);
      ring.add({ priority: 0, tenant: "guest", weight: 1 }, false);
      reference.claim(ring, 1);
      reference.claim(ring, 1);
    }
    expect(reference.count("0/guest")).toBeLessThanOrEqual(served()[0]! + 2);
  });

  test("what a lane cannot use goes to the others by their weights", () => {
    const { ring, reference, served } = backlog([1, 3]);
    reference.put(0, "short", 10);
    ring.add({ priority: 0, tenant: "short", weight: 1_000 }, false);
    for (let i = 0; i < 400; i++) reference.claim(ring, 10);
    expect(reference.count("0/short")).toBe(10);
    expect(Math.abs(served()[1]! - 3 * served()[0]!)).toBeLessThanOrEqual(4);
  });
});

test("a weight that changes counts from then on", () => {
  const { ring, reference, served } = backlog([1, 1]);
  for (let i = 0; i < 100; i++) reference.claim(ring, 10);
  expect(served()).toEqual([500, 500]);
  ring.add({ priority: 0, tenant: "t1", weight: 4 }, false);
  for (let i = 0; i < 100; i++) reference.claim(ring, 10);
  expect(Math.abs(served()[0]! - 700)).toBeLessThanOrEqual(2);
});

describe("C2: at most so many jobs of one tenant in one claim", () => {
  test("over all its priorities, and the others get what it leaves", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 200 }),
        fc.array(fc.double({ min: 0.01, max: 1_000, noNaN: true }), { minLength: 1, maxLength: 8 }),
        (tenantMax, demand, weights) => {
          const ring = newRing(0.1, tenantMax);
          for (const priority of [0, 5, 9])
            for (const [i, weight] of weights.entries()) ring.add({ priority, tenant: `t${i}`, weight }, false);
          for (let claims = 0; claims < 10; claims++) {
            const probes = ring.take(demand);
            const asked = new Map<string, number>();
            for (const { tenant, quantum } of probes) asked.set(tenant, (asked.get(tenant) ?? 0) + quantum);
            for (const count of asked.values()) expect(count).toBeLessThanOrEqual(tenantMax);
            const total = sum([...asked.values()]);
            expect(total).toBeGreaterThanOrEqual(Math.min(demand, tenantMax * weights.length));
            const counts = probes.map(({ quantum }) => quantum);
            ring.report(
              probes,
              counts,
              probes.map(() => "1"),
              total >= demand,
            );
          }
        },
      ),
    );
  });

  test("FAIR1: 200 jobs in all and 25 per tenant: one with 1,000 waiting gets 25, and nothing of it later", () => {
    const { ring, reference, served } = backlog([1], 1_000, 25);
    for (let claims = 0; claims < 20; claims++) expect(reference.claim(ring, 200)).toBe(25);
    reference.put(0, "other", 1_000);
    ring.add({ priority: 0, tenant: "other", weight: 1 }, false);
    const before = served()[0]!;
    for (let claims = 0; claims < 20; claims++) expect(reference.claim(ring, 10)).toBe(10);
    expect(Math.abs(served()[0]! - before - 100)).toBeLessThanOrEqual(1);
  });

  test("a heavy tenant that is cut in every claim gathers no credit", () => {
    const { ring, reference, served } = backlog([100, 1], JOBS, 25);
    for (let claims = 0; claims < 100; claims++) reference.claim(ring, 50);
    expect(served()).toEqual([2_500, 2_500]);
    reference.put(0, "t2", 1_000);
    ring.add({ priority: 0, tenant: "t2", weight: 100 }, false);
    const before = served()[0]!;
    for (let claims = 0; claims < 40; claims++) reference.claim(ring, 10);
    expect(Math.abs(reference.count("0/t2") - (served()[0]! - before))).toBeLessThanOrEqual(2);
  });
});
