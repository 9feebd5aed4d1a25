// F4, unique keys when many callers ask at once: one job a key, and no deadlock.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { call, claim, enqueueUnique, type Met, type NewRow, register, settle } from "../../support/sql/calls.js";
import { type Session, useSessions, waitUntilBlocked } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const stored = async () => Number((await db.query<{ n: string }>("select count(*) as n from fairmill.job"))[0]!.n);
const job = (rule: NewRow, payload: unknown = "first"): NewRow => ({ kind: "work", unique_key: "k", payload, ...rule });
const one = async (ask: Session | typeof db, rule: NewRow, payload?: unknown): Promise<Met> =>
  (await enqueueUnique(ask, [job(rule, payload)]))[0]!;

const UNTIL: readonly [string, NewRow][] = [
  ["until started", { unique_until: "started" }],
  ["until settled", { unique_until: "settled" }],
  ["for a period", { unique_for_ms: 60_000 }],
];

describe("many at once", () => {
  const keyed = (keys: readonly string[], rule: NewRow) => keys.map((unique_key) => ({ ...job(rule), unique_key }));

  test("keys are taken in one order whatever order they are given in: two callers cannot deadlock", async () => {
    const rule = { on_conflict: "replace", delay_ms: 60_000 };
    const [gate, a, b] = [await open(), await open(), await open()];
    await gate.query("begin");
    await enqueueUnique(gate, keyed(["a"], rule));
    const both = [enqueueUnique(a, keyed(["c", "b", "a"], rule)), enqueueUnique(b, keyed(["a", "b", "c"], rule))];
    await Promise.all([waitUntilBlocked(db, a), waitUntilBlocked(db, b)]);
    // Both stand at the first key and hold none of the others: a third caller gets those without waiting.
    const other = await open();
    await other.query("set lock_timeout = '2s'");
    await other.query("begin");
    expect((await enqueueUnique(other, keyed(["b", "c"], rule))).map(({ created }) => created)).toEqual([true, true]);
    await other.query("rollback");
    await gate.query("rollback");
    const [fromA, fromB] = await Promise.all(both);
    expect(fromA!.map(({ id }) => id).toReversed()).toEqual(fromB!.map(({ id }) => id));
    expect(await stored()).toBe(3);
  });

  test.each(UNTIL)("16 callers with one key make one job, %s", async (_, rule) => {
    const sessions = await Promise.all(Array.from({ length: 16 }, () => open()));
    const answers = await Promise.all(sessions.map((session, n) => one(session, rule, n)));
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(await stored()).toBe(1);
  });

  test.each(UNTIL)("16 callers with 40 keys in any order, some replacing, make each job once, %s", async (_, rule) => {
    const keys = Array.from({ length: 40 }, (_, n) => `key ${n}`);
    const sessions = await Promise.all(Array.from({ length: 16 }, () => open()));
    const answers = await Promise.all(
      sessions.map((session, n) =>
        enqueueUnique(
          session,
          keyed([...keys.slice(n * 2), ...keys.slice(0, n * 2)], {
            ...rule,
            delay_ms: 60_000,
            on_conflict: n % 2 ? "replace" : "keep",
          }).map((each) => (n % 4 < 2 ? each : { ...each, idempotency_key: `${n} ${each["unique_key"]}` })),
        ),
      ),
    );
    expect(answers.flat().filter(({ created }) => created)).toHaveLength(40);
    expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(40);
    expect(await stored()).toBe(40);
  });

  test.each(UNTIL.slice(0, 2))(
    "16 callers ask while the job is claimed and settled again and again: every answer is a job that was there, %s",
    async (_, rule) => {
      await register(db, "w");
      const sessions = await Promise.all(Array.from({ length: 16 }, () => open()));
      const worker = await open();
      const answers: Met[] = [];
      let isOver = false;
      const working = (async () => {
        while (!isOver || (await stored()) > 0) {
          const claimed = await claim(worker, "w");
          await call(worker, "promote_v1()");
          if (claimed.length > 0) await settle(worker, "w", claimed, "done");
        }
      })();
      await Promise.all(
        sessions.map(async (session, n) => {
          for (let i = 0; i < 25; i++)
            answers.push(await one(session, { ...rule, on_conflict: n % 2 ? "replace" : "keep" }, `${n} ${i}`));
        }),
      );
      isOver = true;
      await working;
      const ended = await db.query<{ id: string }>("select id from fairmill.job_history");
      const made = answers.filter(({ created }) => created).map(({ id }) => id);
      expect(made.toSorted()).toEqual(ended.map(({ id }) => id).toSorted());
      expect(answers.filter(({ id }) => !made.includes(id))).toEqual([]);
      expect(answers).toHaveLength(400);
    },
  );
});
