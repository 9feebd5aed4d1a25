// The claimer when limits hold jobs back: a lane that is held back costs nothing until it is worth asking again, and none is forgotten.
import { describe, expect, test } from "vitest";
import type { Claim } from "../../../src/core/job/claim.js";
import { useDatabase } from "../../support/database.js";
import { TcpProxy } from "../../support/tcp-proxy.js";
import { claimerRig, limitsRig, numbers, RESCAN_MS, WORKER } from "./rig.js";

const db = useDatabase();
const { newClaimer, put } = claimerRig(db);
const { setLimits, exhaust, refill } = limitsRig(db);

const CLAIMS = "from fairmill.claim_lanes_v1";
const SCANS = "from fairmill.lanes_v1";

async function watched(options: Parameters<typeof newClaimer>[0] = {}) {
  const proxy = await TcpProxy.before(db.url);
  return { proxy, ...(await newClaimer({ ...options, url: proxy.url })) };
}

/** No scan comes by itself. */
const NEVER = { rescanMs: Number.POSITIVE_INFINITY };

/** Ends a job, as a worker does, and says so. */
const settle = (id: number) =>
  db.query(
    "select fairmill.settle_v1($1, array[$2::bigint], (select array_agg(j.lease_no) from fairmill.job j where j.id = $2), '{done}')",
    [WORKER, id],
  );
const ended = (tenant: string, kind = "job", queue = "default") => [{ queue, tenant, kind } as Claim];

describe("a tenant at its cap", () => {
  test("is not asked again while the others go on, and nothing is left to do when they are done", async () => {
    const { claimer, claim } = await newClaimer();
    await setLimits("tenant", "big", { max_running: 2 });
    await put(1_000, { tenant: "big" });
    const small = await put(6, { tenant: "small" });
    expect(await claim(8)).toHaveLength(6);
    expect(await claim(8)).toEqual(small.slice(4));
    expect(await claim(8)).toEqual([]);
    expect(claimer.hasWork()).toBe(false);
    expect(claimer.opensInMs()).toBe(2_000);
  });

  test("goes on when a job of it ends here, without a scan", async () => {
    const { claimer, claim, proxy } = await watched();
    await setLimits("tenant", "big", { max_running: 2 });
    const ids = await put(10, { tenant: "big" });
    expect(await claim(5)).toEqual(ids.slice(0, 2));
    // The mark of the new limit makes the claimer look again, once.
    expect(await claim(5)).toEqual([]);
    expect(claimer.freed(ended("other"))).toBe(false);
    expect(claimer.hasWork()).toBe(false);
    const scans = proxy.count(SCANS);
    await settle(ids[0]!);
    expect(claimer.freed(ended("big"))).toBe(true);
    expect(claimer.hasWork()).toBe(true);
    expect(await claim(5)).toEqual([ids[2]]);
    expect(claimer.hasWork()).toBe(false);
    expect(proxy.count(SCANS)).toBe(scans);
  });

  test("goes on after two seconds when a job of it ended elsewhere", async () => {
    const { claimer, clock, claim } = await newClaimer();
    await setLimits("tenant", "big", { max_running: 1 });
    const ids = await put(10, { tenant: "big" });
    await claim(5);
    await claim(5);
    await settle(ids[0]!);
    clock.pass(1_999);
    expect(claimer.hasWork()).toBe(false);
    expect(claimer.opensInMs()).toBe(1);
    clock.pass(1);
    expect(claimer.hasWork()).toBe(true);
    expect(await claim(5)).toEqual([ids[1]]);
  });

  test("is asked at once when a job of it ended while the claim was under way: it is told only once", async () => {
    const { claimer, clock, claim } = await newClaimer();
    await setLimits("tenant", "big", { max_running: 1 });
    await put(10, { tenant: "big" });
    await claim(5);
    await claim(5);
    clock.pass(2_000);
    const underWay = claimer.claim(WORKER, new Map([["default", 5]]));
    claimer.freed(ended("big"));
    expect(await underWay).toEqual([]);
    expect(claimer.hasWork()).toBe(true);
    expect(await claim(5)).toEqual([]);
    expect(claimer.hasWork()).toBe(false);
  });

  test("stays parked when new jobs of it come in", async () => {
    const { claimer, claim } = await newClaimer();
    await setLimits("tenant", "big", { max_running: 1 });
    await put(10, { tenant: "big" });
    await put(100, { tenant: "small" });
    await claim(4);
    await claim(4);
    await put(3, { tenant: "big" });
    for (let i = 0; i < 26; i++) await claim(4);
    expect(claimer.hasWork()).toBe(false);
  });
});

test("a rate opens at its moment, and not before", async () => {
  const { claimer, clock, claim, proxy } = await watched(NEVER);
  await setLimits("tenant", "a", { rate: { limit: 2, per_ms: 3_600_000 } });
  const ids = await put(5);
  expect(await claim(5)).toEqual(ids.slice(0, 2));
  // The mark of the new limit makes the claimer look again, once.
  expect(await claim(5)).toEqual([]);
  const opensInMs = claimer.opensInMs();
  expect(opensInMs).toBeGreaterThan(3_500_000);
  expect(opensInMs).toBeLessThan(3_620_000);
  clock.pass(opensInMs - 1);
  await refill("tenant", "a");
  const claims = proxy.count(CLAIMS);
  expect(claimer.hasWork()).toBe(false);
  expect(claimer.freed(ended("a"))).toBe(false);
  expect(await claim(5)).toEqual([]);
  expect(proxy.count(CLAIMS)).toBe(claims);
  clock.pass(1);
  expect(await claim(5)).toEqual(ids.slice(2, 4));
});

test("a paused tenant waits for a scan: after the rescan mark moved it is asked again", async () => {
  const { claimer, claim, claimSoon } = await newClaimer();
  await setLimits("tenant", "a", { paused: true });
  const ids = await put(3);
  await put(100, { tenant: "b" });
  await claim(4);
  await claim(4);
  expect(claimer.opensInMs()).toBe(0);
  await setLimits("tenant", "a", { paused: false });
  expect(await claimSoon(9)).toEqual(expect.arrayContaining(ids));
});

describe("a kind that is held", () => {
  test("is passed over without being lost: when it opens, its jobs come, oldest first", async () => {
    const { claimer, clock, claim } = await newClaimer({ ...NEVER, kinds: ["job", "mail"] });
    await exhaust("kind", "mail");
    const mails = await put(3, { kind: "mail" });
    const jobs = await put(5);
    // The first claim gets all that it asks for, the second one less: neither may raise the floor above the mails.
    expect(await claim(3)).toEqual(jobs.slice(0, 3));
    expect(await claim(3)).toEqual(jobs.slice(3));
    expect(claimer.hasWork()).toBe(false);
    await refill("kind", "mail");
    expect(await claim(3)).toEqual([]);
    clock.pass(claimer.opensInMs());
    expect(await claim(10)).toEqual(mails);
  });

  test("a lane that gave all it was asked for keeps its floor: what was passed over is found when the kind opens", async () => {
    const { claim } = await newClaimer({ ...NEVER, kinds: ["job", "mail"] });
    await exhaust("kind", "mail");
    const mails = await put(3, { kind: "mail" });
    await put(50);
    await claim(3);
    await claim(3);
    await refill("kind", "mail");
    expect(await claim(3)).toEqual(mails);
  });

  test("does not hold back jobs of other kinds that come into a parked lane later", async () => {
    const { claimer, clock, claim } = await newClaimer({ kinds: ["job", "mail"] });
    await setLimits("kind", "mail", { paused: true });
    const names = Array.from({ length: 12 }, (_, i) => `t${i}`);
    for (const tenant of names) await put(2, { kind: "mail", tenant });
    while (claimer.hasWork()) expect(await claim(4)).toEqual([]);
    const late: number[] = [];
    for (const tenant of names) late.push(...(await put(1, { tenant })));
    clock.pass(RESCAN_MS);
    const claimed = await claim(4);
    while (claimer.hasWork()) claimed.push(...(await claim(4)));
    expect(claimed.toSorted((a, b) => a - b)).toEqual(late);
  });

  test("at its cap lets one lane try for each job that ends", async () => {
    const { claimer, claim } = await newClaimer({ kinds: ["mail"] });
    await setLimits("kind", "mail", { max_running: 2 });
    for (const tenant of ["a", "b", "c", "d"]) await put(5, { kind: "mail", tenant });
    const first = await claim(2);
    expect(first).toHaveLength(2);
    for (let i = 0; claimer.hasWork() && i < 10; i++) expect(await claim(2)).toEqual([]);
    expect(claimer.hasWork()).toBe(false);
    await settle(first[0]!);
    expect(claimer.freed(ended("z", "mail"))).toBe(true);
    expect(await claim(1)).toHaveLength(1);
  });
});

describe("a queue that is held", () => {
  test("sends nothing until it opens, and then knows its lanes without a scan", async () => {
    const { claimer, clock, claim, proxy } = await watched(NEVER);
    await exhaust("queue", "default");
    const ids = await put(3);
    expect(await claim(5)).toEqual([]);
    // The mark of the new limit makes the claimer look again, once.
    expect(await claim(5)).toEqual([]);
    expect(claimer.hasWork()).toBe(false);
    expect(claimer.opensInMs(["default"])).toBeGreaterThan(3_500_000);
    expect(claimer.opensInMs([])).toBe(Number.POSITIVE_INFINITY);
    await refill("queue", "default");
    const sent = [proxy.count(CLAIMS), proxy.count(SCANS)];
    clock.pass(claimer.opensInMs() - 1);
    expect(await claim(5)).toEqual([]);
    expect([proxy.count(CLAIMS), proxy.count(SCANS)]).toEqual(sent);
    clock.pass(1);
    expect(claimer.hasWork()).toBe(true);
    expect(await claim(5)).toEqual(ids);
    expect(proxy.count(SCANS)).toBe(sent[1]);
  });

  test("at its cap goes on when one of its jobs ends here, not when one of another queue does", async () => {
    const { claimer, claim } = await newClaimer();
    await setLimits("queue", "default", { max_running: 1 });
    const ids = await put(3);
    expect(await claim(5)).toEqual([ids[0]]);
    // The mark of the new limit makes the claimer look again, once.
    expect(await claim(5)).toEqual([]);
    expect(claimer.hasWork()).toBe(false);
    expect(claimer.opensInMs()).toBe(2_000);
    await settle(ids[0]!);
    expect(claimer.freed(ended("a", "job", "other"))).toBe(false);
    expect(claimer.freed(ended("a"))).toBe(true);
    expect(await claim(5)).toEqual([ids[1]]);
  });

  test("paused it waits until it is woken", async () => {
    const { claimer, clock, claim } = await newClaimer();
    await setLimits("queue", "default", { paused: true });
    const ids = await put(3);
    expect(await claim(5)).toEqual([]);
    expect(await claim(5)).toEqual([]);
    clock.pass(1_000);
    expect(claimer.hasWork()).toBe(false);
    expect(claimer.opensInMs()).toBe(Number.POSITIVE_INFINITY);
    await setLimits("queue", "default", { paused: false });
    claimer.markStale("default");
    expect(claimer.hasWork()).toBe(true);
    expect(await claim(5)).toEqual(ids);
  });

  test("paused it is looked at like a dry one while another queue keeps the worker busy, once per rescan", async () => {
    const { claimer, clock, proxy } = await watched({ queues: ["x", "y"] });
    await setLimits("queue", "x", { paused: true });
    const ids = await put(3, { queue: "x" });
    await put(1_000, { queue: "y" });
    const demand = new Map([
      ["x", 2],
      ["y", 2],
    ]);
    const claim = async () => numbers(await claimer.claim(WORKER, demand)).filter((id) => ids.includes(id));
    // The first news are more than they can list, and make the claimer look again.
    await claim();
    await claim();
    const before = proxy.count(CLAIMS);
    for (let i = 0; i < 5; i++) expect(await claim()).toEqual([]);
    expect(proxy.count(CLAIMS) - before).toBe(5);
    await setLimits("queue", "x", { paused: false });
    clock.pass(RESCAN_MS);
    expect(await claim()).toEqual(ids.slice(0, 2));
  });
});
