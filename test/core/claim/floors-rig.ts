// Claimers to whom scans are so dear that after the first one none comes by itself: what they find, floors let them find.
import type { TestDatabase } from "../../support/database.js";
import { waitUntil } from "../../support/wait.js";
import { claimerRig, RESCAN_MS, WORKER } from "./rig.js";

export const SCAN_MS = 1e9;

export const job = (tenant: string) => ({ kind: "job", tenant });

export function floorsRig(db: TestDatabase) {
  const { newClaimer, put } = claimerRig(db);

  /** A claimer that has made its first scan and makes no other by itself. */
  async function newRig(options: { connectionsMax?: number } = {}) {
    const rig = await newClaimer({ scanMs: SCAN_MS, ...options });
    await rig.claim(10);
    const first = rig.scans();
    return { ...rig, moreScans: () => rig.scans() - first };
  }

  /** The next round, and a claim. */
  const nextRound = (rig: Awaited<ReturnType<typeof newRig>>, jobsMax = 5_000) => {
    rig.clock.pass(RESCAN_MS);
    return rig.claim(jobsMax);
  };

  /** A round after every transaction has ended that was running, in any database of the cluster: what lies below the floors is proved by then. */
  async function provedRound(rig: Awaited<ReturnType<typeof newRig>>) {
    const [now] = await db.query<{ bound: string }>("select pg_snapshot_xmax(pg_current_snapshot()) as bound");
    await waitUntil("every transaction of that time has ended", async () => {
      const [later] = await db.query<{ ended: boolean }>(
        "select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as ended",
        [now?.bound],
      );
      return later?.ended === true;
    });
    return nextRound(rig);
  }

  const settleAll = (state = "done") =>
    db.query(
      `select fairmill.settle_v1($1, array_agg(id), array_agg(lease_no), array_agg($2::text)) from fairmill.job where worker = $1`,
      [WORKER, state],
    );

  return { newClaimer, put, newRig, nextRound, provedRound, settleAll };
}
