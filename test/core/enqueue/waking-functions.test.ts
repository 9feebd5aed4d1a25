// Who is woken by an enqueue: sleeping workers of its queues, with the commit, and no other session.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { call, enqueue, register } from "../../support/sql/calls.js";
import { type Session, useSessions } from "../../support/sql/sessions.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const open = useSessions(db);

describe("waking", () => {
  async function listener(): Promise<Session> {
    const session = await open();
    await session.query("listen fairmill");
    return session;
  }

  /** Everything that was sent up to now: a mark is sent behind it and waited for. */
  async function sent(session: Session): Promise<string[]> {
    await db.query("notify fairmill, 'mark'");
    await waitUntil("the mark", async () => {
      await session.query("select");
      return session.notified.includes("fairmill mark");
    });
    return session.notified.splice(0).filter((heard) => heard !== "fairmill mark");
  }

  const sleeper = async (worker: string, queues: string[]) => {
    await db.query("select fairmill.register_v1($1, $2, '1 hour')", [worker, queues]);
    await call(db, "listening_v1($1, true)", [worker]);
  };

  test("B20: nothing is told while no worker sleeps", async () => {
    const observer = await listener();
    await register(db, "busy");
    await sleeper("elsewhere", ["other"]);
    await sleeper("gone", ["default"]);
    await call(db, "stop_worker_v1('gone')");
    await sleeper("silent", ["default"]);
    await db.query("update fairmill.worker set lease_until = now() - interval '1 second' where id = 'silent'");
    await enqueue(db, [{ kind: "work" }]);
    expect(await sent(observer)).toEqual([]);
  });

  test("B20: a sleeping worker is notified which of its queues has work, once per queue, with the commit", async () => {
    const observer = await listener();
    await sleeper("w", ["default", "mail"]);
    const session = await open();
    await session.query("begin");
    await enqueue(session, [
      { kind: "a" },
      { kind: "b" },
      { kind: "c", queue: "mail" },
      { kind: "d", queue: "nobody's" },
    ]);
    expect(await sent(observer)).toEqual([]);
    await session.query("commit");
    expect((await sent(observer)).toSorted()).toEqual(["fairmill default", "fairmill mail"]);
  });

  test("a job that is due within ten seconds is announced with its time, a later one is not", async () => {
    const observer = await listener();
    await sleeper("w", ["default"]);
    await enqueue(db, [
      { kind: "work", delay_ms: 3_000 },
      { kind: "work", delay_ms: 60_000 },
    ]);
    expect(await sent(observer)).toEqual(["fairmill !due 3000"]);
    await enqueue(db, [{ kind: "work", delay_ms: 60_000 }]);
    expect(await sent(observer)).toEqual([]);
  });

  test("a job's own delay counts, not the shared one that it replaces", async () => {
    const observer = await listener();
    await sleeper("w", ["default"]);
    await enqueue(
      db,
      [
        { kind: "work", delay_ms: 0 },
        { kind: "work", delay_ms: 2_000 },
      ],
      { delay_ms: 3_600_000 },
    );
    expect((await sent(observer)).toSorted()).toEqual(["fairmill !due 2000", "fairmill default"]);
  });

  test("the caller who wakes by itself says so, and nothing is sent", async () => {
    const observer = await listener();
    await sleeper("w", ["default"]);
    await db.query("select fairmill.enqueue_many_v1($1, '{}', false)", [JSON.stringify([{ kind: "work" }])]);
    expect(await sent(observer)).toEqual([]);
    await call(db, "wake_v1('{default,default,other}', 5)");
    expect(await sent(observer)).toEqual(["fairmill default", "fairmill !due 5"]);
  });
});
