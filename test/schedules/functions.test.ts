// F3: what the database keeps about schedules by itself: each tick once, whichever worker computed it.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { type Asker, call } from "../support/sql/calls.js";
import { errorCode, useSessions } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const declare = (name: string, job: object = { kind: "work" }, fingerprint = "1") =>
  call<string>(db, "set_schedule_v1($1, '* * * * *', 'UTC', $2, $3, now() - interval '1 minute')", [
    name,
    JSON.stringify(job),
    fingerprint,
  ]);

/** A tick of a minute ago, the same for all tests. */
const TICK = `'${new Date(Math.floor(Date.now() / 60_000 - 1) * 60_000).toISOString()}'::timestamptz`;

interface Answer {
  ticked: boolean;
  jobs: string[];
  refusals: { tick_at: string; refused: { code: string } }[] | null;
}

async function tick(
  ask: Asker,
  name: string,
  revision = 1,
  ticks = `array[${TICK}]`,
  delays = "'{0}'",
): Promise<Answer> {
  const [row] = await ask.query<Answer & Record<string, unknown>>(
    `select * from fairmill.tick_schedule_v1($1, $2, ${ticks}, ${delays}, now() + interval '1 hour')`,
    [name, revision],
  );
  return row!;
}
const jobs = () => db.query<{ id: string; state: string }>("select id, state, run_at from fairmill.job order by id");
const scheduleOf = async (name: string) =>
  (await db.query("select * from fairmill.schedule where name = $1", [name]))[0]!;

describe("a tick", () => {
  test("makes its job and moves the schedule on", async () => {
    expect(await declare("s", { kind: "work", tenant: "acme", payload: { a: 1 } })).toBe("created");
    const { ticked, jobs: made, refusals } = await tick(db, "s");
    expect({ ticked, refusals }).toEqual({ ticked: true, refusals: null });
    expect(await db.query("select id, kind, tenant, payload, state from fairmill.job")).toEqual([
      { id: made[0], kind: "work", tenant: "acme", payload: { a: 1 }, state: "ready" },
    ]);
    const after = await scheduleOf("s");
    expect(after).toMatchObject({ revision: "2", last_job_id: made[0], last_error: null });
    expect(after["next_at"].getTime()).toBeGreaterThan(Date.now());
  });

  test("F3: of sixteen who reckoned the same one, one has it", async () => {
    await declare("s");
    const sessions = await Promise.all(Array.from({ length: 16 }, open));
    const answers = await Promise.all(sessions.map((session) => tick(session, "s")));
    expect(answers.filter(({ ticked }) => ticked)).toHaveLength(1);
    // One who was asleep since it reckoned.
    expect(await tick(db, "s")).toMatchObject({ ticked: false });
    expect(await jobs()).toHaveLength(1);
  });

  test("computed before the schedule was changed, paused or ticked is thrown away", async () => {
    await declare("s");
    await declare("s", { kind: "other" }, "2");
    expect(await tick(db, "s", 1)).toMatchObject({ ticked: false, jobs: [] });
    await call(db, "pause_schedule_v1('s', true)");
    expect(await tick(db, "s", 3)).toMatchObject({ ticked: false });
    expect(await tick(db, "nobody")).toMatchObject({ ticked: false });
    expect(await jobs()).toEqual([]);
  });

  test("no session waits for a schedule that another one has locked", async () => {
    await declare("s");
    const holder = await open();
    await holder.query("begin");
    await holder.query("select from fairmill.schedule where name = 's' for update");
    expect(await tick(db, "s")).toMatchObject({ ticked: false });
    await holder.query("rollback");
  });

  test("F3: is known for good: a schedule that was removed and made again does not repeat it", async () => {
    await declare("s");
    expect((await tick(db, "s")).jobs).toHaveLength(1);
    expect(await call(db, "remove_schedule_v1('s')")).toBe(true);
    await declare("s");
    expect(await tick(db, "s")).toMatchObject({ ticked: true, jobs: [] });
    expect(await jobs()).toHaveLength(1);
    expect(await errorCode(db.query("insert into fairmill.schedule_tick select * from fairmill.schedule_tick"))).toBe(
      "23505",
    );
  });

  test("of the future makes nothing", async () => {
    await declare("s");
    expect(await tick(db, "s", 1, "array[now() + interval '1 minute']")).toMatchObject({ ticked: true, jobs: [] });
    expect(await jobs()).toEqual([]);
  });

  test("a schedule cannot be left due for ever", async () => {
    await declare("s");
    const still = "select * from fairmill.tick_schedule_v1('s', 1, '{}', '{}', now() - interval '1 hour')";
    expect(await errorCode(db.query(still))).toBe("FM001");
  });

  test("with a delay starts after it, unless that has passed", async () => {
    await declare("s");
    await tick(db, "s", 1, `array[${TICK}, ${TICK} - interval '1 hour']`, "'{600000, 600000}'");
    expect((await jobs()).map(({ state }) => state).toSorted()).toEqual(["ready", "scheduled"]);
    expect(
      await db.query(
        "select j.run_at - t.tick_at = interval '10 minutes' as fits from fairmill.job j join fairmill.schedule_tick t on t.job_id = j.id where j.state = 'scheduled'",
      ),
    ).toEqual([{ fits: true }]);
  });

  test("that a limit refuses is recorded, the others are made, and the schedule goes on", async () => {
    await db.query(
      "insert into fairmill.limit_setting (scope, name, rate_limit, rate_per_ms, rate_how, rate_at) values ('kind', 'work', 1, 3600000, 'window', 'enqueue')",
    );
    await declare("s");
    const answer = await tick(db, "s", 1, `array[${TICK} - interval '1 minute', ${TICK}]`, "'{0, 0}'");
    expect(answer.jobs).toHaveLength(1);
    expect(answer.refusals).toMatchObject([{ refused: { code: "FAIRMILL_RATE_LIMIT" } }]);
    expect(
      await db.query("select job_id, refused ->> 'code' as code from fairmill.schedule_tick order by tick_at"),
    ).toEqual([
      { job_id: answer.jobs[0], code: null },
      { job_id: null, code: "FAIRMILL_RATE_LIMIT" },
    ]);
    expect(await scheduleOf("s")).toMatchObject({ last_error: { refused: { code: "FAIRMILL_RATE_LIMIT" } } });
  });
});

test("upkeep says when the next tick falls due; a paused schedule has none, and one that fails waits", async () => {
  const nextInMs = async () =>
    (await db.query("select next_in_ms from fairmill.tick_upkeep_v1()"))[0]!["next_in_ms"] as number | null;
  expect(await nextInMs()).toBeNull();
  await declare("s");
  expect(await nextInMs()).toBeLessThan(0);
  await call(db, `postpone_schedule_v1('s', 1, '{"code": "X", "message": "x"}')`);
  expect(await nextInMs()).toBeGreaterThan(5_000);
  await call(db, "pause_schedule_v1('s', true)");
  expect(await nextInMs()).toBeNull();
  await call(db, "pause_schedule_v1('s', false, now() + interval '5 minutes')");
  expect(await nextInMs()).toBeGreaterThan(290_000);
  expect(await nextInMs()).toBeLessThan(300_001);
});

test("a schedule that is declared or goes on wakes who sleeps", async () => {
  await db.query(
    "insert into fairmill.worker (id, queues, lease_until, listening) values ('w', '{}', now() + interval '1 minute', true)",
  );
  const listener = await open();
  await listener.query("listen fairmill");
  await declare("s");
  await listener.query("select 1");
  expect(listener.notified).toEqual(["fairmill !due 0"]);
  await call(db, "pause_schedule_v1('s', true)");
  await call(db, "pause_schedule_v1('s', false, now() + interval '5 seconds')");
  await listener.query("select 1");
  expect(listener.notified).toEqual(["fairmill !due 0", expect.stringMatching(/^fairmill !due (4\d\d\d|5000)$/)]);
});

test("the table refuses what is no job, and jobs that say when they run", async () => {
  for (const job of [[], {}, { kind: "k", run_at: "now" }, { kind: "k", idempotency_key: "k" }])
    expect(await errorCode(declare("s", job)), JSON.stringify(job)).toBe("23514");
});

test("retention removes old ticks, but not those of jobs that live", async () => {
  await declare("s");
  await tick(db, "s", 1, `array[${TICK}, ${TICK} - interval '1 minute']`, "'{0, 0}'");
  await db.query("update fairmill.schedule_tick set made_at = now() - interval '40 days'");
  await db.query(
    "update fairmill.schedule_tick set job_id = -1 where tick_at = (select max(tick_at) from fairmill.schedule_tick)",
  );
  expect(await call(db, "retention()")).toBe(1);
  expect(await db.query("select from fairmill.schedule_tick")).toHaveLength(1);
});
