// Everything at once: sessions that enqueue, claim, settle, cancel, expire, retry, change limits and do upkeep, all about a few keys. None
// may wait for another that waits for it, every committed state keeps the limits, and in the end nothing is left behind.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { checkInvariants } from "../support/invariants.js";
import {
  call,
  claimUnderLimits,
  enqueueLimited,
  type Lane,
  setLimits,
  setRule,
  settle,
  tick,
  VERDICTS,
} from "../support/sql/calls.js";
import { openSession, type Session, useSessions } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
const SECONDS = Number(process.env["TEST_SECONDS"] ?? 8);
const LANES: Lane[] = ["t0", "t1"].flatMap((tenant) => [0, 1].map((priority) => ({ tenant, priority, quantum: 4 })));
const CAP = 6;

/** A small generator of its own for each session, so that a seed throws the same again. */
function diceOf(start: number): (n: number) => number {
  let state = start >>> 0;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

type Act = (session: Session, roll: (n: number) => number, me: string) => Promise<unknown>;

const anyId = async (session: Session, roll: (n: number) => number) =>
  (await session.query<{ id: string }>("select id from fairmill.job order by id offset $1 limit 1", [roll(40)]))[0]?.id;

const randomJobs = (roll: (n: number) => number) =>
  Array.from({ length: 1 + roll(6) }, () => ({
    kind: ["limited", "refusing", "free"][roll(3)],
    key: `k${roll(6)}`,
    tenant: `t${roll(2)}`,
    priority: roll(2),
    ...(roll(4) === 0 ? { delay_ms: roll(50) } : {}),
    ...(roll(5) === 0 ? { expire_ms: roll(200) } : {}),
  }));

const claimAndSettle: Act = async (session, roll, me) => {
  const { jobs } = await claimUnderLimits(session, me, LANES, 1 + roll(8));
  const sorted = jobs.toSorted((a, b) => Number(a.id) - Number(b.id));
  if (roll(6) === 0) return call(session, "release_unknown_v1($1, '{}')", [me]);
  await settle(
    session,
    me,
    sorted,
    sorted.map(({ attempt }) => (attempt >= 3 ? "done" : VERDICTS[roll(VERDICTS.length)]!)),
    sorted.map(() => ({ delay_ms: roll(30), error: { message: "no" } })),
  );
};

const ACTS: Act[] = [
  claimAndSettle,
  claimAndSettle,
  claimAndSettle,
  (session, roll) => enqueueLimited(session, randomJobs(roll), { partial: roll(2) === 0 }),
  async (session, roll) => {
    await session.query("begin");
    await enqueueLimited(session, randomJobs(roll), { alone: false, partial: true });
    await session.query(roll(3) === 0 ? "rollback" : "commit");
  },
  async (session, roll) => call(session, "cancel_v1($1)", [await anyId(session, roll)]),
  async (session, roll) => call(session, "retry_v1($1)", [await anyId(session, roll)]),
  async (session) =>
    call(session, "retry_v1($1)", [
      (
        await session.query<{ id: string }>(
          "select id from fairmill.job_history where state <> 'done' order by id desc limit 1",
        )
      )[0]?.id ?? 0,
    ]),
  (session) => tick(session),
  (session) => call(session, "promote_v1(5)"),
  (session) => call(session, "expire_v1(5)"),
  (session) => session.query("select * from fairmill.recover_v1(5, 100)"),
  // Limits change, but never below what the check at the end allows.
  (session, roll) =>
    setLimits(session, "tenant", `t${roll(2)}`, { max_running: roll(2) === 0 ? CAP : CAP - 1, paused: false }),
  (session, roll) => setLimits(session, "kind", "free", { max_running: 4 + roll(3) }),
  (session, roll) => setRule(session, { max_running: 2 + roll(2) }),
  // A worker dies: its jobs are for others to recover.
  async (session, _, me) => {
    await session.query("update fairmill.worker set lease_until = now() - interval '1 s' where id = $1", [me]);
    await session.query("select * from fairmill.recover_v1(100, 100)");
    await session.query(
      "update fairmill.worker set state = 'alive', lease_until = now() + interval '1 hour' where id = $1",
      [me],
    );
  },
];

test("P6 P7 I6: no deadlock, every invariant, and after a drain no job is blocked and no slot is held", async () => {
  console.log(`seed ${seed}`);
  await setRule(db, { max_running: 2 });
  await setRule(db, { max_running: 2, when_full: "refuse", rate: { limit: 50, per_ms: 100 } }, "refusing");
  for (const tenant of ["t0", "t1"]) await setLimits(db, "tenant", tenant, { max_running: CAP });
  await setLimits(db, "queue", "default", { rate: { limit: 1_000, per_ms: 100 } });
  await setLimits(db, "tenant", "t1", { rate: { limit: 500, per_ms: 100, at: "enqueue" } });

  const errors = new Map<string, number>();
  const watcher = await openSession(db.url);
  let isOver = false;
  let looks = 0;
  const watching = (async () => {
    while (!isOver) {
      looks++;
      const tooMany = await watcher.query(
        `select tenant as name, count(*) from fairmill.job where state = 'running' group by 1 having count(*) > ${CAP}
           union all select limit_key, count(*) from fairmill.job where slot is not null group by 1 having count(*) > 3
           union all select limit_key, count(*) from fairmill.job where kind = 'limited' and state in ('ready', 'running') group by 1 having count(*) > 3`,
      );
      if (tooMany.length > 0) throw new Error(`Over a limit: ${JSON.stringify(tooMany)}`);
    }
    await watcher.close();
  })();

  const end = performance.now() + SECONDS * 1_000;
  const sessions = await Promise.all(Array.from({ length: 12 }, () => open()));
  let acts = 0;
  await Promise.all(
    sessions.map(async (session, n) => {
      const roll = diceOf(seed + n * 7919);
      await session.query("set deadlock_timeout = '100ms'");
      while (performance.now() < end) {
        acts++;
        try {
          await ACTS[roll(ACTS.length)]!(session, roll, `w${n}`);
        } catch (error) {
          const { code, message, detail } = error as { code?: string; message: string; detail?: string };
          errors.set(
            `${code} ${message} ${code === "40P01" ? detail : ""}`,
            1 + (errors.get(`${code} ${message}`) ?? 0),
          );
          await session.query("rollback");
        }
      }
    }),
  );
  isOver = true;
  await watching;
  console.log(`${acts} acts, ${looks} looks`);
  expect([...errors]).toEqual([]);
  // The last word may have been a lower limit than the places that are held.
  await setRule(db, { max_running: 3 });
  await checkInvariants(db.pool);

  // Everything that is left is done.
  const [session] = sessions as [Session];
  for (let n = 0; n < 2_000; n++) {
    await session.query("update fairmill.job set run_at = now() where state = 'scheduled' and rate_limited is null");
    await tick(session);
    const left = await session.query<{ worker: string; ids: string[]; leases: string[] }>(
      "select worker, array_agg(id order by id) as ids, array_agg(lease_no order by id) as leases from fairmill.job where state = 'running' group by 1",
    );
    for (const { worker, ids, leases } of left)
      await settle(
        session,
        worker,
        ids.map((id, i) => ({ id, lease_no: leases[i]! })),
        "done",
      );
    const { jobs } = await claimUnderLimits(session, "w0", LANES, 100);
    if (
      jobs.length === 0 &&
      left.length === 0 &&
      (await session.query("select from fairmill.job limit 1")).length === 0
    )
      break;
  }
  expect(await db.query("select state, kind, limit_key, slot from fairmill.job")).toEqual([]);
  expect(await db.query("select from fairmill.meter where recheck")).toEqual([]);
});
