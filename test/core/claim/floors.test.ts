// Floors that stay: what lies below them is found all the same, without a scan of all lanes. Scans are so dear here that after the first one none
// makes sure any more.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { dice, newSeed } from "../../support/dice.js";
import { checkInvariants } from "../../support/invariants.js";
import { enqueue } from "../../support/sql/calls.js";
import { type Session, useSessions } from "../../support/sql/sessions.js";
import { floorsRig, job, SCAN_MS } from "./floors-rig.js";
import { RESCAN_MS, WORKER } from "./rig.js";

const db = useDatabase();
const { newClaimer, put, newRig, nextRound, provedRound, settleAll } = floorsRig(db);
const openSession = useSessions(db);

describe("jobs that a claim stepped over, because another transaction held them", () => {
  test("come in the next round after that one rolled back, whether their lane goes on or was empty without them", async () => {
    const rig = await newRig();
    await put(400, { tenant: "a" });
    const [alone] = await put(1, { tenant: "b", priority: -1 });
    // Both lanes are known, and no window is in doubt because of the transaction below: it begins later.
    await nextRound(rig, 1);
    await nextRound(rig, 1);
    const holder = await openSession();
    await holder.query("begin");
    const [{ id: held }] = (await holder.query(
      "select id::integer from fairmill.job where state = 'ready' and tenant = 'a' order by id limit 1 for update",
    )) as [{ id: number }];
    await holder.query("select from fairmill.job where id = $1 for update", [alone]);
    for (let n = 0; n < 3; n++) for (const id of await nextRound(rig, 50)) expect([held, alone]).not.toContain(id);
    await holder.query("rollback");
    expect(await nextRound(rig, 100)).toEqual(expect.arrayContaining([held, alone]));
    expect(rig.moreScans()).toBe(0);
  });
});

describe("jobs that come back", () => {
  test.each([
    ["released", () => settleAll("release")],
    [
      "recovered",
      async () => {
        await db.query("update fairmill.worker set lease_until = now() - interval '1 hour' where id = $1", [WORKER]);
        await db.query("select fairmill.recover_v1()");
        await db.query("update fairmill.worker set state = 'alive', lease_until = now() + interval '1 hour'");
      },
    ],
  ])("are found by the scan that the rescan mark asks for: %s", async (_name, giveBack) => {
    const rig = await newClaimer();
    await rig.claim(10);
    const ids = await put(3);
    await rig.claim(10);
    await put(20, { tenant: "b" });
    rig.claimer.markStale();
    await rig.claim(1);
    await giveBack();
    expect([...(await rig.claim(1)), ...(await rig.claim(20))]).toEqual(expect.arrayContaining(ids));
  });

  test("a mark does not wait for longer than three times what the last scan took", async () => {
    const rig = await newRig();
    const [id] = await put(1);
    expect(await nextRound(rig)).toEqual([id]);
    expect(await provedRound(rig)).toEqual([]);
    await settleAll("release");
    rig.claimer.markStale();
    expect(await rig.claim(5)).toEqual([]);
    expect(rig.claimer.opensInMs()).toBeLessThanOrEqual(3 * SCAN_MS);
    rig.clock.pass(3 * SCAN_MS);
    expect(rig.claimer.hasWork()).toBe(true);
    expect(await rig.claim(5)).toEqual([id]);
    expect(rig.moreScans()).toBe(1);
  });
});

test("a worker that is woken and finds nothing makes sure as soon as that takes a twentieth of the time, and does not sleep for longer", async () => {
  const rig = await newRig();
  const [id] = await put(1);
  expect(await nextRound(rig)).toEqual([id]);
  expect(await provedRound(rig)).toEqual([]);
  // As a settle of another worker that gives the job a slot: no mark tells of it.
  await db.query("update fairmill.job set state = 'ready', worker = null, started_at = null where id = $1", [id]);
  rig.claimer.markStale();
  expect(await rig.claim(5)).toEqual([]);
  expect(rig.claimer.hasWork()).toBe(false);
  rig.clock.pass(rig.claimer.opensInMs());
  expect(rig.claimer.hasWork()).toBe(true);
  expect(await rig.claim(5)).toEqual([id]);
  expect(rig.moreScans()).toBe(1);
});

test("after a break nothing that is remembered is relied on: all lanes are looked at", async () => {
  const rig = await newRig();
  await put(5);
  expect(await nextRound(rig)).toHaveLength(5);
  // As after a fail-over to a server that lacks the last ids: they are given away again.
  await settleAll();
  const [{ id: first }] = (await db.query("select min(id) as id from fairmill.job_history")) as [{ id: string }];
  await db.query("delete from fairmill.job_history");
  await db.query("select setval('fairmill.job_id_seq', $1, false)", [first]);
  const again = await put(5);
  expect(again).toContain(Number(first));
  rig.claimer.distrust();
  expect(await rig.claim(10)).toEqual(again);
  expect(rig.moreScans()).toBe(1);
});

test("a new worker finds what waits at the bottom, in the middle and at the top of lanes", async () => {
  const before = await newRig();
  const ids = await put(300);
  await nextRound(before, 300);
  const back = [ids[0], ids[150], ids[299]];
  await db.query("update fairmill.job set state = 'ready', worker = null, started_at = null where id = any ($1)", [
    back,
  ]);
  await settleAll();
  await db.query("delete from fairmill.worker");
  await db.query("delete from fairmill.claim_list");
  const after = await newClaimer({ scanMs: SCAN_MS });
  expect(await after.claim(10)).toEqual(back);
});

/** Blocks of live jobs and their indexes that were looked at so far, by the only connection of the rig and by all others that have ended. */
async function blocks(rig: Awaited<ReturnType<typeof newRig>>): Promise<number> {
  await rig.database.query("select pg_stat_force_next_flush()");
  const [row] = await db.query<{ blocks: string }>(
    `select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) as blocks
     from pg_statio_all_tables where schemaname = 'fairmill' and relname = 'job'`,
  );
  return Number(row!.blocks);
}

test("F12: with an old snapshot open, a claim of lanes that were emptied a hundred times looks at as many blocks as at first", async () => {
  const rig = await newRig({ connectionsMax: 1 });
  const pin = await openSession();
  await pin.query("begin isolation level repeatable read; select 1");
  const costs: number[] = [];
  for (let n = 0; n < 100; n++) {
    await db.query(
      `insert into fairmill.job (queue, tenant, kind, state, payload)
       select 'default', 't' || n % 20, 'job', 'ready', '{}' from generate_series(1, 200) n`,
    );
    await db.query("select pg_stat_force_next_flush()");
    const before = await blocks(rig);
    expect(await nextRound(rig)).toHaveLength(200);
    costs.push((await blocks(rig)) - before);
    await settleAll();
  }
  const sum = (some: readonly number[]) => some.reduce((total, cost) => total + cost, 0);
  // The settle's own blocks are those of another connection, which may hand them in late: sums over ten rounds each.
  expect(sum(costs.slice(-10))).toBeLessThan(2 * sum(costs.slice(5, 15)));
  expect(rig.moreScans()).toBe(0);
});

test("whatever commits, rolls back and comes back in whatever order: after a round everything is claimed", async () => {
  const throwDie = dice(newSeed());
  const oneOf = <T>(some: readonly T[]) => some[Math.floor(throwDie() * some.length)]!;
  const rig = await newRig();
  const open: Session[] = [];
  const claimed = new Set<number>();
  const take = async () => {
    for (const id of await (throwDie() < 0.5 ? nextRound(rig, 20) : rig.claim(20))) claimed.add(id);
  };
  const acts = [
    async () => {
      const session = await openSession();
      await session.query("begin");
      open.push(session);
      await enqueue(session, [job(`t${Math.floor(throwDie() * 5)}`)]);
    },
    async () => {
      if (open.length > 0) await enqueue(oneOf(open), [job(`t${Math.floor(throwDie() * 5)}`)]);
    },
    async () => {
      if (open.length > 0)
        await oneOf(open).query(
          "select from fairmill.job where state = 'ready' and id % 3 = $1 for update skip locked",
          [Math.floor(throwDie() * 3)],
        );
    },
    async () => {
      const [session] = open.splice(Math.floor(throwDie() * open.length), 1);
      await session?.query(throwDie() < 0.7 ? "commit" : "rollback");
      await session?.close();
    },
    async () => void (await put(Math.ceil(throwDie() * 5), { tenant: `t${Math.floor(throwDie() * 5)}` })),
    take,
    take,
    async () => void (await settleAll()),
  ];
  for (let n = 0; n < 300; n++) {
    if (open.length > 8) await acts[3]!();
    await oneOf(acts)();
  }
  while (open.length > 0) await acts[3]!();
  // What is left to do is found by one round; as many claims as it takes to bring it.
  rig.clock.pass(RESCAN_MS);
  for (let n = 0; n < 40; n++) await rig.claim(1_000);
  expect(await db.query("select id, tenant from fairmill.job where state = 'ready'")).toEqual([]);
  expect(claimed.size).toBeGreaterThan(50);
  expect(rig.moreScans()).toBe(0);
  await settleAll();
  await checkInvariants(db.pool);
});
