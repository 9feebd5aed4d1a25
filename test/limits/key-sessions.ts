// Sessions that compete for the slots of keys.
import type { TestDatabase } from "../support/database.js";
import { type Claimed, claimUnderLimits } from "../support/sql/calls.js";
import type { Session } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

export function keySessions(db: TestDatabase, open: () => Promise<Session>) {
  /** Sessions that are in a transaction. */
  async function begin(): Promise<Session> {
    const session = await open();
    await session.query("begin");
    return session;
  }

  /** The session waits for a lock; or, where the lock that it should wait for is missing, it is through: what became of it is then seen. */
  async function blockedOrDone(session: Session, work: Promise<unknown>): Promise<void> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    await waitUntil("the session waits for a lock", async () => {
      const [row] = await db.query<{ blocked: boolean }>("select cardinality(pg_blocking_pids($1)) > 0 as blocked", [
        session.pid,
      ]);
      return isDone || row!.blocked;
    });
  }

  const claimOne = async (worker = "w"): Promise<Claimed> =>
    (await claimUnderLimits(db, worker, undefined, 1)).jobs[0]!;

  return { begin, blockedOrDone, claimOne };
}
