// What is asked after each test, in one round trip: whether the invariants hold, and whether a connection was left open. And what is done first where a
// test has failed: its transactions end.
import type pg from "pg";
import { type Broken, throwBroken } from "./invariants.js";

/** A connection is no rule: it has no number. */
const QUESTION = `select rule, ids from public.broken_invariants()
  union all
  select null, array[application_name || ' (' || coalesce(state, '') || '): ' || left(query, 80)] from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name like 'fairmill%'`;

const DEADLINE_MS = 5_000;

export async function checkQuiet(db: Pick<pg.Pool, "query">): Promise<void> {
  const begun = performance.now();
  for (;;) {
    const { rows } = await db.query<Broken | { rule: null; ids: string[] }>(QUESTION);
    throwBroken(rows.filter((row): row is Broken => row.rule !== null));
    if (rows.length === 0) return;
    // A worker or client that was closed leaves no connection behind; the server needs a moment to notice.
    if (performance.now() < begun + DEADLINE_MS) continue;
    // Ended here, so that the next test does not inherit the fault.
    await db.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'fairmill%'",
    );
    throw new Error(`Connections were left open: ${rows.flatMap(({ ids }) => ids).join("; ")}`);
  }
}

/**
 * A test that fails in the middle of a transaction leaves it open: with its locks the next test would wait for ever, and so would, in all databases of the
 * cluster, whoever waits until older transactions have ended.
 */
export async function endTransactions(admin: Pick<pg.Client, "query">, databases: string): Promise<void> {
  await admin.query(
    `select pg_terminate_backend(a.pid) from pg_stat_activity a
     where starts_with(a.datname, $1) and a.pid <> pg_backend_pid() and a.state like 'idle in transaction%'`,
    [databases],
  );
}
