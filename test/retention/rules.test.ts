// Retention by kind, state and tenant: the most specific rule holds, rows go in bounded steps, and a day stays while a rule keeps a job of it.
import { createClient } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { call } from "../support/sql/calls.js";
import { useSessions } from "../support/sql/sessions.js";

const db = useDatabase();
afterEach(async () => {
  await db.query("delete from fairmill.job_history");
  for (const { part } of await days()) await db.query(`drop table fairmill.${part}`);
});
const open = useSessions(db);

const DAYS = "select part from fairmill.history_days() where until < now() - interval '2 days' and since > '-infinity'";
const days = () => db.query<{ part: string }>(DAYS);
const retain = (keep = "30 days") => call<number>(db, "retention($1)", [keep]);

/** The partition of a day so long ago. */
async function makeDay(daysAgo: number): Promise<string> {
  const [{ part, since }] = (await db.query<{ part: string; since: string }>(
    `select 'job_history_' || to_char(d, 'YYYYMMDD') as part, d::text as since from (select (now() at time zone 'UTC')::date - $1::integer as d) x`,
    [daysAgo],
  )) as [{ part: string; since: string }];
  await db.query(
    `create table fairmill.${part} partition of fairmill.job_history for values from ('${since} 00:00+00') to ('${since} 24:00+00')`,
  );
  return part;
}

interface Ended {
  readonly kind?: string;
  readonly state?: string;
  readonly tenant?: string;
  readonly daysAgo: number;
  readonly count?: number;
}

const end = async ({ kind = "work", state = "done", tenant = "t", daysAgo, count = 1 }: Ended): Promise<string[]> =>
  (
    await db.query<{ id: string }>(
      `insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, ended_at, payload, worker)
       select nextval('fairmill.job_id_seq'), 1, 0, 1, 0, 3, $1, 'default', $2, $3, e.at, e.at, '{}', 'w'
       from generate_series(1, $5) cross join (select ((now() at time zone 'UTC')::date - $4::integer)::timestamp at time zone 'UTC' + interval '1 hour' as at) e
       returning id`,
      [state, tenant, kind, daysAgo, count],
    )
  ).map(({ id }) => id);

const ids = async () =>
  (await db.query<{ id: string }>("select id from fairmill.job_history order by id")).map((r) => r.id);

/** Upkeep until every walk that is due is over: as many idle rounds in a row as there may be walks. */
async function retainAll(keep = "30 days"): Promise<void> {
  for (let idle = 0, steps = 0; idle < 12; steps++) {
    if (steps > 500) throw new Error("The walks do not end.");
    idle = (await retain(keep)) === 0 ? idle + 1 : 0;
  }
}

let client: ReturnType<typeof createClient>;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
  endAfterTest(() => client.close());
});

describe("rules", () => {
  test("the most specific rule holds: tenant before kind before state, whatever the lengths are", async () => {
    await makeDay(10);
    await client.retention.set({ state: "done" }, { keep: "5d" });
    await client.retention.set({ kind: "mail" }, { keep: "20d" });
    await client.retention.set({ tenant: "acme" }, { keep: "2d" });
    await client.retention.set({ tenant: "acme", kind: "mail", state: "dead" }, { keep: "forever" });
    const [byState] = await end({ daysAgo: 10 });
    const [byKind] = await end({ kind: "mail", daysAgo: 10 });
    const [byTenant] = await end({ kind: "mail", tenant: "acme", daysAgo: 10 });
    const [exact] = await end({ kind: "mail", tenant: "acme", state: "dead", daysAgo: 10 });
    const [general] = await end({ state: "dead", daysAgo: 10 });
    await retainAll();
    const left = await ids();
    expect(left).not.toContain(byState);
    expect(left).not.toContain(byTenant);
    expect(left).toEqual([byKind, exact, general]);
  });

  test("a rule that was set by hand stands before one that a config declares, and outlives it", async () => {
    await client.retention.set({ state: "done" }, { keep: "5d" });
    await call(db, "declare_retention_v1($1)", [
      JSON.stringify([
        { state: "done", keep_ms: 60000 },
        { kind: "x", keep_ms: null },
      ]),
    ]);
    expect(await call<string>(db, "keep_of('t', 'work', 'done', 1)")).toBe(String(5 * 86_400_000));
    expect(await call<string | null>(db, "keep_of('t', 'x', 'dead', 1)")).toBeNull();
    expect(await client.retention.remove({ state: "done" })).toBe(true);
    expect(await client.retention.remove({ state: "done" })).toBe(false);
    expect(await call<string>(db, "keep_of('t', 'work', 'done', 1)")).toBe("60000");
    await call(db, "declare_retention_v1('[]')");
    expect(await client.retention.list()).toEqual([]);
  });

  test("without rules, upkeep writes nothing about retention and a day is dropped whole", async () => {
    const part = await makeDay(40);
    await end({ daysAgo: 40, count: 3 });
    expect(await retain()).toBe(1);
    expect((await days()).map((one) => one.part)).not.toContain(part);
    expect(await db.query("select from fairmill.retention_walk")).toEqual([]);
  });

  test("a rule names something, a minute at least, and a state that jobs end in", async () => {
    await expect(client.retention.set({}, { keep: "7d" })).rejects.toThrow("name a kind, a state or a tenant");
    await expect(client.retention.set({ state: "done" }, { keep: "59s" })).rejects.toThrow("less than a minute");
    await expect(client.retention.set({ state: "ready" as "done" }, { keep: "7d" })).rejects.toThrow("state");
    await expect(call(db, "set_retention_v1(60000)")).rejects.toThrow("names a kind");
    await expect(call(db, "set_retention_v1(1, 'mail')")).rejects.toThrow("a minute");
  });
});

describe("jobs that go sooner", () => {
  test("go with their steps and log lines; what is as old and kept by no rule stays", async () => {
    await makeDay(10);
    const [gone] = await end({ daysAgo: 10 });
    const [stays] = await end({ state: "dead", daysAgo: 10 });
    for (const id of [gone, stays]) {
      await db.query(
        "insert into fairmill.step (job_id, name, kind, position, started_at, finished_at, attempt, lease_no) values ($1, 's', 'run', 1, now(), now(), 1, 1)",
        [id],
      );
      await db.query(
        "insert into fairmill.job_log (job_id, at, level, attempt, bytes, line) values ($1, now(), 'info', 1, 2, '{}')",
        [id],
      );
    }
    await client.retention.set({ state: "done" }, { keep: "7d" });
    await retainAll();
    expect(await ids()).toEqual([stays]);
    expect(await db.query("select job_id from fairmill.step")).toEqual([{ job_id: stays }]);
    expect(await db.query("select job_id from fairmill.job_log")).toEqual([{ job_id: stays }]);
  });

  test("a step looks at a bounded number of blocks, and the next one goes on behind it", async () => {
    const part = await makeDay(10);
    await end({ daysAgo: 10, count: 20_000 });
    await client.retention.set({ state: "done" }, { keep: "7d" });
    const first = await retain();
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(20_000);
    const [walk] = await db.query<{ next_block: string; ended_at: Date | null }>(
      "select next_block, ended_at from fairmill.retention_walk where part = $1",
      [part],
    );
    expect(walk).toMatchObject({ next_block: "128", ended_at: null });
    await retainAll();
    expect(await ids()).toEqual([]);
  });

  test("a row that another session holds is left for the next round, and upkeep does not wait for it", async () => {
    await makeDay(10);
    const [held, free] = await end({ daysAgo: 10, count: 2 });
    await client.retention.set({ state: "done" }, { keep: "7d" });
    const session = await open();
    await session.query("begin");
    await session.query("select from fairmill.job_history where id = $1 for update", [held]);
    await retainAll();
    expect(await ids()).toEqual([held]);
    expect(free).not.toBe(held);
    await session.query("rollback");
    await db.query("update fairmill.retention_walk set ended_at = ended_at - interval '1 day'");
    await retainAll();
    expect(await ids()).toEqual([]);
  });

  test("a day is walked again while more of its jobs become old, and no more when all have", async () => {
    const part = await makeDay(10);
    await end({ daysAgo: 10 });
    await client.retention.set({ state: "done" }, { keep: "7d" });
    await retainAll();
    const walk = () => db.query("select is_last, removed from fairmill.retention_walk where part = $1", [part]);
    expect(await walk()).toEqual([{ is_last: true, removed: "1" }]);
    await db.query("update fairmill.retention_walk set ended_at = ended_at - interval '300 days'");
    const [late] = await end({ daysAgo: 10 });
    await retainAll();
    expect(await ids()).toEqual([late]);
    // Another rule, and everything is looked at again.
    await client.retention.set({ kind: "other" }, { keep: "7d" });
    await retainAll();
    expect(await ids()).toEqual([]);
  });
});

describe("jobs that stay longer", () => {
  test("a day that is older than the general age stays while a rule keeps a job of it; the others of it go", async () => {
    const part = await makeDay(40);
    const [kept] = await end({ state: "dead", daysAgo: 40 });
    await end({ daysAgo: 40, count: 5 });
    await client.retention.set({ state: "dead" }, { keep: "60d" });
    await retainAll();
    expect(await ids()).toEqual([kept]);
    expect((await days()).map((one) => one.part)).toContain(part);
    await client.retention.set({ state: "dead" }, { keep: "35d" });
    await retainAll();
    expect((await days()).map((one) => one.part)).not.toContain(part);
  });

  test("a day whose last kept job is gone is dropped, also under a rule that keeps others for ever", async () => {
    const part = await makeDay(40);
    await end({ daysAgo: 40 });
    await client.retention.set({ kind: "ledger" }, { keep: "forever" });
    await retainAll();
    expect((await days()).map((one) => one.part)).not.toContain(part);
  });

  test("the rest partition obeys the rules as well", async () => {
    const [kept] = await end({ kind: "ledger", daysAgo: 400 });
    await end({ daysAgo: 400 });
    await client.retention.set({ kind: "ledger" }, { keep: "forever" });
    await retainAll();
    expect(await ids()).toEqual([kept]);
  });
});

test("a dry run says what would go by which rule, with a rule that is only tried, and removes nothing", async () => {
  const part = await makeDay(10);
  await end({ daysAgo: 10, count: 3 });
  await end({ daysAgo: 10, state: "dead" });
  await client.retention.set({ state: "done" }, { keep: "20d" });
  const tried = await client.retention.preview({ rule: { state: "done", keep: "7d" } });
  expect(tried.filter((one) => one.part === part)).toEqual([
    { part, kind: null, state: "done", tenant: null, keepMs: 7 * 86_400_000, removed: 3, kept: 0 },
    { part, kind: null, state: null, tenant: null, keepMs: 30 * 86_400_000, removed: 0, kept: 1 },
  ]);
  const real = await client.retention.preview();
  expect(real.filter((one) => one.part === part).map(({ removed }) => removed)).toEqual([0, 0]);
  expect(await ids()).toHaveLength(4);
});
