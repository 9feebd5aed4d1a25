// Messages in order by SQL alone: of a key one is under way, the next begins with its end, and no settle waits for a caller's transaction.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { call, setRule, settle, tick } from "../support/sql/calls.js";
import { errorCode, useSessions } from "../support/sql/sessions.js";
import { begin, claimDeliveries, messageOf, publish, publishOne, statusesOf } from "./outbox-calls.js";

const db = useDatabase();
const open = useSessions(db);

const inOrder = (count: number, order = "chat 1") =>
  Array.from({ length: count }, (_, n) => ({ idempotency_key: `${order} ${n}`, order_key: order }));

/** Keys of the messages that have a live job, in the order of their ids. */
const underWay = async () =>
  (
    await db.query<{ key: string }>(
      "select idempotency_key as key from fairmill.outbox where ended_at is null and waiting is null order by id",
    )
  ).map(({ key }) => key);

/** Delivers whatever can be claimed now; returns its keys. */
async function deliver(verdict: "done" | "dead" = "done") {
  const jobs = await claimDeliveries(db, "w");
  const begun = await begin(db, "w", jobs);
  await settle(
    db,
    "w",
    jobs,
    verdict,
    jobs.map(() => ({ error: { message: "no" } })),
  );
  return begun.map(({ idempotency_key }) => idempotency_key);
}

test("the first begins by upkeep, each other with the end of the one before it, whatever that end is", async () => {
  await publish(db, [...inOrder(3), ...inOrder(1, "chat 2")]);
  expect(await underWay()).toEqual([]);
  await tick(db);
  expect(await underWay()).toEqual(["chat 1 0", "chat 2 0"]);
  expect(await deliver("dead")).toEqual(["chat 1 0", "chat 2 0"]);
  expect(await underWay()).toEqual(["chat 1 1"]);
  const [next] = await db.query<{ job_id: string }>(
    "select job_id from fairmill.outbox where idempotency_key = 'chat 1 1'",
  );
  expect(await call(db, "cancel_v1($1)", [next!.job_id])).toBe("cancelled");
  expect(await underWay()).toEqual(["chat 1 2"]);
  expect(await deliver()).toEqual(["chat 1 2"]);
  expect(await statusesOf(db)).toEqual(["unknown", "skipped", "sent", "unknown"]);
});

test("the table itself refuses a second one under way", async () => {
  await publish(db, inOrder(2));
  await tick(db);
  expect(await errorCode(db.query("update fairmill.outbox set waiting = null where waiting is not null"))).toBe(
    "23505",
  );
});

test("another tenant or channel has an order of its own", async () => {
  const one = { order_key: "k" };
  await publish(db, [one, { ...one, tenant: "acme" }, { ...one, channel: "sms" }]);
  await tick(db);
  expect(await underWay()).toEqual(["a", "a", "a"]);
});

test("one that is published while the one before it ends is found by upkeep, whichever commits first", async () => {
  await publish(db, inOrder(1));
  await tick(db);
  const jobs = await claimDeliveries(db, "w");
  const [caller, worker] = [await open(), await open()];
  // The settle does not see the new one, and does not wait for it either.
  await caller.query("begin");
  await publish(caller, [{ idempotency_key: "next", order_key: "chat 1" }]);
  await settle(worker, "w", jobs, "done");
  await tick(db);
  await caller.query("commit");
  expect(await underWay()).toEqual([]);
  await tick(db);
  expect(await underWay()).toEqual(["next"]);
});

test("upkeep that looks while the one before ends leaves the mark, and the settle finds the next, or the next upkeep does", async () => {
  await publish(db, inOrder(1));
  await tick(db);
  const jobs = await claimDeliveries(db, "w");
  const [worker, upkeep] = [await open(), await open()];
  await worker.query("begin");
  await settle(worker, "w", jobs, "done");
  // Committed behind the settle's look for the next one.
  await publishOne(db, { idempotency_key: "next", order_key: "chat 1" });
  const [left] = await tick(upkeep);
  expect(left!["next_in_ms"]).toBe(1000);
  expect(await db.query("select idempotency_key from fairmill.outbox where recheck")).toEqual([
    { idempotency_key: "next" },
  ]);
  await worker.query("commit");
  await tick(upkeep);
  expect(await underWay()).toEqual(["next"]);
});

test("while one is under way the marks of those behind it go: its end will find them", async () => {
  await publish(db, inOrder(4));
  await tick(db);
  expect(await db.query("select id from fairmill.outbox where recheck")).toEqual([]);
  expect(await deliver()).toEqual(["chat 1 0"]);
  expect(await deliver()).toEqual(["chat 1 1"]);
});

test("a publisher tells those who are awake, with its commit", async () => {
  const [listener, caller] = [await open(), await open()];
  await claimDeliveries(db, "w");
  await listener.query("listen fairmill");
  await caller.query("begin");
  await publish(caller, inOrder(1));
  await listener.query("select 1");
  expect(listener.notified).toEqual([]);
  await caller.query("commit");
  await listener.query("select 1");
  expect(listener.notified).toEqual(["fairmill !due 0"]);
});

test("in order and under a limit of its channel: it waits for its place like any other", async () => {
  await setRule(db, { per: "kind", max_running: 1 }, "fairmill.deliver.mail");
  await publish(db, [...inOrder(2), ...inOrder(1, "chat 2")]);
  await tick(db);
  await tick(db);
  expect(await underWay()).toEqual(["chat 1 0", "chat 2 0"]);
  expect(await deliver()).toHaveLength(1);
  await tick(db);
  const rest: unknown[] = [];
  for (let n = 0; n < 4; n++) {
    rest.push(...(await deliver()));
    await tick(db);
  }
  expect(rest).toHaveLength(2);
});

describe("sent again", () => {
  test("a message is held while another of its order is under way, and takes its turn when there is none", async () => {
    const [first] = await publish(db, inOrder(2));
    await tick(db);
    const [job] = await claimDeliveries(db, "w");
    await settle(db, "w", [job!], "dead", [{ error: { message: "no" } }]);
    expect(await messageOf(db, first!.id!)).toMatchObject({ status: "failed" });
    expect(await call(db, "retry_v1($1)", [job!.id])).toBe("order_busy");
    expect(await call(db, "resolve_delivery_v1($1, 'resend')", [first!.id])).toBe("order_busy");
    expect((await messageOf(db, first!.id!)).attempts).toEqual([]);
    await deliver();
    expect(await call(db, "retry_v1($1)", [job!.id])).toBe("ready");
    expect(await deliver()).toEqual(["chat 1 0"]);
  });

  test("in a transaction that stays open it keeps upkeep of its key waiting for a moment only, and no other session", async () => {
    await publish(db, inOrder(1));
    await tick(db);
    const [job] = await claimDeliveries(db, "w");
    await settle(db, "w", [job!], "dead", [{ error: { message: "no" } }]);
    const caller = await open();
    await caller.query("begin");
    expect(await call(caller, "retry_v1($1)", [job!.id])).toBe("ready");
    await publish(db, [{ idempotency_key: "next", order_key: "chat 1" }, ...inOrder(1, "chat 2")]);
    const [left] = await tick(db);
    expect(left!["next_in_ms"]).toBe(1000);
    expect(await underWay()).toEqual(["chat 2 0"]);
    await caller.query("commit");
    expect((await deliver()).toSorted()).toEqual(["chat 1 0", "chat 2 0"]);
    await tick(db);
    expect(await underWay()).toEqual(["next"]);
  });
});

test("many who settle, publish and do upkeep at once: each key in its order, no message left behind", async () => {
  const KEYS = 5;
  const EACH = 12;
  const publishing = Array.from({ length: KEYS }, async (_, k) => {
    for (const message of inOrder(EACH, `chat ${k}`)) await publish(db, [message]);
  });
  const sent: (string | null)[] = [];
  let isDone = false;
  const working = Array.from({ length: 4 }, async (_, w) => {
    const session = await open();
    while (!isDone) {
      await tick(session);
      const jobs = await claimDeliveries(session, `w${w}`, 3);
      if (jobs.length === 0) continue;
      let asking = jobs.toSorted((a, b) => Number(a.id) - Number(b.id));
      while (asking.length > 0) {
        const begun = await begin(session, `w${w}`, asking);
        // Noted before the settle: only then may the next one begin. Upkeep may hold a job for a moment: that one is asked again.
        const busy = new Set(begun.flatMap(({ answer, job_id }) => (answer === "busy" ? [job_id] : [])));
        sent.push(...begun.flatMap(({ answer, idempotency_key }) => (answer === "busy" ? [] : [idempotency_key])));
        asking = asking.filter(({ id }) => busy.has(id));
      }
      await settle(
        session,
        `w${w}`,
        jobs.toSorted((a, b) => Number(a.id) - Number(b.id)),
        "done",
      );
      isDone = sent.length === KEYS * EACH;
    }
  });
  await Promise.all([...publishing, ...working]);
  for (let k = 0; k < KEYS; k++)
    expect(sent.filter((key) => key!.startsWith(`chat ${k} `))).toEqual(
      inOrder(EACH, `chat ${k}`).map((m) => m.idempotency_key),
    );
});
