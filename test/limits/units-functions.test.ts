// Named limits by SQL alone: what a claim takes, what is owed and given back, and who waits how long.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimUnderLimits, live } from "../support/sql/calls.js";
import { useSessions } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const HOUR = 3_600_000;
const define = (name: string, ...windows: [unit: string, limit: number, perMs?: number][]) =>
  db.query("select fairmill.define_limit_v1($1, $2)", [
    name,
    JSON.stringify(windows.map(([unit, limit, per_ms = HOUR]) => ({ unit, limit, per_ms }))),
  ]);
const use = (limit: string, units: object, key = "") => ({ limit, key, units });
const enqueue = async (...uses: object[]) => {
  const [row] = await db.query<{ id: string }>("select id from fairmill.enqueue_v1('work', uses => $1)", [
    JSON.stringify(uses),
  ]);
  return Number(row!.id);
};
const left = async (name: string, key = "") => {
  const rows = await db.query<{ unit: string; used: string; owed: string; available: number }>(
    "select unit, used, owed, available from fairmill.limit_available_v1($1, $2)",
    [name, key],
  );
  return Object.fromEntries(
    rows.map(({ unit, used, owed, available }) => [unit, [Number(used), Number(owed), available]]),
  );
};
const claimed = async (worker = "w") => (await claimUnderLimits(db, worker)).jobs.map(({ id }) => Number(id));
const say = async (id: number, used: object) => {
  const job = await live(db, String(id));
  const [row] = await db.query<{ accepted: boolean }>("select fairmill.use_v1($1, $2, $3, $4) as accepted", [
    job!.worker,
    id,
    job!.lease_no,
    JSON.stringify(used),
  ]);
  return row!.accepted;
};
const settleUsed = async (id: number, used: object, verdict = "done") => {
  const job = await live(db, String(id));
  const values = [job!.worker, [id], [job!.lease_no], [verdict], JSON.stringify([{ used }])];
  const [row] = await db.query<{ accepted: number }>(
    "select accepted from fairmill.settle_v1($1, $2, $3, $4, $5)",
    values,
  );
  return { accepted: row!.accepted, repeat: () => db.query("select fairmill.settle_v1($1, $2, $3, $4, $5)", values) };
};

test("F14: a claim takes the estimates, and delays what the window has no room for, with its attempt", async () => {
  await define("openai", ["requests", 5], ["tokens", 1_000]);
  const jobs: number[] = [];
  for (const tokens of [600, 300, 200, 100]) jobs.push(await enqueue(use("openai", { tokens })));
  const [first, second, third, fourth] = jobs;
  expect((await claimed()).toSorted()).toEqual([first, second]);
  // The fourth would fit, but goes behind the third, which came first.
  expect(await left("openai")).toEqual({ requests: [2, 0, 3], tokens: [900, 0, 100] });
  const waiting = await db.query(
    "select id::integer, state, attempt, rate_limited_times, waits_for, run_at > now() as later from fairmill.job where id = any ($1) order by id",
    [[third, fourth]],
  );
  const late = { state: "scheduled", attempt: 0, rate_limited_times: 1, waits_for: '["openai", ""]', later: true };
  expect(waiting).toEqual([
    { id: third, ...late },
    { id: fourth, ...late },
  ]);
});

test("F14: eight sessions at once never take more than the window holds", async () => {
  await define("openai", ["tokens", 1_000]);
  for (let n = 0; n < 40; n++) await enqueue(use("openai", { tokens: 70 }));
  const sessions = await Promise.all(Array.from({ length: 8 }, () => open()));
  const claims = await Promise.all(
    sessions.map((session, n) => claimUnderLimits(session, `w${n}`, [{ tenant: "default", quantum: 5 }], 5)),
  );
  expect(claims.flatMap(({ jobs }) => jobs)).toHaveLength(14);
  expect(await left("openai")).toEqual({ tokens: [980, 0, 20] });
});

test("F14: two limits on one job are both taken or none", async () => {
  await define("openai", ["tokens", 1_000]);
  await define("team", ["tokens", 500]);
  const small = await enqueue(use("openai", { tokens: 400 }), use("team", { tokens: 400 }, "t1"));
  const large = await enqueue(use("openai", { tokens: 400 }), use("team", { tokens: 400 }, "t1"));
  const other = await enqueue(use("openai", { tokens: 400 }), use("team", { tokens: 400 }, "t2"));
  expect((await claimed()).toSorted()).toEqual([small]);
  expect(await left("openai")).toEqual({ tokens: [400, 0, 600] });
  expect(await left("team", "t1")).toEqual({ tokens: [400, 0, 100] });
  expect(await left("team", "t2")).toEqual({ tokens: [0, 0, 500] });
  // It waits for its team, not for the provider; behind it stands the other, until upkeep sees that there is room.
  expect(await db.query("select waits_for from fairmill.job where id = $1", [large])).toEqual([
    { waits_for: '["team", "t1"]' },
  ]);
  await db.query("select fairmill.tick_upkeep_v1()");
  expect(await claimed()).toEqual([other]);
});

test("F14: what was not used is given back, what was used beyond is owed, and to say it again changes nothing", async () => {
  await define("openai", ["tokens", 1_000]);
  const [a, b] = [await enqueue(use("openai", { tokens: 600 })), await enqueue(use("openai", { tokens: 400 }))];
  const c = await enqueue(use("openai", { tokens: 300 }));
  expect((await claimed()).toSorted()).toEqual([a, b]);
  expect(await say(a, { openai: { tokens: 100 } })).toBe(true);
  expect(await say(a, { openai: { tokens: 100 } })).toBe(true);
  expect(await left("openai")).toEqual({ tokens: [500, 0, 500] });
  // Others wait for what is given back: upkeep finds them due.
  expect(await db.query("select run_at <= clock_timestamp() as due from fairmill.job where id = $1", [c])).toEqual([
    { due: true },
  ]);
  const settled = await settleUsed(b, { openai: { tokens: 1_200 } });
  expect(settled.accepted).toBe(1);
  await settled.repeat();
  // 100 + 400 + 500 count, 300 are owed: nothing starts.
  expect(await left("openai")).toEqual({ tokens: [1_000, 300, 0] });
  await db.query("select fairmill.tick_upkeep_v1()");
  expect(await claimed()).toEqual([]);
  expect((await settleUsed(a, { openai: { tokens: 50 } }, "retry")).accepted).toBe(1);
  expect(await left("openai")).toEqual({ tokens: [1_000, 250, 0] });
});

test("F14: a run whose lease was lost changes nothing", async () => {
  await define("openai", ["tokens", 1_000]);
  const id = await enqueue(use("openai", { tokens: 600 }));
  await claimed();
  const [row] = await db.query("select fairmill.use_v1('w', $1, 1, $2) as accepted", [
    id,
    JSON.stringify({ openai: { tokens: 1 } }),
  ]);
  expect(row).toEqual({ accepted: false });
  expect(await left("openai")).toEqual({ tokens: [600, 0, 400] });
});

test("F14: what is owed counts as soon as it has room, so no window ever holds more", async () => {
  // By numbers alone: a minute of 100, of which 100 were taken at second 0, and 250 are owed.
  const [paid] = await db.query<{ at: number[]; spent: number[]; owed: string | null }>(
    `select array(select extract(epoch from t)::integer from unnest(d.new_spent_at) as t) as at, d.new_spent as spent, d.new_owed as owed
     from fairmill.pay_debt(array[to_timestamp(0), to_timestamp(30)], array[60, 40], 250, 100, 60000, to_timestamp(155)) d`,
  );
  // At 60 and 90 the first hundred, at 120 and 150 the next: 50 are left.
  expect(paid).toEqual({ at: [120, 150], spent: [60, 40], owed: "50" });
  const [long] = await db.query<{ owed: string | null; spent: number[] }>(
    `select d.new_owed as owed, d.new_spent as spent
     from fairmill.pay_debt(array[to_timestamp(0)], array[100], 1000000000, 100, 1000, to_timestamp(86400 * 20 + 0.5)) d`,
  );
  expect(long).toEqual({ owed: String(1_000_000_000 - 86_400 * 20 * 100), spent: [100] });
});

test("F14: a job that asks for more than a window holds is refused, and so is a limit or unit that does not exist", async () => {
  await define("openai", ["tokens", 1_000]);
  await expect(enqueue(use("openai", { tokens: 1_001 }))).rejects.toMatchObject({ code: "FM014" });
  await expect(enqueue(use("opnai", { tokens: 1 }))).rejects.toMatchObject({ code: "FM001" });
  await expect(enqueue(use("openai", { pages: 1 }))).rejects.toMatchObject({ code: "FM001" });
  await expect(enqueue(use("openai", { tokens: -1 }))).rejects.toMatchObject({ code: "FM001" });
  await expect(enqueue(use("openai", {}), use("openai", {}))).rejects.toMatchObject({ code: "FM001" });
  expect(await db.query("select id from fairmill.job")).toEqual([]);
});

test("F14: spent and reset from outside of a job; why names the limit", async () => {
  await define("openai", ["tokens", 200_000, 60_000]);
  await db.query(`select fairmill.use_limit_v1('openai', 'k1', '{"tokens": 198400}')`);
  const id = await enqueue(use("openai", { tokens: 5_000 }, "k1"));
  expect(await claimed()).toEqual([]);
  const why = await db.query<{ reason: string }>(
    "select reason from fairmill.why_v1($1) where check_name = 'limit' and not passed",
    [id],
  );
  expect(why[0]!.reason).toMatch(/^limit openai of k1: 198,400 of 200,000 tokens used; free in (59|60)\.\d s$/);
  await db.query("select fairmill.reset_limit_v1('openai', 'k1')");
  await db.query("select fairmill.tick_upkeep_v1()");
  expect(await claimed()).toEqual([id]);
});

test("F14: a limit that is changed holds for what waits already, and what counts goes on counting", async () => {
  await define("openai", ["tokens", 100]);
  const first = await enqueue(use("openai", { tokens: 100 }));
  const second = await enqueue(use("openai", { tokens: 100 }));
  expect(await claimed()).toEqual([first]);
  await define("openai", ["tokens", 250]);
  await db.query("select fairmill.tick_upkeep_v1()");
  expect(await claimed()).toEqual([second]);
  expect(await left("openai")).toEqual({ tokens: [200, 0, 50] });
  expect(await db.query("select count(*)::integer as count from fairmill.named_limit")).toEqual([{ count: 1 }]);
});
