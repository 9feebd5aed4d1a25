// The outbox by SQL alone: one row per key, its delivery job in the same transaction, and no end of the one without an end of the other.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { DUPLICATES, duplicatesIn } from "../support/duplicates.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { messageOf, publish, statusesOf } from "./outbox-calls.js";

const db = useDatabase();
const open = useSessions(db);

describe("publish", () => {
  test("C15: the row and its delivery job are there together; a known key stores nothing and answers with the first", async () => {
    const [first] = await publish(db, [{ payload: { text: "hi" } }]);
    expect(first!.created).toBe(true);
    const row = await messageOf(db, first!.id!);
    expect(row).toMatchObject({
      status: "pending",
      channel: "mail",
      tenant: "default",
      payload: { text: "hi" },
      attempts: [],
    });
    expect(await db.query("select id, kind, queue, state, outbox, payload from fairmill.job")).toEqual([
      {
        id: row.job_id,
        kind: "fairmill.deliver.mail",
        queue: "outbox",
        state: "ready",
        outbox: first!.id,
        payload: {},
      },
    ]);
    expect(await publish(db, [{ payload: { text: "again" } }])).toEqual([
      { id: first!.id, created: false, refused: null },
    ]);
    expect(await db.query("select count(*)::integer as jobs from fairmill.job")).toEqual([{ jobs: 1 }]);
  });

  test("C7: the same key for another tenant or channel is another message; twice in one call it is one", async () => {
    const made = await publish(db, [{}, { tenant: "acme" }, { channel: "sms" }, {}]);
    expect(made.map(({ created }) => created)).toEqual([true, true, true, false]);
    expect(made[3]!.id).toBe(made[0]!.id);
    expect(await statusesOf(db)).toEqual(["pending", "pending", "pending"]);
  });

  test("C7: two who publish the same key at once: the second waits for the first, and finds its message, or a free key", async () => {
    const [one, two] = [await open(), await open()];
    await one.query("begin");
    const [mine] = await publish(one, [{}]);
    const waiting = publish(two, [{}]);
    await waitUntilBlocked(db, two);
    await one.query("commit");
    expect(await waiting).toEqual([{ id: mine!.id, created: false, refused: null }]);

    await one.query("begin");
    await publish(one, [{ idempotency_key: "other" }]);
    const next = publish(two, [{ idempotency_key: "other" }]);
    await waitUntilBlocked(db, two);
    await one.query("rollback");
    expect(await next).toMatchObject([{ created: true }]);
  });

  test("C7: a known key that is removed while the call waits for another one is free, and the message is stored", async () => {
    const [old] = await publish(db, [{}]);
    const { job_id: job } = await messageOf(db, old!.id!);
    await db.query("select fairmill.cancel_v1($1)", [job]);
    const [one, two] = [await open(), await open()];
    await one.query("begin");
    const [mine] = await publish(one, [{ idempotency_key: "b" }]);
    const waiting = publish(two, [{}, { idempotency_key: "b" }]);
    await waitUntilBlocked(db, two);
    await db.query("delete from fairmill.outbox where id = $1", [old!.id]);
    await one.query("commit");
    expect(await waiting).toMatchObject([
      { id: expect.any(String), created: true },
      { id: mine!.id, created: false },
    ]);
    expect(await statusesOf(db)).toEqual(["pending", "pending"]);
  });

  test("C7: the check for duplicates finds a message that was taken twice, and no other", async () => {
    const [first, second] = await publish(db, [{}, { tenant: "acme" }]);
    const taken = (bodies: string[]) => new Map([["mail", new Map([["a", { bodies }]])]]);
    expect(await db.query(DUPLICATES)).toEqual([]);
    const attempt = (outcome: string) => ({ at: new Date().toISOString(), outcome });
    const attempts = (id: string, ...outcomes: string[]) =>
      db.query("update fairmill.outbox set attempts = $2 where id = $1", [id, JSON.stringify(outcomes.map(attempt))]);
    await attempts(first!.id!, "refused", "uncertain", "sent");
    await attempts(second!.id!, "sent");
    expect(await db.query(DUPLICATES)).toEqual([]);
    // On record twice.
    await attempts(second!.id!, "sent", "sent");
    expect(await db.query(DUPLICATES)).toEqual([{ idempotency_key: "acme/mail/a" }]);
    // On record once, and yet the receiver applied it twice.
    await db.query("delete from fairmill.job where outbox = $1", [second!.id]);
    await db.query("delete from fairmill.outbox where id = $1", [second!.id]);
    expect(await duplicatesIn(db.pool, { taken: taken(["hi"]) })).toEqual([]);
    expect(await duplicatesIn(db.pool, { taken: taken(["hi", "hi"]) })).toEqual(["default/mail/a"]);
  });

  test("a message without a key or a channel is refused", async () => {
    expect(await errorCode(publish(db, [{ idempotency_key: null }]))).toBe("FM001");
    expect(await errorCode(publish(db, [{ channel: null }]))).toBe("FM001");
    expect(await db.query("select * from fairmill.outbox")).toEqual([]);
  });

  test("where a limit at enqueue refuses one delivery job, no message is stored, and the keys are free", async () => {
    await db.query(
      `select fairmill.set_limits_v1('tenant', 'acme', '{"rate": {"limit": 1, "per_ms": 60000, "how": "window", "at": "enqueue"}}')`,
    );
    const refused = await publish(db, [{}, { tenant: "acme" }, { tenant: "acme", idempotency_key: "b" }]);
    expect(refused.map(({ id, refused: why }) => [id, why?.["code"] ?? null])).toContainEqual([
      null,
      "FAIRMILL_RATE_LIMIT",
    ]);
    expect(await db.query("select * from fairmill.outbox")).toEqual([]);
    expect(await publish(db, [{ tenant: "acme" }])).toMatchObject([{ created: true }]);
  });
});
