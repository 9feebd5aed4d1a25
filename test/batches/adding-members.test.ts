// Members that are added to a batch: while it is pending, never behind its end, and without a wait of a settle.
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claim, enqueue, enqueueLimited, register, settle, tick } from "../support/sql/calls.js";
import { useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { batchOf, CALLBACKS, liveKinds, openBatch, stateOf, work } from "./batch-calls.js";

const db = useDatabase();
const open = useSessions(db);

beforeEach(async () => {
  await register(db, "w");
});

describe("adding members", () => {
  test("to one that is pending, by its number", async () => {
    const { id } = await openBatch(db, {}, [{ kind: "work" }]);
    await enqueue(db, [{ kind: "more" }], { batch: id });
    expect(await work(db, "w", () => "done")).toEqual(["work", "more"]);
    expect(await batchOf(db, id)).toMatchObject({ state: "succeeded", done: 2 });
  });

  test("to one that is over, or that there is not, is refused, and nothing is stored", async () => {
    const { id } = await openBatch(db, {}, [{ kind: "work" }]);
    await work(db, "w");
    for (const batch of [id, "999999"]) {
      const answers = await enqueueLimited(db, [{ kind: "more", batch }, { kind: "more" }]);
      expect(answers.map(({ id, refused }) => [id, refused?.["code"] ?? null])).toEqual([
        [null, "FAIRMILL_BATCH_ENDED"],
        [null, null],
      ]);
    }
    expect(await liveKinds(db)).toEqual([]);
  });

  test("of several callers only the one whose batch is over is refused", async () => {
    const { id } = await openBatch(db, {}, [{ kind: "work" }]);
    await work(db, "w");
    const rows = await db.query(
      "select id, refused ->> 'code' as code from fairmill.enqueue_many_v1($1, partial => true)",
      [JSON.stringify([{ kind: "a" }, { kind: "b", batch: id }, { kind: "c" }])],
    );
    expect(rows.map(({ code }) => code)).toEqual([null, "FAIRMILL_BATCH_ENDED", null]);
    expect(await liveKinds(db)).toEqual(["a", "c"]);
  });

  test("a repeat by idempotency key is told of its job, also when the batch is over", async () => {
    const { id } = await openBatch(db, {}, [{ kind: "work" }]);
    const [first] = await enqueue(db, [{ kind: "more", batch: id, idempotency_key: "k" }]);
    await work(db, "w");
    expect(await stateOf(db, id)).toBe("succeeded");
    expect(await enqueue(db, [{ kind: "more", batch: id, idempotency_key: "k" }])).toEqual([
      { ...first, created: false },
    ]);
  });

  test("E3: a batch does not end while another transaction is adding to it, and no settle waits for that", async () => {
    const { id } = await openBatch(db, { callbacks: CALLBACKS }, [{ kind: "work" }]);
    const producer = await open();
    await producer.query("begin");
    await enqueue(producer, [{ kind: "late" }], { batch: id });
    await work(db, "w");
    expect(await batchOf(db, id)).toMatchObject({ state: "pending", done: 1 });
    expect((await batchOf(db, id)).check_at).not.toBeNull();
    await producer.query("commit");
    expect(await work(db, "w")).toEqual(["late"]);
    expect(await liveKinds(db)).toEqual(["success", "complete"]);
  });

  test("E3: the producer commits between the look at the members and the lock: the batch is looked at again", async () => {
    const { id } = await openBatch(db, { hold_ms: 60_000 }, [{ kind: "work" }]);
    const jobs = await claim(db, "w");
    const [producer, settler, pin] = [await open(), await open(), await open()];
    await producer.query("begin");
    await enqueue(producer, [{ kind: "late" }], { batch: id });
    // A hold that has run out, and that another session reads: the settle waits for it, after it has seen no member.
    await db.query("update fairmill.batch_hold set until = now() - interval '1 second'");
    await pin.query("begin");
    await pin.query("select from fairmill.batch_hold for update");
    const settling = settle(settler, "w", jobs, "done");
    await waitUntilBlocked(db, settler);
    await producer.query("commit");
    await pin.query("rollback");
    await settling;
    expect(await batchOf(db, id)).toMatchObject({ state: "pending", done: 1, lost: 1 });
    expect(await work(db, "w")).toEqual(["late"]);
    expect(await stateOf(db, id)).toBe("failed");
  });

  test("the same, and the producer gives up: upkeep ends the batch", async () => {
    const { id } = await openBatch(db, { callbacks: CALLBACKS }, [{ kind: "work" }]);
    const producer = await open();
    await producer.query("begin");
    await enqueue(producer, [{ kind: "late" }], { batch: id });
    await work(db, "w");
    await producer.query("rollback");
    await db.query("update fairmill.batch set check_at = now() where id = $1", [id]);
    await tick(db);
    expect(await batchOf(db, id)).toMatchObject({ state: "succeeded", check_at: null });
  });

  test("a session that adds while the batch is being ended waits, and is refused", async () => {
    const { id } = await openBatch(db, {}, [{ kind: "work" }]);
    const jobs = await claim(db, "w");
    const [settler, producer] = [await open(), await open()];
    await settler.query("begin");
    await settle(settler, "w", jobs, "done");
    const late = enqueueLimited(producer, [{ kind: "late", batch: id }]);
    await waitUntilBlocked(db, producer);
    await settler.query("commit");
    expect((await late)[0]!.refused).toMatchObject({ code: "FAIRMILL_BATCH_ENDED" });
  });
});
