// What is counted of an interval is bounded, and adds up.
import { expect, test } from "vitest";
import { BUCKETS_MS, bucketOf } from "../../src/base/histogram-buckets.js";
import type { Claim } from "../../src/core/job/claim.js";
import { Figures } from "../../src/intervals/figures.js";
import { Sample } from "../../src/intervals/sample.js";

const claimOf = (id: number, tenant: string, kind = "work") => ({ id: String(id), tenant, kind }) as Claim;
const clock = { random: Math.random };
const sum = (values: Iterable<number>) => [...values].reduce((total, one) => total + one, 0);

test("of 100,000 tenants the 50 largest are named, all others are one, and the sum is right", () => {
  const figures = new Figures(clock);
  const claims = Array.from({ length: 100_000 }, (_, n) => claimOf(n, n % 4 === 0 ? `big${n % 40}` : `t${n}`));
  figures.claimed(claims);
  for (const claim of claims) figures.ended(claim, { verdict: "done", result: undefined }, 1);
  const { tenant_jobs: tenants, tenants: shares, sample, kinds } = figures.facts();
  expect(Object.keys(tenants)).toHaveLength(51);
  expect(sum(Object.values(tenants))).toBe(100_000);
  for (let n = 0; n < 40; n += 4) expect(tenants[`big${n}`]).toBe(2_500);
  expect(shares[""]).toMatchObject({ claimed: expect.any(Number), runs: expect.any(Number) });
  expect(sample).toHaveLength(200);
  expect(kinds["work"]).toMatchObject({ done: 100_000, runs: 100_000, run_hist: [100_000] });
  expect(JSON.stringify(figures.facts()).length).toBeLessThan(20_000);
});

test("every verdict is counted for what it is", () => {
  const figures = new Figures(clock);
  const error = { name: "Error", message: "no" };
  figures.ended(claimOf(1, "a"), { verdict: "done", result: 1 }, 3);
  figures.ended(claimOf(2, "a"), { verdict: "retry", outcome: "failed", error, delayMs: 1 }, 30);
  figures.ended(claimOf(3, "a"), { verdict: "dead", outcome: "failed", error }, 300);
  figures.ended(claimOf(4, "a"), { verdict: "release", yields: true }, 3_000);
  figures.ended(claimOf(5, "a"), { verdict: "release" }, 400_000);
  figures.ended(claimOf(6, "a"), { verdict: "cancelled" }, 1);
  expect(figures.facts()).toMatchObject({
    ...{ jobs_processed: 6, jobs_succeeded: 1, jobs_failed: 2, jobs_dead: 1, jobs_released: 2, jobs_yielded: 1 },
    kinds: { work: { done: 1, failed: 2, dead: 1, runs: 6, run_hist: [2, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1] } },
    tenants: { a: { runs: 6, failed: 2 } },
  });
});

test("a bucket's bound belongs to it", () => {
  for (const [i, bound] of BUCKETS_MS.entries()) {
    expect(bucketOf(bound)).toBe(i);
    expect(bucketOf(bound + 0.001)).toBe(i + 1);
  }
});

test("every value is as likely in a sample as any other", () => {
  const hits = new Array<number>(1_000).fill(0);
  for (let round = 0; round < 500; round++) {
    const sample = new Sample<number>(clock, 100);
    for (let n = 0; n < 1_000; n++) sample.add(n);
    for (const n of sample.values) hits[n]!++;
  }
  // 50 hits each on average; a tenth of the values together vary by less than a tenth.
  for (let from = 0; from < 1_000; from += 100) {
    const tenth = sum(hits.slice(from, from + 100));
    expect(tenth).toBeGreaterThan(4_500);
    expect(tenth).toBeLessThan(5_500);
  }
});
