// What limits hold back: lanes are parked, cost nothing, and come back when it is worth it.
import { describe, expect, test } from "vitest";
import type { Probe } from "../../../src/core/claim/claim-statements.js";
import type { LaneRing } from "../../../src/core/claim/lane-ring.js";
import { add, closing, newRing, Reference } from "./reference.js";

const tenants = (probes: readonly Probe[]) => probes.map(({ tenant }) => tenant);
const none = (probes: readonly Probe[]) => probes.map(() => undefined);
const nothing = (probes: readonly Probe[]) => probes.map(() => 0);
const scan = (ring: LaneRing, tenant: string, priority = 0) => ring.add({ priority, tenant, weight: 1 }, true);

/** A ring in which the lanes of these tenants were asked and gave nothing, because of this. */
function heldRing(names: readonly string[], ...closings: ReturnType<typeof closing>[]) {
  const ring = newRing();
  add(ring, 0, ...names);
  const probes = ring.take(10);
  ring.report(probes, nothing(probes), none(probes), false, closings);
  return ring;
}

describe("a tenant that is held", () => {
  const atCap = closing({ scope: "tenant", name: "a" });

  test("is parked and not asked; another one that gave less is empty and leaves", () => {
    const ring = heldRing(["a", "b"], atCap);
    expect([ring.size, ring.parked]).toEqual([0, 1]);
    ring.letOut(1_999, 10);
    expect(ring.take(10)).toEqual([]);
  });

  test("with all that it was asked for it keeps its turn", () => {
    const ring = newRing();
    add(ring, 0, "a");
    const probes = ring.take(5);
    ring.report(probes, [5], ["5"], true, [atCap]);
    expect([ring.size, ring.parked]).toEqual([1, 0]);
  });

  test("comes back at the moment that was named", () => {
    const ring = heldRing(["a"], closing({ scope: "tenant", name: "a", why: "rate", openInMs: 123.4 }));
    expect(ring.opensAtMs).toBe(123.4);
    expect(ring.freed("a", "job")).toBe(false);
    ring.letOut(123, 10);
    expect(ring.size).toBe(0);
    ring.letOut(123.4, 10);
    expect(tenants(ring.take(1))).toEqual(["a"]);
    expect(ring.parked).toBe(0);
    expect(ring.opensAtMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("at its cap comes back after two seconds, or when a job of its ends here", () => {
    const waited = heldRing(["a"], atCap);
    expect(waited.opensAtMs).toBe(2_000);
    waited.letOut(2_000, 10);
    expect(waited.size).toBe(1);
    const freed = heldRing(["a"], atCap);
    expect(freed.freed("b", "job")).toBe(false);
    expect(freed.freed("a", "job")).toBe(true);
    freed.letOut(0, 10);
    expect(freed.size).toBe(1);
  });

  test("that is paused comes back by a scan and by nothing else", () => {
    const ring = heldRing(["a"], closing({ scope: "tenant", name: "a", why: "paused" }));
    expect(ring.opensAtMs).toBe(Number.POSITIVE_INFINITY);
    expect(ring.freed("a", "job")).toBe(false);
    ring.letOut(1e12, 10);
    add(ring, 0, "a");
    ring.letOut(1e12, 10);
    expect(ring.size).toBe(0);
    scan(ring, "a");
    ring.letOut(0, 10);
    expect(tenants(ring.take(1))).toEqual(["a"]);
  });

  test("news leave it parked, a scan lets it try", () => {
    const ring = heldRing(["a"], atCap);
    add(ring, 0, "a");
    ring.letOut(0, 10);
    expect([ring.size, ring.parked]).toEqual([0, 1]);
    scan(ring, "a");
    ring.letOut(0, 10);
    expect([ring.size, ring.parked]).toEqual([1, 0]);
  });

  test("with lanes in several priorities all of them are parked, and all come back", () => {
    const ring = newRing();
    for (const priority of [0, 5, 9]) add(ring, priority, "a");
    for (let i = 0; i < 3; i++) {
      const probes = ring.take(10);
      ring.report(probes, nothing(probes), none(probes), false, [atCap]);
    }
    expect([ring.size, ring.parked]).toEqual([0, 3]);
    ring.freed("a", "job");
    ring.letOut(0, 10);
    expect([ring.size, ring.parked]).toEqual([3, 0]);
  });

  test("an answer that it opens at once does not make the claimer ask without a pause", () => {
    const ring = heldRing(["a"], closing({ scope: "tenant", name: "a", why: "rate", openInMs: 0 }));
    expect(ring.opensAtMs).toBeGreaterThan(0);
  });

  test("gathers no credit while it is parked, and takes no share from the others", () => {
    const ring = newRing();
    const reference = new Reference();
    for (const tenant of ["a", "b", "c"]) reference.put(0, tenant, 10_000);
    add(ring, 0, "a", "b", "c");
    const room = new Map([["a", 5]]);
    for (let claims = 0; claims < 100; claims++) expect(reference.claim(ring, 10, room)).toBeGreaterThanOrEqual(9);
    expect(reference.count("0/a")).toBe(5);
    const before = reference.probes;
    for (let claims = 0; claims < 100; claims++) reference.claim(ring, 10, room);
    // It costs the others nothing: two lanes are probed and no third.
    expect(reference.probes - before).toBe(200);
    ring.freed("a", "job");
    room.delete("a");
    const others = reference.count("0/b");
    for (let claims = 0; claims < 30; claims++) reference.claim(ring, 10);
    expect(Math.abs(reference.count("0/a") - 5 - (reference.count("0/b") - others))).toBeLessThanOrEqual(2);
  });
});

describe("a kind that is held", () => {
  const mail = closing({ scope: "kind", name: "mail" });

  test("parks every lane that gave less, without its floor", () => {
    const ring = newRing();
    add(ring, 0, "a", "b");
    ring.report(ring.take(4), [2, 2], ["7", "8"], true);
    const probes = ring.take(4);
    ring.report(probes, [2, 1], ["17", "18"], false, [mail]);
    expect([ring.size, ring.parked]).toEqual([1, 1]);
    // The one that gave everything has passed over jobs of that kind, too: its floor stays where it was.
    expect(ring.take(1)).toMatchObject([{ tenant: "a", floor: "7" }]);
    ring.letOut(2_000, 10);
    expect(ring.take(10).find(({ tenant }) => tenant === "b")).toMatchObject({ floor: "0" });
  });

  test("a job of that kind that ends lets one lane try, and of several places as many", () => {
    const ring = heldRing(["a", "b", "c", "d"], mail);
    expect(ring.parked).toBe(4);
    expect(ring.freed("z", "other")).toBe(false);
    expect(ring.freed("z", "mail")).toBe(true);
    ring.letOut(0, 10);
    expect(tenants(ring.take(10))).toEqual(["a"]);
    const probes = ring.take(10);
    ring.report(probes, [1], ["9"], false, [mail]);
    expect([ring.size, ring.parked]).toEqual([0, 4]);
    ring.freed("z", "mail");
    ring.freed("z", "mail");
    ring.letOut(0, 10);
    // Who was served stands behind who was not.
    expect(tenants(ring.take(10))).toEqual(["b", "c"]);
  });

  test("100,000 lanes do not all run against the closed limit: one tries, and twice as many after each success", () => {
    const ring = newRing();
    for (let i = 0; i < 100_000; i++) ring.add({ priority: 0, tenant: `t${i}`, weight: 1 }, false);
    while (ring.size > 0) {
      const probes = ring.take(1_000);
      ring.report(probes, nothing(probes), none(probes), false, [mail]);
    }
    expect(ring.parked).toBe(100_000);
    const sizes: number[] = [];
    for (let tries = 0; tries < 5; tries++) {
      ring.letOut(2_000, 1_000);
      const probes = ring.take(1_000);
      sizes.push(probes.length);
      // Each gives all it was asked for, the limit is not closed again.
      ring.report(
        probes,
        probes.map(({ quantum }) => quantum),
        probes.map(() => "1"),
        true,
      );
    }
    expect(sizes).toEqual([1, 3, 7, 15, 31]);
    const probes = ring.take(1_000);
    ring.report(probes, nothing(probes), none(probes), false, [closing({ scope: "kind", name: "mail" }, 2_000)]);
    expect([ring.size, ring.opensAtMs]).toEqual([0, 4_000]);
  });

  test("a lane that a scan has seen may hold jobs of other kinds: each is tried once, few in a claim, also while the kind stays held", () => {
    const names = Array.from({ length: 9 }, (_, i) => `t${i}`);
    const ring = heldRing(names, closing({ scope: "kind", name: "mail", why: "paused" }));
    for (const tenant of names) scan(ring, tenant);
    const tried = new Set<string>();
    for (let claims = 0; ring.opensAtMs <= 0; claims++) {
      ring.letOut(0, 8);
      const probes = ring.take(8);
      // A quarter of the claim, and the one with which the limit itself is tried.
      expect(probes.length).toBeLessThanOrEqual(3);
      for (const tenant of tenants(probes)) tried.add(tenant);
      ring.report(probes, nothing(probes), none(probes), false, [
        closing({ scope: "kind", name: "mail", why: "paused" }),
      ]);
      expect(claims).toBeLessThan(9);
    }
    expect(tried.size).toBe(9);
    expect([ring.size, ring.parked]).toEqual([0, 9]);
  });

  test("of several held kinds the one that opens first decides; a tenant that is held goes before them", () => {
    const ring = newRing();
    add(ring, 0, "a", "b");
    const probes = ring.take(10);
    ring.report(probes, nothing(probes), none(probes), false, [
      closing({ scope: "kind", name: "slow", why: "rate", openInMs: 9_000 }),
      closing({ scope: "kind", name: "fast", why: "rate", openInMs: 100 }),
      closing({ scope: "tenant", name: "b", why: "rate", openInMs: 500 }),
    ]);
    ring.letOut(100, 10);
    expect(tenants(ring.take(10))).toEqual(["a"]);
    expect(ring.opensAtMs).toBe(500);
  });
});

describe("a queue that is held", () => {
  test("loses no lane by a claim that brought nothing, and parks none", () => {
    const ring = heldRing(
      ["a", "b"],
      closing({ scope: "queue", name: "default" }),
      closing({ scope: "tenant", name: "a" }),
    );
    expect([ring.size, ring.parked]).toEqual([2, 0]);
  });
});

test("parked lanes count towards the limit of lanes, and make room for others", () => {
  const ring = newRing();
  for (let i = 0; i < 100_000; i++) ring.add({ priority: 0, tenant: `t${i}`, weight: 1 }, false);
  const probes = ring.take(1_000);
  ring.report(
    probes,
    nothing(probes),
    none(probes),
    false,
    probes.map(({ tenant: name }) => closing({ scope: "tenant", name })),
  );
  expect([ring.size, ring.parked]).toEqual([99_000, 1_000]);
  // What is parked gives way to what can be served.
  add(ring, 0, "one more");
  expect([ring.size, ring.parked]).toEqual([99_001, 999]);
  // All limits are due, but only as many lanes get a turn as the claim can need.
  ring.letOut(2_000, 10);
  expect([ring.size, ring.parked]).toEqual([99_011, 989]);
});

test("a limit without parked lanes is forgotten", () => {
  const ring = heldRing(["a"], closing({ scope: "tenant", name: "a" }));
  ring.letOut(2_000, 10);
  const probes = ring.take(5);
  ring.report(probes, [0], [undefined], false);
  expect([ring.size, ring.parked, ring.opensAtMs]).toEqual([0, 0, Number.POSITIVE_INFINITY]);
  expect(ring.freed("a", "job")).toBe(false);
});
