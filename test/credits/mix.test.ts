// Everything about credits at once: sessions that grant, enqueue, claim, settle, cancel, expire, retry and do upkeep on a few accounts,
// and die in the middle of it. At every moment every account adds up at every entry, and in the end every hold has one end.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { ACCOUNTS, checkInvariants } from "../support/invariants.js";
import {
  balanceOf,
  call,
  claimLanes,
  endLease,
  enqueuePaid,
  grant,
  recover,
  register,
  setLimits,
  setRule,
  settle,
  tick,
  VERDICTS,
} from "../support/sql/calls.js";
import { openSession, type Session } from "../support/sql/sessions.js";

const db = useDatabase();
const SECONDS = Number(process.env["TEST_SECONDS"] ?? 8);
const SESSIONS = 10;
const LANES = [{ tenant: "default", quantum: 10 }];

type Roll = (n: number) => number;
type Act = (session: Session, roll: Roll, me: string) => Promise<unknown>;

const someId = async (session: Session, roll: Roll, table: string) =>
  (
    await session.query<{ id: string }>(`select id from fairmill.${table} order by id desc offset $1 limit 1`, [
      roll(20),
    ])
  )[0]?.id ?? "0";

const someJobs = (roll: Roll) =>
  Array.from({ length: 1 + roll(5) }, () => ({
    ...(roll(6) === 0 ? {} : { account: `a${roll(4)}`, amount: 1 + roll(6) }),
    key: `k${roll(5)}`,
    ...(roll(4) === 0 ? { unique_key: `u${roll(5)}`, on_conflict: ["keep", "replace"][roll(2)] } : {}),
    ...(roll(4) === 0 ? { idempotency_key: `i${roll(400)}` } : {}),
    ...(roll(5) === 0 ? { expire_ms: roll(50) } : {}),
    ...(roll(5) === 0 ? { delay_ms: roll(50) } : {}),
  }));

const claimAndSettle: Act = async (session, roll, me) => {
  const jobs = (await claimLanes(session, me, LANES, 1 + roll(8)))
    .filter(({ id }) => id !== null)
    .toSorted((a, b) => Number(a.id) - Number(b.id));
  const verdicts = jobs.map(({ attempt, crashes }) =>
    attempt - crashes >= 3 ? ["done", "dead"][roll(2)]! : VERDICTS[roll(VERDICTS.length)]!,
  );
  const details = jobs.map(() => ({ delay_ms: roll(20), error: { message: "no" } }));
  await settle(session, me, jobs, verdicts, details);
  // The answer was lost.
  if (roll(3) === 0) await settle(session, me, jobs, verdicts, details);
};

const inTransaction =
  (act: Act): Act =>
  async (session, roll, me) => {
    await session.query(roll(3) === 0 ? "begin isolation level repeatable read" : "begin");
    await act(session, roll, me);
    // Dies with its transaction open.
    if (roll(6) === 0) await session.query("select pg_terminate_backend(pg_backend_pid())");
    await session.query(roll(3) === 0 ? "rollback" : "commit");
  };

const ACTS: readonly Act[] = [
  claimAndSettle,
  claimAndSettle,
  inTransaction(claimAndSettle),
  (session, roll) => grant(session, `a${roll(4)}`, 1 + roll(10), roll(2) === 0 ? `g${roll(200)}` : undefined),
  inTransaction((session, roll) => grant(session, `a${roll(4)}`, 1 + roll(10))),
  (session, roll) => enqueuePaid(session, someJobs(roll), { partial: roll(2) === 0 }),
  (session, roll) => enqueuePaid(session, someJobs(roll), { partial: true }),
  inTransaction((session, roll) => enqueuePaid(session, someJobs(roll), { alone: false, partial: roll(2) === 0 })),
  async (session, roll) => call(session, "cancel_v1($1)", [await someId(session, roll, "job")]),
  async (session, roll) => call(session, "retry_v1($1)", [await someId(session, roll, "job_history")]),
  (session) => tick(session),
  (session) => call(session, "add_up_accounts(2)"),
  async (session, _, me) => {
    await endLease(session, me);
    await recover(session, 100, 2);
    await session.query(
      "update fairmill.worker set state = 'alive', lease_until = now() + interval '1 hour' where id = $1",
      [me],
    );
  },
];

/** A caller repeats these, and a dead session is opened anew. A deadlock is not among them. */
const EXPECTED = new Set(["40001", "57P01", "FM003"]);

test("I3 P4 B18: every account adds up at every entry, whichever worker dies, and every reservation has one end", async () => {
  const seed = newSeed();
  await setRule(db, { max_running: 2 }, "paid");
  await setLimits(db, "tenant", "default", { rate: { limit: 300, per_ms: 1000, at: "enqueue" } });
  for (let n = 0; n < SESSIONS; n++) await register(db, `w${n}`);

  const watcher = await openSession(db.url);
  let isOver = false;
  let looks = 0;
  const watching = (async () => {
    while (!isOver) {
      looks++;
      expect(await watcher.query(ACCOUNTS)).toEqual([]);
    }
  })();
  watching.catch(() => {});

  const errors: string[] = [];
  let acts = 0;
  let deaths = 0;
  const end = performance.now() + SECONDS * 1_000;
  await Promise.all(
    Array.from({ length: SESSIONS }, async (_, n) => {
      const random = dice(seed + n * 7919);
      const roll: Roll = (sides) => Math.floor(random() * sides);
      let session = await openSession(db.url);
      await session.query("set deadlock_timeout = '100ms'");
      while (performance.now() < end) {
        acts++;
        try {
          await ACTS[roll(ACTS.length)]!(session, roll, `w${n}`);
        } catch (error) {
          const { code = "", message, where = "" } = error as { code?: string; message: string; where?: string };
          const died = code === "57P01" || /terminated/.test(message);
          if (!EXPECTED.has(code) && !died) errors.push(`${code} ${message} ${where}`);
          if (died) {
            deaths++;
            await session.close().catch(() => {});
            session = await openSession(db.url);
          } else await session.query("rollback");
        }
      }
      await session.close();
    }),
  );
  isOver = true;
  await watching;
  await watcher.close();
  const [{ n: entries }] = (await db.query<{ n: number }>(
    "select count(*)::integer as n from fairmill.credit_entry",
  )) as [{ n: number }];
  console.log(`${acts} acts, ${deaths} deaths, ${looks} looks, ${entries} entries`);
  expect([...new Set(errors)]).toEqual([]);
  expect(entries).toBeGreaterThan(100);
  await checkInvariants(db.pool);

  // Whatever is left is cancelled: then nothing is held, and what was granted is free or captured.
  for (let n = 0; n < SESSIONS; n++) await endLease(db, `w${n}`);
  await recover(db, 100_000, 1_000_000);
  for (const { id } of await db.query<{ id: string }>("select id from fairmill.job"))
    await call(db, "cancel_v1($1)", [id]);
  await tick(db);
  expect(await db.query("select from fairmill.job union all select from fairmill.credit_pending")).toEqual([]);
  for (const account of ["a0", "a1", "a2", "a3"]) {
    const [sums] = await db.query<{ free: string }>(
      "select coalesce(sum(case kind when 'grant' then amount when 'capture' then -amount else 0 end), 0) as free from fairmill.credit_entry where account = $1",
      [account],
    );
    expect(await balanceOf(db, account)).toEqual([Number(sums!.free), 0]);
  }
});
