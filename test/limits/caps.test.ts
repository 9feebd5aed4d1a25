// Caps of tenants, queues and kinds: they hold in every committed state, and whatever fits goes on.
import { describe, expect, test } from "vitest";
import { claimsOf } from "../../src/core/job/lease-no.js";
import { useDatabase } from "../support/database.js";
import {
  type Asker,
  call,
  claimUnderLimits,
  endLease,
  fill,
  type Lane,
  recover,
  setLimits,
  settle,
  tick,
} from "../support/sql/calls.js";
import { openSession, type Session, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 1e9));

/** Looks at every committed state that it can see until it is stopped; answers with the most it saw at once of each name. */
async function watch(columns: readonly string[]): Promise<() => Promise<Map<string, number>>> {
  const session: Session = await openSession(db.url);
  let isOver = false;
  const most = new Map<string, number>();
  const looking = (async () => {
    while (!isOver)
      for (const { name, n } of await session.query<{ name: string; n: number }>(
        columns
          .map(
            (column) =>
              `select '${column} ' || ${column} as name, count(*)::integer as n from fairmill.job where state = 'running' group by 1`,
          )
          .join(" union all "),
      ))
        most.set(name, Math.max(most.get(name) ?? 0, n));
    await session.close();
  })();
  return async () => {
    isOver = true;
    await looking;
    return most;
  };
}

/** Sixteen who claim along the lanes and settle what they get, until nothing is left. */
async function drain(lanes: readonly Lane[], verdict: "done" | "mixed" = "done"): Promise<void> {
  const sessions = await Promise.all(Array.from({ length: 16 }, () => open()));
  await Promise.all(
    sessions.map(async (session, n) => {
      for (;;) {
        const { jobs } = await claimUnderLimits(session, `w${n}`, lanes, 5);
        const verdicts = jobs.map(({ id, lease_no }) =>
          verdict === "mixed" && Number(id) % 3 === 0 && claimsOf(Number(lease_no)) === 1 ? "release" : "done",
        );
        const sorted = jobs.toSorted((a, b) => Number(a.id) - Number(b.id));
        if (jobs.length > 0)
          await settle(
            session,
            `w${n}`,
            sorted,
            sorted.map(({ id }) => verdicts[jobs.findIndex((job) => job.id === id)]!),
          );
        else if ((await session.query("select from fairmill.job limit 1")).length === 0) return;
      }
    }),
  );
}

describe("a cap", () => {
  test("F8 P6 I6: sixteen claimers, cap 2 of a tenant over two queues and two priorities: no session ever sees three, and all jobs are done", async () => {
    await setLimits(db, "tenant", "capped", { max_running: 2 });
    for (const queue of ["a", "b"])
      for (const priority of [0, 1]) await fill(db, 50, { tenant: "capped", queue, priority });
    await fill(db, 200, { tenant: "free", queue: "a" });
    const stop = await watch(["tenant"]);
    await drain(
      [
        ...["a", "b"].flatMap((queue) => [0, 1].map((priority) => ({ tenant: "capped", queue, priority, quantum: 3 }))),
        { tenant: "free", queue: "a", quantum: 2 },
      ],
      "mixed",
    );
    const most = await stop();
    expect(most.get("tenant capped")).toBeLessThanOrEqual(2);
    expect(most.get("tenant free")).toBeGreaterThan(2);
    expect(await db.query("select from fairmill.job_history where tenant = 'capped'")).toHaveLength(200);
  });

  test("F8 I6: caps of queue, kind and tenant together each hold, and something that fits always goes on", async () => {
    await setLimits(db, "tenant", "t0", { max_running: 2 });
    await setLimits(db, "kind", "k0", { max_running: 3 });
    await setLimits(db, "queue", "q0", { max_running: 4 });
    for (let n = 0; n < 27; n++)
      await fill(db, 12, { tenant: `t${n % 3}`, kind: `k${Math.floor(n / 3) % 3}`, queue: `q${Math.floor(n / 9)}` });
    const lanes = [0, 1, 2].flatMap((queue) =>
      [0, 1, 2].map((tenant) => ({ queue: `q${queue}`, tenant: `t${tenant}`, quantum: 4 })),
    );
    const stop = await watch(["tenant", "kind", "queue"]);
    await drain(lanes);
    const most = await stop();
    expect(most.get("tenant t0")).toBeLessThanOrEqual(2);
    expect(most.get("kind k0")).toBeLessThanOrEqual(3);
    expect(most.get("queue q0")).toBeLessThanOrEqual(4);
    expect(await db.query("select from fairmill.job_history")).toHaveLength(27 * 12);
  });

  test(`something starts whenever something fits, whatever the caps (seed ${seed})`, async () => {
    let dice = seed;
    const roll = (n: number) => {
      dice = (dice * 1103515245 + 12345) % 2147483648;
      return Math.floor((dice / 2147483648) * n);
    };
    for (let round = 0; round < 15; round++) {
      await db.query("delete from fairmill.job");
      await db.query("delete from fairmill.limit_setting");
      const caps = new Map<string, number>();
      for (const [scope, letter] of [
        ["tenant", "t"],
        ["kind", "k"],
        ["queue", "q"],
      ] as const)
        for (let n = 0; n < 3; n++)
          if (roll(2) === 0) {
            const max = roll(4);
            caps.set(`${letter}${n}`, max);
            await setLimits(db, scope, `${letter}${n}`, { max_running: max });
          }
      for (let n = 0; n < 8; n++)
        await fill(db, 1 + roll(3), { tenant: `t${roll(3)}`, kind: `k${roll(3)}`, queue: `q${roll(3)}` });
      const lanes = [0, 1, 2].flatMap((queue) =>
        [0, 1, 2].map((tenant) => ({ queue: `q${queue}`, tenant: `t${tenant}`, quantum: 1 + roll(4) })),
      );
      for (;;) {
        const { jobs } = await claimUnderLimits(db, "w", lanes, 1 + roll(6));
        const rows = await db.query<{ state: string; tenant: string; kind: string; queue: string }>(
          "select state, tenant, kind, queue from fairmill.job",
        );
        const running = (name: string) =>
          rows.filter((row) => row.state === "running" && [row.tenant, row.kind, row.queue].includes(name)).length;
        for (const [name, max] of caps) expect(running(name)).toBeLessThanOrEqual(max);
        if (jobs.length > 0) continue;
        const fits = (row: { tenant: string; kind: string; queue: string }) =>
          [row.tenant, row.kind, row.queue].every(
            (name) => running(name) < (caps.get(name) ?? Number.POSITIVE_INFINITY),
          );
        expect(rows.filter((row) => row.state === "ready" && fits(row))).toEqual([]);
        break;
      }
    }
  });

  test("a second claim waits for the first one's commit and counts what it started", async () => {
    await setLimits(db, "tenant", "default", { max_running: 2 });
    await fill(db, 5);
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    expect((await claimUnderLimits(a, "a", undefined, 1)).jobs).toHaveLength(1);
    const second = claimUnderLimits(b, "b");
    await waitUntilBlocked(db, b);
    await a.query("commit");
    expect((await second).jobs).toHaveLength(1);
    expect((await second).told!.limits).toEqual([{ scope: "tenant", name: "default", why: "cap", open_in_ms: null }]);
  });

  test("a claim that waited for a change of the cap obeys the new one", async () => {
    await setLimits(db, "tenant", "default", { max_running: 10 });
    await fill(db, 5);
    const [setting, claiming] = [await open(), await open()];
    await setting.query("begin");
    await setLimits(setting, "tenant", "default", { max_running: 1 });
    const claimed = claimUnderLimits(claiming, "w");
    await waitUntilBlocked(db, claiming);
    await setting.query("commit");
    expect((await claimed).jobs).toHaveLength(1);
  });

  test("F8: a cap that is set while jobs run counts them, and one that is lowered starts nothing until enough have ended", async () => {
    await fill(db, 10);
    const running = (await claimUnderLimits(db, "w", undefined, 5)).jobs.toSorted(
      (a, b) => Number(a.id) - Number(b.id),
    );
    await setLimits(db, "queue", "default", { max_running: 3 });
    await setLimits(db, "tenant", "default", { max_running: 4 });
    await setLimits(db, "kind", "work", { max_running: 8 });
    expect((await claimUnderLimits(db, "w")).jobs).toEqual([]);
    await settle(db, "w", running.slice(0, 2), "done");
    expect((await claimUnderLimits(db, "w")).jobs).toEqual([]);
    await settle(db, "w", running.slice(2, 3), "retry", [{ delay_ms: 3_600_000 }]);
    expect((await claimUnderLimits(db, "w")).jobs).toHaveLength(1);
    await endLease(db, "w");
    await recover(db);
    expect((await claimUnderLimits(db, "w2")).jobs).toHaveLength(3);
  });

  test("a claim that was under way when the cap was set counts from the next upkeep on", async () => {
    await fill(db, 10);
    const claiming = await open();
    await claiming.query("begin");
    await claimUnderLimits(claiming, "w", undefined, 3);
    await setLimits(db, "tenant", "default", { max_running: 4 });
    await claiming.query("commit");
    await tick(db);
    expect((await claimUnderLimits(db, "w")).jobs).toHaveLength(1);
  });

  test("a cap of 0 starts nothing, and a cap that is taken away lets everything go", async () => {
    await fill(db, 3);
    await setLimits(db, "kind", "work", { max_running: 0 });
    expect(await claimUnderLimits(db, "w")).toEqual({
      jobs: [],
      told: { limits: [{ scope: "kind", name: "work", why: "cap", open_in_ms: null }] },
    });
    await setLimits(db, "kind", "work", { max_running: null });
    expect(await db.query("select from fairmill.limit_setting")).toEqual([]);
    expect((await claimUnderLimits(db, "w")).jobs).toHaveLength(3);
  });

  test("a closed kind does not close the lane: others behind it start", async () => {
    await fill(db, 20, { kind: "closed" });
    await fill(db, 3, { kind: "open" });
    await setLimits(db, "kind", "closed", { max_running: 0 });
    expect((await claimUnderLimits(db, "w", undefined, 2)).jobs.map(({ kind }) => kind)).toEqual(["open", "open"]);
  });
});

describe("what is kept of limits", () => {
  const meters = (ask: Asker) => ask.query<{ name: string }>("select name from fairmill.meter order by name");
  test("B10: meters that were not used for a day are removed, those with something spent only when it cannot count any more", async () => {
    await db.query(
      `insert into fairmill.meter (use, scope, name, used_at, spent_at, spent, recheck) values
       ('start', 'key', 'old', now() - interval '2 days', null, null, false),
       ('start', 'key', 'young', now() - interval '2 hours', null, null, false),
       ('start', 'key', 'marked', now() - interval '2 days', null, null, true),
       ('start', 'tenant', 'spent', now() - interval '2 days', array[now() - interval '29 days'], '{1}', false),
       ('start', 'tenant', 'over', now() - interval '32 days', array[now() - interval '31 days'], '{1}', false)`,
    );
    await call(db, "retention()");
    expect((await meters(db)).map(({ name }) => name)).toEqual(["marked", "spent", "young"]);
    await db.query("delete from fairmill.meter");
  });
});
