// Jobs with a unique key that are replaced while they wait under a limit: what becomes of their place, and who may start when.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import {
  type Asker,
  claimUnderLimits,
  enqueueLimited,
  live,
  type NewRow,
  setRule,
  settle,
  statesOf,
  tick,
} from "../../support/sql/calls.js";
import { useSessions } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const LATER = 3_600_000;
const KEYS = { ann: '["limited", "default", "ann"]', bob: '["limited", "default", "bob"]' };
type Name = keyof typeof KEYS;

/** Enqueues a job, or replaces the one with the same document. */
async function put(ask: Asker, key: Name, document: string, rest: NewRow = {}, alone = true): Promise<string> {
  const [made] = await enqueueLimited(ask, [{ key, unique_key: document, on_conflict: "replace", ...rest }], { alone });
  return made!.id!;
}

/** So many jobs after one another, each where upkeep puts it. */
async function placed(...jobs: readonly (readonly [Name, string])[]): Promise<string[]> {
  const ids: string[] = [];
  for (const [key, document] of jobs) {
    ids.push(await put(db, key, document));
    await tick(db);
  }
  return ids;
}

const placeOf = async (id: string) => {
  const { state, key, limit_key, slot } = (await live(db, id)) as unknown as NewRow;
  return { state, key, limit_key, slot };
};
const held = (name: Name) => ({ state: "ready", key: name, limit_key: KEYS[name], slot: 1 });
const waiting = (name: Name, state: string) => ({ state, key: name, limit_key: KEYS[name], slot: null });
const marks = () => db.query("select name from fairmill.meter where use = 'freed'");

describe("a job with a place that is replaced by one of another key", () => {
  test.each([
    ["on its own", true],
    ["in a transaction of the caller", false],
  ])("gives the place to who is blocked there, and waits for one under its new key: %s", async (_, alone) => {
    await setRule(db, { max_running: 1 });
    const [first, second, bobs] = await placed(["ann", "a"], ["ann", "b"], ["bob", "c"]);
    expect(await statesOf(db, [first!, second!, bobs!])).toEqual(["ready", "blocked", "ready"]);
    expect(await put(db, "bob", "a", {}, alone)).toBe(first);
    expect(await placeOf(first!)).toEqual(waiting("bob", "scheduled"));
    await tick(db);
    expect(await placeOf(first!)).toEqual(waiting("bob", "blocked"));
    expect(await placeOf(second!)).toEqual(held("ann"));
    expect(await marks()).toEqual([]);
    // And it has its turn as any other of that key.
    const { jobs } = await claimUnderLimits(db, "w");
    expect(new Set(jobs.map(({ id }) => id))).toEqual(new Set([second, bobs]));
    await settle(db, "w", jobs, "done");
    expect(await placeOf(first!)).toEqual(held("bob"));
  });

  test("no settle waits for the transaction that does it, and what is rolled back has not happened", async () => {
    await setRule(db, { max_running: 1 });
    const [first, second, bobs] = await placed(["ann", "a"], ["ann", "b"], ["bob", "c"]);
    const { jobs } = await claimUnderLimits(db, "w", [{ tenant: "default" }], 2);
    const of = (id: string) => jobs.find((job) => job.id === id)!;
    expect(jobs).toHaveLength(2);
    // Back to ready, with its place: released.
    await settle(db, "w", [of(first!)], "release");
    const caller = await open();
    await caller.query("begin");
    await put(caller, "bob", "a", {}, false);
    const other = await open();
    await other.query("set lock_timeout = '2s'");
    await settle(other, "w", [of(bobs!)], "done");
    await enqueueLimited(other, [{ key: "ann" }, { key: "bob" }]);
    await tick(other);
    expect(await placeOf(first!)).toEqual(held("ann"));
    await caller.query("rollback");
    await tick(db);
    expect(await placeOf(first!)).toEqual(held("ann"));
    expect(await placeOf(second!)).toEqual(waiting("ann", "blocked"));
    expect(await marks()).toEqual([]);
  });

  test("a place that is given up while upkeep looks after an earlier one is not overlooked", async () => {
    await setRule(db, { max_running: 1 });
    const [first, second] = await placed(["ann", "a"], ["ann", "b"]);
    await put(db, "bob", "a");
    await put(db, "ann", "a", { priority: 9 });
    // Promoted without the rest of upkeep: the first has its place again, and the mark is still there.
    await db.query("select fairmill.promote_v1()");
    expect(await placeOf(first!)).toEqual(held("ann"));
    expect(await marks()).toHaveLength(1);
    const caller = await open();
    await caller.query("begin");
    await put(caller, "bob", "a", {}, false);
    await tick(db);
    expect(await placeOf(second!)).toEqual(waiting("ann", "blocked"));
    await caller.query("commit");
    await tick(db);
    expect(await placeOf(second!)).toEqual(held("ann"));
    expect(await placeOf(first!)).toEqual(held("bob"));
  });

  test("workers that are awake hear that there is something to do, whenever the job itself is due", async () => {
    await setRule(db, { max_running: 1 });
    const listener = await open();
    await listener.query("listen fairmill");
    await db.query(
      "insert into fairmill.worker (id, queues, lease_until) values ('w', '{default}', now() + interval '1 hour')",
    );
    await placed(["ann", "a"]);
    await listener.query("select");
    listener.notified.length = 0;
    await put(db, "ann", "a");
    await listener.query("select");
    expect(listener.notified).toEqual([]);
    await put(db, "bob", "a", { delay_ms: LATER });
    await listener.query("select");
    expect(listener.notified).toEqual(["fairmill !due 0"]);
  });
});

describe("a job with a place that is replaced by one of the same key", () => {
  test("stays where it is if it is due, and gives the place up if it is to wait", async () => {
    await setRule(db, { max_running: 1 });
    const [first, second] = await placed(["ann", "a"], ["ann", "b"]);
    await put(db, "ann", "a");
    expect(await placeOf(first!)).toEqual(held("ann"));
    await put(db, "ann", "a", { delay_ms: LATER });
    await tick(db);
    expect(await placeOf(first!)).toEqual(waiting("ann", "scheduled"));
    expect(await placeOf(second!)).toEqual(held("ann"));
  });

  test("goes through the schedule with its place for another priority", async () => {
    await setRule(db, { max_running: 1 });
    const [first, second] = await placed(["ann", "a"], ["ann", "b"]);
    await put(db, "ann", "a", { priority: -1 });
    expect(await placeOf(first!)).toEqual({ ...held("ann"), state: "scheduled" });
    await tick(db);
    expect(await statesOf(db, [first!, second!])).toEqual(["ready", "blocked"]);
  });
});

describe("a blocked job that is replaced", () => {
  const blocked = async () => {
    await setRule(db, { max_running: 1 });
    const [holder, second] = await placed(["ann", "a"], ["ann", "b"]);
    expect(await placeOf(second!)).toEqual(waiting("ann", "blocked"));
    return [holder!, second!] as const;
  };
  const free = async () => settle(db, "w", (await claimUnderLimits(db, "w")).jobs, "done");

  test("stays blocked if it is due", async () => {
    const [, second] = await blocked();
    await put(db, "ann", "b", { payload: "new" });
    expect(await live(db, second)).toMatchObject({ state: "blocked", payload: "new" });
    await free();
    expect(await placeOf(second)).toEqual(held("ann"));
  });

  test.each<[string, NewRow]>([
    ["a delay", { delay_ms: LATER }],
    ["a debounce", { debounce_ms: LATER }],
  ])("waits for its new time with %s, and is blocked again when that has come and the key is full", async (_, rest) => {
    const [, second] = await blocked();
    await put(db, "ann", "b", rest);
    expect(await placeOf(second)).toEqual(waiting("ann", "scheduled"));
    const [check] = await db.query("select check_name from fairmill.why_v1($1) where not passed", [second]);
    expect(check).toEqual({ check_name: "scheduled" });
    await free();
    await tick(db);
    expect(await placeOf(second)).toEqual(waiting("ann", "scheduled"));
    const [third] = await placed(["ann", "c"]);
    await db.query("update fairmill.job set run_at = now() where id = $1", [second]);
    await tick(db);
    expect(await statesOf(db, [second, third!])).toEqual(["blocked", "ready"]);
  });
});

describe("where the kind refuses", () => {
  const REFUSE = { max_running: 1, when_full: "refuse" };

  test("the job has a place under its new key at once, and the old one is free for others", async () => {
    await setRule(db, REFUSE);
    const first = await put(db, "ann", "a");
    expect(await put(db, "bob", "a", { delay_ms: LATER })).toBe(first);
    expect(await placeOf(first)).toEqual({ ...held("bob"), state: "scheduled" });
    expect(await enqueueLimited(db, [{ key: "bob" }])).toMatchObject([{ refused: { jobs: [Number(first)] } }]);
    const [anns] = await enqueueLimited(db, [{ key: "ann" }]);
    expect(await placeOf(anns!.id!)).toEqual(held("ann"));
  });

  test("the replacement is refused if its key is full, and the job is as it was", async () => {
    await setRule(db, REFUSE);
    const first = await put(db, "ann", "a", { payload: "old" });
    const [bobs] = await enqueueLimited(db, [{ key: "bob" }]);
    const job = { key: "bob", unique_key: "a", on_conflict: "replace", payload: "new" };
    for (const partial of [false, true])
      expect(await enqueueLimited(db, [job], { partial })).toMatchObject([
        { id: null, refused: { code: "FAIRMILL_ACTIVE_LIMIT", jobs: [Number(bobs!.id)] } },
      ]);
    expect(await live(db, first)).toMatchObject({ payload: "old", ...held("ann") });
  });

  test("a job that keeps its key keeps its place, also while it waits for a later time", async () => {
    await setRule(db, { ...REFUSE, max_running: 2 });
    const first = await put(db, "ann", "a");
    await put(db, "ann", "a", { delay_ms: LATER });
    expect(await placeOf(first)).toEqual({ ...held("ann"), state: "scheduled" });
    expect(await marks()).toEqual([]);
  });
});
