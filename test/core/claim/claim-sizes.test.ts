// How much one claim takes where limits and weights have a say: its size is bounded, and what it leaves is asked for again.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { TcpProxy } from "../../support/tcp-proxy.js";
import { claimerRig, limitsRig, WORKER } from "./rig.js";

const db = useDatabase();
const { newClaimer, put } = claimerRig(db);
const { setLimits, exhaust, refill } = limitsRig(db);

const CLAIMS = "from fairmill.claim_lanes_v1";

async function watched(options: Parameters<typeof newClaimer>[0] = {}) {
  const proxy = await TcpProxy.before(db.url);
  return { proxy, ...(await newClaimer({ ...options, url: proxy.url })) };
}

/** No scan comes by itself. */
const NEVER = { rescanMs: Number.POSITIVE_INFINITY };

describe("a big claim", () => {
  test("is one statement; it reports what is held, and the lane is parked", async () => {
    const { claimer, claim, proxy } = await watched();
    await setLimits("tenant", "a", { paused: true });
    const ids = await put(3_000);
    expect(await claim(2_000)).toEqual([]);
    expect(proxy.count(CLAIMS)).toBe(1);
    // The first news are more than they can list, and make the claimer look again.
    expect(await claim(2_000)).toEqual([]);
    expect(claimer.hasWork()).toBe(false);
    await setLimits("tenant", "a", { paused: false });
    claimer.markStale();
    expect(await claim(2_000)).toEqual(ids.slice(0, 2_000));
  });

  test("parks all lanes of a kind that is held back, and forgets none", async () => {
    const { claimer, clock, claim } = await newClaimer({ ...NEVER, kinds: ["job", "mail"] });
    await exhaust("kind", "mail");
    const mails = [...(await put(5, { kind: "mail", tenant: "a" })), ...(await put(5, { kind: "mail", tenant: "b" }))];
    const jobs = [...(await put(5, { tenant: "a" })), ...(await put(5, { tenant: "b" }))];
    expect((await claim(2_000)).toSorted((a, b) => a - b)).toEqual(jobs);
    expect(await claim(2_000)).toEqual([]);
    expect(claimer.hasWork()).toBe(false);
    await refill("kind", "mail");
    clock.pass(claimer.opensInMs());
    expect([...(await claim(2_000)), ...(await claim(2_000))].toSorted((a, b) => a - b)).toEqual(mails);
  });

  test.each(["a", "b"])("reports what is held of one of two lanes: %s", async (tenant) => {
    const { claimer, claim } = await newClaimer();
    await exhaust("tenant", tenant);
    await put(5, { tenant: "a" });
    await put(5, { tenant: "b" });
    expect(await claim(2_000)).toHaveLength(5);
    expect(await claim(2_000)).toEqual([]);
    expect(claimer.hasWork()).toBe(false);
    expect(claimer.opensInMs()).toBeGreaterThan(3_500_000);
  });

  test("of a held queue closes it", async () => {
    const { claimer, claim } = await newClaimer();
    await exhaust("queue", "default");
    await put(10, { tenant: "a" });
    await put(10, { tenant: "b" });
    expect(await claim(2_000)).toEqual([]);
    expect(await claim(2_000)).toEqual([]);
    expect(claimer.hasWork()).toBe(false);
    expect(claimer.opensInMs()).toBeGreaterThan(3_500_000);
  });

  test("B8: a higher priority with enough jobs leaves nothing to a lower one but its share", async () => {
    const { claimer } = await newClaimer();
    await put(3_000, { tenant: "high", priority: 5 });
    await put(3_000, { tenant: "low" });
    const claims = await claimer.claim(WORKER, new Map([["default", 2_000]]));
    expect(claims).toHaveLength(2_000);
    expect(claims.filter(({ tenant }) => tenant === "low")).toHaveLength(0);
  });
});

describe("F8: weights", () => {
  test("come with scans and with news, and decide how many jobs of each tenant are claimed", async () => {
    const { claimer } = await newClaimer();
    const weights = { a: 1, b: 2, c: 5 };
    for (const [tenant, weight] of Object.entries(weights)) await setLimits("tenant", tenant, { weight });
    await put(1_000, { tenant: "a" });
    await put(1_000, { tenant: "b" });
    const served: Record<string, number> = { a: 0, b: 0, c: 0 };
    const claim = async (jobsMax: number) => {
      for (const { tenant } of await claimer.claim(WORKER, new Map([["default", jobsMax]]))) served[tenant]!++;
    };
    await claim(3);
    await claim(3);
    expect(served).toEqual({ a: 2, b: 4, c: 0 });
    await put(150, { tenant: "c" });
    // This one hears of it at the latest; a scan may have found it before, where another transaction of the cluster asks for one.
    await claim(3);
    const before = { ...served };
    for (let i = 0; i < 10; i++) await claim(16);
    const share = (tenant: string) => served[tenant]! - before[tenant]!;
    expect(share("a") + share("b") + share("c")).toBe(160);
    for (const [tenant, fair] of Object.entries({ a: 20, b: 40, c: 100 }))
      expect(Math.abs(share(tenant) - fair), `jobs of ${tenant}: ${share(tenant)}, fair are ${fair}`).toBeLessThan(5);
  });

  test("a big claim in halves keeps to them as well", async () => {
    const { claimer } = await newClaimer();
    await setLimits("tenant", "heavy", { weight: 9 });
    await put(3_000, { tenant: "heavy" });
    await put(3_000, { tenant: "light" });
    const claims = await claimer.claim(WORKER, new Map([["default", 2_000]]));
    expect(claims).toHaveLength(2_000);
    expect(claims.filter(({ tenant }) => tenant === "heavy")).toHaveLength(1_800);
  });
});

describe("C2: a claim is bounded", () => {
  test("in all and per tenant, over all priorities of the tenant and both halves", async () => {
    const { claimer } = await newClaimer({ jobsMax: 1_500, tenantJobsMax: 25 });
    for (const tenant of ["a", "b", "c"]) for (const priority of [0, 3]) await put(100, { tenant, priority });
    for (let i = 0; i < 3; i++) {
      const claims = await claimer.claim(WORKER, new Map([["default", 2_000]]));
      const counts = ["a", "b", "c"].map((tenant) => claims.filter((claim) => claim.tenant === tenant).length);
      expect(counts).toEqual([25, 25, 25]);
    }
    expect(claimer.hasWork()).toBe(true);
  });

  test("one lane that both halves ask gives no more than its tenant may have", async () => {
    const { claim } = await newClaimer({ tenantJobsMax: 1_001 });
    await put(3_000);
    expect(await claim(1_500)).toHaveLength(1_001);
  });

  test("at the demand where that is less", async () => {
    const { claim } = await newClaimer({ jobsMax: 7 });
    await put(100);
    expect(await claim(5)).toHaveLength(5);
    expect(await claim(50)).toHaveLength(7);
  });
});
