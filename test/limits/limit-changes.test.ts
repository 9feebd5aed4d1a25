// Changes of a rule while its jobs wait: a new rate gives new moments to those the old one put back, and a kind that no longer refuses takes
// no places of jobs that wait for their time.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { call, claimUnderLimits, enqueueKeyed, live, setRule, settle, statesOf, tick } from "../support/sql/calls.js";
import { useSessions, waitUntilBlocked } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const HOUR = 3_600_000;
const SLOW = { limit: 1, per_ms: HOUR };

/** In how many milliseconds they are due. */
const dueIn = async (ids: readonly string[]) =>
  (
    await db.query<{ ms: number }>(
      "select extract(epoch from run_at - clock_timestamp())::float8 * 1000 as ms from fairmill.job where id = any ($1) order by id",
      [ids],
    )
  ).map(({ ms }) => ms);

describe("the rate of a key", () => {
  test.each([
    ["raised", { rate: { limit: 1000, per_ms: HOUR } }],
    // Four, because one is spent already: with one per millisecond a fast server would claim twice in the same one.
    ["given a shorter period", { rate: { limit: 4, per_ms: 60_000 } }],
    ["kept at enqueue", { rate: { ...SLOW, at: "enqueue" } }],
    ["replaced by places", { max_running: 9 }],
    ["taken away", null],
  ])("that is %s reaches those that it put back", async (_, rule) => {
    await setRule(db, { rate: SLOW });
    const ids = await enqueueKeyed(db, 4);
    const { jobs } = await claimUnderLimits(db, "w");
    expect(await statesOf(db, ids)).toEqual(["running", "scheduled", "scheduled", "scheduled"]);
    await settle(db, "w", jobs, "done");
    await setRule(db, rule);
    expect((await tick(db))[0]).toMatchObject({ promoted: 3 });
    for (let turn = 0; turn < 3; turn++) {
      const started = await claimUnderLimits(db, "w", undefined, 1);
      expect(started.jobs.map(({ id }) => id)).toEqual([ids[turn + 1]]);
    }
  });

  test("that is a little higher places them anew, in their order", async () => {
    await setRule(db, { rate: SLOW });
    const ids = await enqueueKeyed(db, 5);
    await claimUnderLimits(db, "w");
    await setRule(db, { rate: { limit: 2, per_ms: HOUR } });
    const newcomer = await enqueueKeyed(db, 1);
    await tick(db);
    expect((await claimUnderLimits(db, "w")).jobs.map(({ id }) => id)).toEqual([ids[1]]);
    const moments = await dueIn([...ids.slice(2), ...newcomer]);
    for (const [n, ms] of moments.entries()) expect(ms / HOUR).toBeCloseTo(1 + n / 2, 1);
  });

  test("leaves alone what another rate put back, and what waits for its time; set again to the same it does nothing", async () => {
    const kinds = ["limited", "limite", "limited2", 'limited"', "limited!"];
    for (const kind of kinds) await setRule(db, { rate: SLOW }, kind);
    const ids = new Map<string, string[]>();
    for (const kind of kinds) ids.set(kind, await enqueueKeyed(db, 2, { kind }));
    await claimUnderLimits(db, "w");
    const [later] = await enqueueKeyed(db, 1, { delay_ms: HOUR });
    for (const changed of ["limited", 'limited"', "limited!"]) {
      for (const kind of kinds) await setRule(db, { rate: SLOW }, kind);
      for (const kind of kinds) expect((await dueIn(ids.get(kind)!.slice(1)))[0]! / HOUR).toBeCloseTo(1, 1);
      await setRule(db, { rate: { limit: 2, per_ms: HOUR } }, changed);
      const isDue = (await Promise.all(kinds.map((kind) => dueIn(ids.get(kind)!.slice(1))))).map(([ms]) => ms! <= 0);
      expect(isDue).toEqual(kinds.map((kind) => kind === changed));
      await setRule(db, { rate: SLOW }, changed);
      await tick(db);
      await claimUnderLimits(db, "w");
    }
    expect((await dueIn([later!]))[0]! / HOUR).toBeCloseTo(1, 1);
  });

  test("a claim that is about to put jobs back by the old rate is waited for", async () => {
    await setRule(db, { rate: SLOW });
    await enqueueKeyed(db, 1);
    await claimUnderLimits(db, "w");
    const [late] = await enqueueKeyed(db, 1);
    const [claimer, changer] = await Promise.all([open(), open()]);
    await claimer.query("begin");
    expect((await claimUnderLimits(claimer, "w")).jobs).toEqual([]);
    const changed = setRule(changer, { rate: { limit: 5, per_ms: HOUR } });
    await waitUntilBlocked(db, changer);
    await claimer.query("commit");
    await changed;
    expect((await dueIn([late!]))[0]).toBeLessThanOrEqual(0);
  });

  test("workers that sleep are told", async () => {
    await setRule(db, { rate: SLOW });
    await enqueueKeyed(db, 2);
    await claimUnderLimits(db, "w");
    await db.query("update fairmill.worker set listening = true");
    const listener = await open();
    await listener.query("listen fairmill");
    await setRule(db, { rate: SLOW });
    await listener.query("select 1");
    expect(listener.notified).toEqual([]);
    await setRule(db, null);
    await listener.query("select 1");
    expect(listener.notified).toEqual(["fairmill !due 0"]);
  });
});

describe("a kind that refused", () => {
  const REFUSE = { max_running: 1, when_full: "refuse" };

  test.each([
    ["waits now", { max_running: 1 }],
    ["has no limit now, and later waits", null],
  ])("and %s: who waits for its time gives its place up", async (_, rule) => {
    await setRule(db, REFUSE);
    const [later] = await enqueueKeyed(db, 1, { delay_ms: HOUR });
    const [busy] = await enqueueKeyed(db, 1, { key: "busy" });
    expect(await live(db, later!)).toMatchObject({ state: "scheduled", slot: 1 });
    await setRule(db, rule);
    await setRule(db, { max_running: 1 });
    const next = [...(await enqueueKeyed(db, 1)), ...(await enqueueKeyed(db, 1, { key: "busy" }))];
    expect(await statesOf(db, next)).toEqual(["ready", "blocked"]);
    expect(await live(db, later!)).toMatchObject({ state: "scheduled", slot: null });
    expect(await live(db, busy!)).toMatchObject({ state: "ready", slot: 1 });
    // Its time comes: it lines up.
    await db.query("update fairmill.job set run_at = now() where id = $1", [later]);
    await tick(db);
    expect(await statesOf(db, [later!])).toEqual(["blocked"]);
  });

  test("who is blocked there gets the place with the next upkeep; who was put back by a rate keeps it", async () => {
    await setRule(db, REFUSE);
    const [again] = await enqueueKeyed(db, 1);
    await call(db, "cancel_v1($1)", [again]);
    const [later] = await enqueueKeyed(db, 1, { delay_ms: HOUR });
    expect(await call(db, "retry_v1($1)", [again])).toBe("blocked");
    const [rated] = await enqueueKeyed(db, 1, { key: "rated" });
    await db.query(
      "update fairmill.job set state = 'scheduled', aside = 'scheduled', rate_limited = true, run_at = now() + interval '1 hour' where id = $1",
      [rated],
    );
    await setRule(db, { max_running: 1 });
    await tick(db);
    expect(await live(db, later!)).toMatchObject({ state: "scheduled", slot: null });
    expect(await live(db, again!)).toMatchObject({ state: "ready", slot: 1 });
    expect(await live(db, rated!)).toMatchObject({ state: "scheduled", slot: 1 });
  });

  test("and refuses with more slots: no job gives up its slot", async () => {
    await setRule(db, REFUSE);
    const [later] = await enqueueKeyed(db, 1, { delay_ms: HOUR });
    await setRule(db, { ...REFUSE, max_running: 2 });
    expect(await live(db, later!)).toMatchObject({ state: "scheduled", slot: 1 });
  });
});
