// Liveness is progress: a part of the supervisor's worker that is stuck while the database answers is replaced, with the worker it belongs to.
import { expect, test } from "vitest";
import { waitUntil } from "../support/wait.js";
import { heard, servingOf, useRig } from "./rig.js";

const rig = useRig();
const LEASE = "6s";
/** Quiet looks for work are up to twelve seconds apart. */
const STUCK_MS = 15_000;

test.each([
  // A lock on the worker's row that a claim has to wait for is one that a heartbeat waits for, too: whichever is silent for too long first.
  ["claim", ["claim", "heartbeat"], "select from fairmill.worker for update"],
  ["heartbeat", ["heartbeat"], "select from fairmill.worker for no key update"],
  [
    "upkeep",
    ["upkeep"],
    "lock table fairmill.migration, fairmill.idempotency, fairmill.batch in access exclusive mode",
  ],
] as const)(
  "a stuck %s: there is a new worker, and jobs run; the children stay",
  async (_, parts, lock) => {
    const supervisor = await rig.start({ lease: LEASE, worker: { minInstances: 1 } }, STUCK_MS);
    const before = supervisor.worker.id;
    const pids = servingOf(supervisor).map(({ pid }) => pid);
    // Due when the lock is held.
    const job = await rig.enqueue("quick", {}, { delay: 2_000 });
    const other = await rig.db.pool.connect();
    try {
      await other.query("begin");
      await other.query(lock);
      expect(parts).toContain((await heard(supervisor, "restarted")).part);
    } finally {
      await other.query("rollback");
      other.release();
    }
    expect(supervisor.worker.id).not.toBe(before);
    expect(supervisor.health().restarts).toBe(1);
    for (const one of [job, await rig.enqueue("quick")]) expect(await rig.ended(one)).toMatchObject({ state: "done" });
    expect(servingOf(supervisor).map(({ pid }) => pid)).toEqual(pids);
  },
  120_000,
);

test("a listener whose connection is cut: health says that it listens again, and a job starts", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1 } });
  await waitUntil("it listens", () => supervisor.health().isListening);
  const cut = heardNotListening(supervisor);
  await rig.db.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'",
  );
  await cut;
  await waitUntil("it listens again", () => supervisor.health().isListening);
  expect(await rig.ended(await rig.enqueue("quick"))).toMatchObject({ state: "done" });
});

const heardNotListening = (supervisor: Awaited<ReturnType<typeof rig.start>>) =>
  waitUntil("it does not listen", () => !supervisor.health().isListening);
