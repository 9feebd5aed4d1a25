// What keeps a batch from its end besides members: a hold, the stability window, and batches inside.
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { call, claim, enqueue, register, settle, tick } from "../support/sql/calls.js";
import { useSessions } from "../support/sql/sessions.js";
import { batchOf, CALLBACKS, liveKinds, openBatch, stateOf, work } from "./batch-calls.js";

const db = useDatabase();
const open = useSessions(db);

beforeEach(async () => {
  await register(db, "w");
});

describe("held open", () => {
  test("by the process that opened it, until it says that all is added", async () => {
    const { id, hold } = await openBatch(db, { hold_ms: 60_000, callbacks: CALLBACKS }, [{ kind: "work" }]);
    await work(db, "w");
    expect(await stateOf(db, id)).toBe("pending");
    await enqueue(db, [{ kind: "more" }], { batch: id });
    await work(db, "w");
    expect(await call(db, "release_batch_v1($1)", [hold])).toBe("succeeded");
    expect(await call(db, "release_batch_v1($1)", [hold])).toBeNull();
    expect(await liveKinds(db)).toEqual(["success", "complete"]);
  });

  test("by a second one, too; and a hold can be prolonged", async () => {
    const { id, hold } = await openBatch(db, { hold_ms: 60_000 });
    const other = await call<string>(db, "hold_batch_v1($1, 60000)", [id]);
    expect(await call(db, "release_batch_v1($1)", [hold])).toBe("pending");
    expect(await call(db, "hold_batch_v1($1, 120000, $2)", [id, other])).toBe(other);
    expect(await call(db, "release_batch_v1($1)", [other])).toBe("succeeded");
    expect(await call(db, "hold_batch_v1($1, 60000)", [id])).toBeNull();
  });

  test("a hold that was prolonged is looked at when it runs out then, although everybody who could tell is gone", async () => {
    const { id, hold } = await openBatch(db, { hold_ms: 1_000 }, [{ kind: "work" }]);
    await call(db, "hold_batch_v1($1, 3600000, $2)", [id, hold]);
    await work(db, "w");
    // The moment at which it would have run out.
    await db.query("update fairmill.batch set check_at = now() where id = $1", [id]);
    await tick(db);
    const [row] = await db.query(
      "select b.check_at = h.until as same from fairmill.batch b join fairmill.batch_hold h on h.batch = b.id",
    );
    expect(row).toEqual({ same: true });
    expect(await stateOf(db, id)).toBe("pending");
  });

  test("a hold that runs out lets the batch end, as failed: a producer did not finish", async () => {
    const { id } = await openBatch(db, { hold_ms: 60_000, callbacks: CALLBACKS }, [{ kind: "work" }]);
    await work(db, "w");
    await db.query("update fairmill.batch_hold set until = now() - interval '1 second'");
    await db.query("update fairmill.batch set check_at = now() where id = $1", [id]);
    await tick(db);
    expect(await batchOf(db, id)).toMatchObject({ state: "failed", lost: 1 });
    expect(await liveKinds(db)).toEqual(["complete"]);
  });
});

test("upkeep does not wait for a tree that another session has locked, checks the others, and this one later", async () => {
  const [held, free] = [await openBatch(db, { hold_ms: 60_000 }), await openBatch(db, { hold_ms: 60_000 })];
  await db.query("update fairmill.batch_hold set until = now() - interval '1 second'");
  await db.query("update fairmill.batch set check_at = now() - interval '1 second'");
  const [other, upkeep] = [await open(), await open()];
  await other.query("begin");
  await other.query("select from fairmill.batch where id = $1 for no key update", [held.id]);
  await upkeep.query("set statement_timeout = '20s'");
  await tick(upkeep);
  expect([await stateOf(db, held.id), await stateOf(db, free.id)]).toEqual(["pending", "failed"]);
  await other.query("commit");
  await tick(upkeep);
  expect(await stateOf(db, held.id)).toBe("failed");
});

describe("the stability window", () => {
  const WINDOW = { window_ms: 200, max_wait_ms: 5_000, poll_ms: 50 };
  const aged = (id: string, column: string, ms: number) =>
    db.query(
      `update fairmill.batch set ${column} = clock_timestamp() - $2 * interval '1 millisecond', check_at = now() where id = $1`,
      [id, ms],
    );

  test("E5: after the last registration the batch waits for more, and ends when none came", async () => {
    const { id } = await openBatch(db, WINDOW, [{ kind: "work" }]);
    await db.query("update fairmill.job set created_at = clock_timestamp()");
    await work(db, "w");
    expect(await stateOf(db, id)).toBe("pending");
    expect((await tick(db))[0]!["next_in_ms"]).toBeLessThan(1_000);
    await aged(id, "registered_at", 199_000);
    await tick(db);
    expect(await stateOf(db, id)).toBe("succeeded");
  });

  test("E5: a registration meanwhile begins the window anew, but not for longer than maxWait", async () => {
    const { id } = await openBatch(db, { ...WINDOW, window_ms: 60_000 }, [{ kind: "work" }]);
    await work(db, "w");
    await enqueue(db, [{ kind: "more" }], { batch: id });
    await work(db, "w");
    expect(await stateOf(db, id)).toBe("pending");
    await aged(id, "closed_at", 5_001);
    await tick(db);
    expect(await stateOf(db, id)).toBe("succeeded");
  });

  test("E5 E7: where nothing was registered it does not wait at all", async () => {
    const { id, hold } = await openBatch(db, { ...WINDOW, hold_ms: 60_000 });
    expect(await call(db, "release_batch_v1($1)", [hold])).toBe("succeeded");
    expect(await stateOf(db, id)).toBe("succeeded");
  });
});

describe("batches inside one another", () => {
  test("E2: the outer one is not over before the inner ones, and their callbacks are its members", async () => {
    const outer = await openBatch(db, { name: "outer", callbacks: { complete: { kind: "outer over" } } }, [
      { kind: "a" },
    ]);
    const inner = await openBatch(
      db,
      { name: "inner", parent: outer.id, callbacks: { complete: { kind: "inner over" } } },
      [{ kind: "b" }],
    );
    await settle(db, "w", await claim(db, "w", 1, { kinds: ["a"] }), "done");
    expect(await stateOf(db, outer.id)).toBe("pending");
    await settle(db, "w", await claim(db, "w", 1, { kinds: ["b"] }), "done");
    expect([await stateOf(db, inner.id), await stateOf(db, outer.id)]).toEqual(["succeeded", "pending"]);
    expect(await work(db, "w")).toEqual(["inner over"]);
    expect(await batchOf(db, outer.id)).toMatchObject({ state: "succeeded", done: 2 });
    expect(await liveKinds(db)).toEqual(["outer over"]);
  });

  test("a failure inside fails the one around it", async () => {
    const outer = await openBatch(db, {}, [{ kind: "a" }]);
    await openBatch(db, { parent: outer.id }, [{ kind: "b" }]);
    await work(db, "w", ({ kind }) => (kind === "b" ? "dead" : "done"));
    expect(await batchOf(db, outer.id)).toMatchObject({ state: "failed", failed: 1, dead: 0 });
  });

  test("in one that is over none can be opened", async () => {
    const outer = await openBatch(db, {}, [{ kind: "a" }]);
    await work(db, "w");
    expect(await openBatch(db, { parent: outer.id }, [{ kind: "b" }])).toMatchObject({
      id: null,
      refused: { code: "FAIRMILL_BATCH_ENDED" },
    });
  });
});
