// How many of a kind are active, said by its definition: a cap on what runs, which no waiting job holds.
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import {
  call,
  claimUnderLimits,
  enqueueLimited,
  register,
  setLimits,
  setRule,
  settle,
  statesOf,
} from "../support/sql/calls.js";

const db = useDatabase();
beforeEach(() => register(db, "w"));

const active = (max_running: number) => ({ per: "kind", max_running });
const put = async (tenant: string, count: number) =>
  (
    await enqueueLimited(
      db,
      Array.from({ length: count }, () => ({ tenant })),
    )
  ).map(({ id }) => id!);
const claimed = async (...tenants: string[]) =>
  (
    await claimUnderLimits(
      db,
      "w",
      tenants.map((tenant) => ({ tenant, priority: 0 })),
    )
  ).jobs;
const setting = () =>
  db.query("select max_running, set_max_running, defined_max_running from fairmill.limit_setting where scope = 'kind'");

test("C2: those who cannot start hold nothing: a paused tenant, and one at its cap, leave all of it to the others", async () => {
  await setRule(db, active(2));
  await setLimits(db, "tenant", "paused", { paused: true });
  await setLimits(db, "tenant", "full", { max_running: 0 });
  for (const tenant of ["paused", "full", "a", "b"]) await put(tenant, 4);
  const first = await claimed("paused", "full", "a", "b");
  expect(first.map(({ tenant }) => tenant)).toHaveLength(2);
  expect(first.every(({ tenant }) => tenant === "a" || tenant === "b")).toBe(true);
  expect(await claimed("paused", "full", "a", "b")).toEqual([]);
  await settle(db, "w", first, "done");
  expect(await claimed("a", "b")).toHaveLength(2);
});

test("who waits for another attempt counts no more", async () => {
  await setRule(db, active(1));
  const [one, two] = await put("a", 2);
  await settle(db, "w", await claimed("a"), "retry", [{ delay_ms: 60_000 }]);
  expect((await claimed("a")).map(({ id }) => id)).toEqual([two]);
  expect(await statesOf(db, [one!])).toEqual(["scheduled"]);
});

test("the lower one of what the definition says and what an operator has set holds, and each goes by itself", async () => {
  await setRule(db, active(3));
  await setLimits(db, "kind", "limited", { max_running: 2 });
  expect(await setting()).toEqual([{ max_running: 2, set_max_running: 2, defined_max_running: 3 }]);
  await put("a", 6);
  expect(await claimed("a")).toHaveLength(2);
  await setLimits(db, "kind", "limited", { max_running: null });
  expect(await claimed("a")).toHaveLength(1);
  await setLimits(db, "kind", "limited", { max_running: 9, paused: true });
  expect(await setting()).toEqual([{ max_running: 3, set_max_running: 9, defined_max_running: 3 }]);
  await setRule(db, null);
  expect(await setting()).toEqual([{ max_running: 9, set_max_running: 9, defined_max_running: null }]);
  await setLimits(db, "kind", "limited", { max_running: null, paused: false });
  expect(await setting()).toEqual([]);
  expect(await claimed("a")).toHaveLength(3);
});

test("what is said again changes nothing, and what is changed counts what runs already", async () => {
  const say = (count: number) => call<boolean>(db, "set_key_limits_v1('limited', $1)", [JSON.stringify(active(count))]);
  expect([await say(3), await say(3), await say(2), await say(2)]).toEqual([true, false, true, false]);
  await setRule(db, null);
  await put("a", 5);
  expect(await claimed("a")).toHaveLength(5);
  await put("a", 5);
  await setRule(db, active(6));
  expect(await claimed("a")).toHaveLength(1);
});

describe("a definition that counts otherwise from now on", () => {
  test("from keys to the kind: who is blocked is let go, and the cap holds", async () => {
    await setRule(db, { max_running: 1 });
    const ids = (
      await enqueueLimited(
        db,
        [1, 2, 3].map(() => ({ key: "k" })),
      )
    ).map(({ id }) => id!);
    expect(await statesOf(db, ids)).toEqual(["ready", "blocked", "blocked"]);
    await setRule(db, active(2));
    await db.query("select fairmill.tick_upkeep_v1()");
    expect(await statesOf(db, ids)).toEqual(["ready", "ready", "ready"]);
    expect(await claimed("default")).toHaveLength(2);
  });

  test("from the kind to keys: the cap is gone, and those who come hold places", async () => {
    await setRule(db, active(1));
    await put("default", 2);
    await setRule(db, { max_running: 1 });
    expect(await setting()).toEqual([]);
    expect(await claimed("default")).toHaveLength(2);
    const stored = await enqueueLimited(db, [{ key: "k" }, { key: "k" }]);
    expect(
      await statesOf(
        db,
        stored.map(({ id }) => id!),
      ),
    ).toEqual(["ready", "blocked"]);
  });

  test("from wait to refuse: a job counts from its enqueue on", async () => {
    await setRule(db, active(1));
    await setRule(db, { ...active(1), when_full: "refuse" });
    expect(await setting()).toEqual([]);
    const stored = await enqueueLimited(db, [{}, {}], { partial: true });
    expect(stored.map(({ refused }) => refused?.["code"] ?? null)).toEqual([null, "FAIRMILL_ACTIVE_LIMIT"]);
  });
});
