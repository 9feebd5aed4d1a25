// Budgets by SQL alone: what counts, what is refused, what waits, and when a period is over.
import pg from "pg";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { call, claim, enqueue, register } from "../support/sql/calls.js";
import { openSession, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const open = useSessions(db);

interface Says {
  readonly [id: string]: { readonly spent?: { readonly spent: number }; readonly soft?: true };
}

let calls = 0;
const newCall = (cost: number, more: object = {}) => ({
  ...{ id: `call-${++calls}`, job_id: 1, provider: "gemini", tenant: "acme", kind: "paint", worker: "w" },
  ...{ currency: "USD", cost, ...more },
});
const charge = (begun: readonly object[], ended: readonly object[] = [], ask: Pick<typeof db, "query"> = db) =>
  call<Says>(ask as typeof db, "charge_calls_v1($1, $2)", [JSON.stringify(begun), JSON.stringify(ended)]);
/** Of each call, in order: whether it may begin. */
const begins = async (...costs: number[]) => {
  const given = costs.map((cost) => newCall(cost));
  const says = await charge(given);
  return given.map(({ id }) => says[id]?.spent === undefined);
};
const budget = (settings: string) => db.query(`select fairmill.set_budget_v1('acme', ${settings})`);
const stands = async () => {
  const [row] = await db.query<{ spent: string; state: string }>(
    "select spent, state from fairmill.budgets_v1('acme')",
  );
  return [Number(row!.spent), row!.state];
};
const needs = (kind: string, chains: string) =>
  db.query("insert into fairmill.provider_need (kind, chains) values ($1, $2)", [kind, chains]);
const refusalOf = async (job: object) => {
  const [stored] = await db.query<{ refused: { code: string; spent: number } | null }>(
    "select refused from fairmill.enqueue_many_v1($1)",
    [JSON.stringify([job])],
  );
  return stored!.refused;
};
const keptBy = (id: string) =>
  db.query<{ reason: string }>("select reason from fairmill.why_v1($1) where not passed limit 1", [id]);

test("a call that would lead beyond the hard limit does not begin and has no charge, and smaller ones do until nothing is left", async () => {
  await budget("'month', hard => 1");
  expect(await begins(0.6, 0.6, 0.3)).toEqual([true, false, true]);
  // What found no room needs more than is left.
  expect(await stands()).toEqual([0.9, "spent"]);
  expect(await begins(0.1, 0.01, 0)).toEqual([true, false, true]);
  expect(await stands()).toEqual([1, "spent"]);
  const [row] = await db.query<{ charges: string; sum: string; calls: string }>(
    `select (select count(*) from fairmill.provider_charge) as charges, sum(cost) as sum, sum(calls) as calls
     from fairmill.provider_cost`,
  );
  expect(row).toEqual({ charges: "4", sum: "1.00", calls: "4" });
});

test("an end counts as it was: what is given back is room, and what was dearer than expected is beyond", async () => {
  await budget("'day', hard => 1");
  const [one, two] = [newCall(0.5), newCall(0.5)];
  await charge([one, two]);
  expect(await stands()).toEqual([1, "spent"]);
  await charge([], [{ id: one.id, state: "void" }]);
  // Repeated, it changes nothing.
  await charge([], [{ id: one.id, state: "void" }]);
  expect(await stands()).toEqual([0.5, "within"]);
  await charge([], [{ id: two.id, state: "paid", cost: 1.2 }]);
  expect(await stands()).toEqual([1.2, "spent"]);
  expect(await begins(0.01)).toEqual([false]);
});

test("a repeated charge counts once, and a call whose worker died counts as expected", async () => {
  await budget("'day', hard => 1");
  const given = newCall(0.4, { worker: "it dies" });
  await charge([given]);
  expect(await charge([given])).toEqual({});
  expect(await stands()).toEqual([0.4, "within"]);
});

test("sessions that charge at once never come beyond the limit together", async () => {
  await budget("'month', hard => 5");
  const sessions = await Promise.all(Array.from({ length: 8 }, () => openSession(db.url)));
  const begun = await Promise.all(
    sessions.map(async (session, no) => {
      let mine = 0;
      for (let n = 0; n < 20; n++) {
        // Each of a kind of its own: the sums of the day do not make them wait for each other.
        const given = newCall(0.1, { kind: `kind-${no}` });
        const says = await charge([given], [], session);
        if (says[given.id]?.spent === undefined) mine++;
      }
      return mine;
    }),
  );
  expect(begun.reduce((sum, one) => sum + one, 0)).toBe(50);
  expect(await stands()).toEqual([5, "spent"]);
});

test("a budget that is set in the middle of its period has counted what went before, in any time zone", async () => {
  await charge([newCall(0.3), newCall(0.2, { provider: "second" }), newCall(9, { tenant: "other" })]);
  await charge([newCall(7, { currency: "EUR" })]);
  for (const zone of ["UTC", "Asia/Tokyo", "America/New_York"]) {
    await budget(`'month', hard => 1, time_zone => '${zone}'`);
    expect(await stands()).toEqual([0.5, "within"]);
  }
  await db.query("select fairmill.remove_budget_v1('acme', 'month')");
  await budget("'day', hard => 1, provider => 'second'");
  expect(await stands()).toEqual([0.2, "within"]);
  await expect(budget("'day', hard => 1, time_zone => 'Mars'")).rejects.toMatchObject({ code: "FM001" });
  await expect(budget("'week', hard => 1")).rejects.toMatchObject({ code: "FM001" });
});

test("a charge that is under way when its budget is set counts in what the budget begins with", async () => {
  const [charging, setting] = [await open(), await open()];
  await charging.query("begin");
  await charge([newCall(0.4)], [], charging);
  const set = setting.query("select fairmill.set_budget_v1('acme', 'month', hard => 1)");
  await waitUntilBlocked(db, setting);
  await charging.query("commit");
  await set;
  expect(await stands()).toEqual([0.4, "within"]);
});

test("jobs that need a provider are refused while the budget is spent, and those that wait say why and are not claimed", async () => {
  await needs("paint", '[["gemini"]]');
  const [waiting, other] = await enqueue(db, [
    { kind: "paint", tenant: "acme" },
    { kind: "mail", tenant: "acme" },
  ]);
  await enqueue(db, [{ kind: "paint", tenant: "calm" }]);
  await budget("'month', hard => 1");
  await begins(0.99, 0.04);
  expect(await stands()).toEqual([0.99, "spent"]);

  expect(await refusalOf({ kind: "paint", tenant: "acme" })).toMatchObject({
    ...{ code: "FAIRMILL_BUDGET_EXHAUSTED", spent: 0.99, hard: 1, tenant: "acme" },
  });
  expect(await refusalOf({ kind: "mail", tenant: "acme" })).toBeNull();
  await expect(db.query("select fairmill.enqueue_v1('paint', tenant => 'acme')")).rejects.toMatchObject({
    code: "FM015",
  });
  const [{ reason }] = (await keptBy(waiting!.id!)) as [{ reason: string }];
  expect(reason).toMatch(
    /^The budget of acme for \w+ \d{4} is spent: 0.99 of 1 USD, and the next call needs 0.04. It goes on at \d{4}-\d\d-01T00:00:00.000Z, or when the budget is raised.$/,
  );
  const backlog = await db.query("select reason, jobs from fairmill.backlog_v1(null, '{paint,mail}') order by reason");
  expect(backlog).toEqual([
    { reason: "budget spent", jobs: 1 },
    { reason: "runnable", jobs: 3 },
  ]);
  await register(db, "w");
  expect((await claim(db, "w", 10)).map(({ kind, tenant }) => `${tenant} ${kind}`).toSorted()).toEqual([
    "acme mail",
    "acme mail",
    "calm paint",
  ]);
  expect(other!.id).toBeDefined();

  await budget("'month', hard => 2");
  expect((await claim(db, "w", 10)).map(({ id }) => id)).toEqual([waiting!.id]);
});

test("a budget of one provider keeps only kinds that have no way around it", async () => {
  await needs("paint", '[["gemini", "second"]]');
  await needs("sketch", '[["gemini"]]');
  await budget("'month', hard => 1, provider => 'gemini'");
  await begins(1);
  expect(await refusalOf({ kind: "paint", tenant: "acme" })).toBeNull();
  expect(await refusalOf({ kind: "sketch", tenant: "acme" })).toMatchObject({ code: "FAIRMILL_BUDGET_EXHAUSTED" });
  await budget("'month', hard => 0, provider => 'second'");
  expect(await refusalOf({ kind: "paint", tenant: "acme" })).toMatchObject({ code: "FAIRMILL_BUDGET_EXHAUSTED" });
});

test("when the day is over by the database's clock, the next one has its whole budget", async () => {
  await needs("paint", '[["gemini"]]');
  // A time zone whose midnight is in two seconds.
  const [zone] = await db.query<{ name: string }>(
    `select '<x>' || case when s < 43200 then '+' else '-' end || to_char(case when s < 43200 then s else 86400 - s end * interval '1 second', 'HH24:MI:SS') as name
     from (select (extract(epoch from now() at time zone 'UTC' + interval '2 seconds')::bigint % 86400) as s) x`,
  );
  await budget(`'day', hard => 1, time_zone => '${zone!.name}'`);
  const open = newCall(1);
  await charge([open]);
  const refused = () => refusalOf({ kind: "paint", tenant: "acme" });
  expect(await refused()).toMatchObject({ code: "FAIRMILL_BUDGET_EXHAUSTED" });
  await waitUntil("the day is over", async () => ((await refused()) === null ? true : undefined));
  expect(await stands()).toEqual([0, "within"]);
  // A call of yesterday that turns out to be dearer is no cost of today.
  await charge([], [{ id: open.id, state: "paid", cost: 5 }]);
  expect(await begins(0.7, 0.7)).toEqual([true, false]);
  expect(await stands()).toEqual([0.7, "spent"]);
});

test("a budget of a period that is over makes no other call look at budgets, although nobody has charged since", async () => {
  await budget("'month', hard => 1");
  await begins(1);
  const one = "enqueue_one_v1('work', '{}')";
  const looks = async () => [await call(db, "has_limits_at_enqueue('{work}')"), (await call(db, one)) === null];
  expect(await looks()).toEqual([true, true]);
  await db.query(`update fairmill.budget set period_from = now() - interval '2 months', period_until = now() - interval '1 second',
    closed_until = now() - interval '1 second'`);
  expect(await looks()).toEqual([false, false]);
});

test("whether any budget is spent is one probe, also where many were spent in a period that is over", async () => {
  await db.query(`insert into fairmill.budget (tenant, per, hard, period_from, period_until, spent, closed_until)
    select 't' || n, 'day', 1, now() - interval '2 days', now() - interval '1 day', 1, now() - interval '1 day' from generate_series(1, 500) n`);
  const session = await open();
  await session.query("set enable_seqscan = off");
  const plan = await session.query<{ "QUERY PLAN": string }>(
    "explain (analyze, costs off, timing off, summary off) select exists (select from fairmill.budget b where b.closed_until > now())",
  );
  const lines = plan.map((row) => row["QUERY PLAN"]).join("\n");
  expect(lines).toContain("budget_closed");
  expect(lines).not.toContain("Rows Removed");
});

test("the soft threshold is told with every call beyond it, and refuses nothing", async () => {
  await budget("'month', soft => 0.5");
  const given = [newCall(0.4), newCall(0.4), newCall(0.4)];
  const says = await charge(given);
  expect(given.map(({ id }) => says[id])).toEqual([undefined, { soft: true }, { soft: true }]);
  expect(await stands()).toEqual([1.2, "soft"]);
});

test("raising a budget, removing it, and a call that gives room back tell all workers", async () => {
  const listener = new pg.Client({ connectionString: db.url });
  await listener.connect();
  const heard: string[] = [];
  listener.on("notification", ({ payload }) => heard.push(payload!));
  await listener.query("listen fairmill");
  const told = (times: number) => waitUntil(`told ${times} times`, () => (heard.length === times ? true : undefined));
  await budget("'month', hard => 1");
  await told(1);
  const given = newCall(1);
  await charge([given]);
  expect(await begins(1)).toEqual([false]);
  await charge([], [{ id: given.id, state: "void" }]);
  await told(2);
  await db.query("select fairmill.remove_budget_v1('acme', 'month')");
  await told(3);
  expect(new Set(heard)).toEqual(new Set(["!budget"]));
  await listener.end();
});
