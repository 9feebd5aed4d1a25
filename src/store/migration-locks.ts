// How a migration gets its tables while workers are busy: all of them at once, in one order, before it changes anything. It does not stand in
// line for long, because everybody else stands behind it: it gives up, lets the workers go on, and comes again.
import { type Clock, sleep } from "../model/clock.js";
import { DatabaseError } from "../model/errors.js";
import type { Database, Queryable } from "./database.js";

/** What keeps a migration waiting. */
export interface MigrationWait {
  /** So many times it has come in vain. */
  readonly attempts: number;
  readonly waitedMs: number;
  /** The session in the way that began its transaction first, where one can be seen. */
  readonly blocker: string | undefined;
}

/** So long one attempt stands in line: shorter than the server waits before it looks for deadlocks, so that none is ever found. */
const ATTEMPT_MS = 400;
const WAIT_MS_MAX = 60_000;
const PAUSE_MS = { min: 50, max: 2_000 } as const;

class TablesBusyError extends Error {}

/** The order is by name, the parts of the history come with their parent. */
const TABLES = `select string_agg(format('fairmill.%I', c.relname), ', ' order by c.relname) as tables,
  least(${ATTEMPT_MS}, (select s.setting::integer / 2 from pg_settings s where s.name = 'deadlock_timeout')) as attempt_ms
from pg_class c where c.relnamespace = to_regnamespace('fairmill') and c.relkind in ('r', 'p') and not c.relispartition`;

export async function lockTables(tx: Queryable): Promise<void> {
  const { tables, attempt_ms: attemptMs } = (await tx.query(TABLES)).rows[0] as {
    tables: string | null;
    attempt_ms: number;
  };
  if (tables === null) return;
  // Of the statement, not of each lock: it is the sum that others wait for.
  await tx.query(`set local statement_timeout = ${Math.max(1, attemptMs)}`);
  try {
    await tx.query(`lock table ${tables} in access exclusive mode`);
  } catch (error) {
    throw isTimeout(error) ? new TablesBusyError("the tables are busy", { cause: error }) : error;
  }
  await tx.query("set local statement_timeout = 0");
}

const codeOf = (error: unknown) => (error as { code?: unknown } | undefined)?.code;

const isTimeout = (error: unknown) => codeOf(error) === "57014" || codeOf(error) === "55P03";

/** Others changed the same rows of the catalog, or were in the way: the transaction was rolled back, and the next one finds another world. */
const isPassing = (error: unknown): boolean =>
  error instanceof TablesBusyError ||
  ["40001", "40P01", "55P03"].includes(String(codeOf(error))) ||
  (codeOf(error) === "XX000" && /tuple concurrently|cache lookup failed|could not open relation/.test(String(error)));

export interface RepeatOptions {
  readonly clock: Clock;
  readonly onWait?: ((wait: MigrationWait) => void) | undefined;
  readonly waitMsMax?: number | undefined;
}

/** Repeats a transaction until the tables could be had, or for a minute. */
export async function repeatWhileBusy<T>(
  db: Database,
  { clock, onWait, waitMsMax = WAIT_MS_MAX }: RepeatOptions,
  run: () => Promise<T>,
): Promise<T> {
  const beganMs = clock.monotonic();
  for (let attempts = 1; ; attempts++) {
    try {
      return await run();
    } catch (error) {
      if (!isPassing(error)) throw error;
      const waitedMs = clock.monotonic() - beganMs;
      const blocker = await findBlocker(db).catch(() => undefined);
      if (waitedMs >= waitMsMax) throw blocked(db.schema, waitedMs, blocker, error);
      onWait?.({ attempts, waitedMs, blocker });
      const pauseMs = Math.min(PAUSE_MS.max, PAUSE_MS.min * 2 ** (attempts - 1));
      await sleep(clock, pauseMs * (0.5 + clock.random()));
    }
  }
}

const BLOCKER = `select a.pid, coalesce(nullif(a.application_name, ''), 'no application name') as application, a.state,
  extract(epoch from clock_timestamp() - a.xact_start)::integer as seconds
from pg_stat_activity a
where a.pid <> pg_backend_pid() and a.xact_start is not null and exists (
  select from pg_locks l join pg_class c on c.oid = l.relation
  where l.pid = a.pid and l.granted and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and c.relnamespace = to_regnamespace('fairmill'))
order by a.xact_start limit 1`;

async function findBlocker(db: Database): Promise<string | undefined> {
  type Row = { pid: number; application: string; state: string | null; seconds: number };
  const [row] = await db.query<Row>(BLOCKER);
  return (
    row && `process ${row.pid} (${row.application}, ${row.state ?? "unknown"}), in a transaction for ${row.seconds} s`
  );
}

const blocked = (schema: string, waitedMs: number, blocker: string | undefined, cause: unknown) =>
  new DatabaseError(
    "FAIRMILL_MIGRATION_BLOCKED",
    `The tables of schema "${schema}" could not be locked for ${Math.round(waitedMs / 1000)} s: other transactions hold them${blocker ? `, first ${blocker}` : ""}. Nothing was applied. End that transaction, or migrate again when there is less to do.`,
    { cause },
  );
