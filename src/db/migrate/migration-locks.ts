// How a migration gets its tables while workers are busy: all of them at once, in one order, before it changes anything. It does not stand in
// line for long, because everybody else stands behind it: it gives up, lets the workers go on, and comes again.
import { type Clock, sleep } from "../../base/clock.js";
import { DatabaseError } from "../../base/errors.js";
import type { Database, Queryable } from "../database.js";

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
/** For what has to be waited for after that: rows of the catalog that another session is changing. */
export const LIMIT_WAITS = `set local lock_timeout = ${ATTEMPT_MS}`;
/** So often a vacuum may be in the way before it is waited for. */
const VACUUM_ATTEMPTS = 3;
const WAIT_MS_MAX = 60_000;
const PAUSE_MS = { min: 50, max: 2_000 } as const;

class TablesBusyError extends Error {}

/**
 * First the tables that calls read before they touch a job: claims, settles and heartbeats begin with worker, enqueues with limit_setting. New calls
 * then wait there with nothing in their hands that the migration needs. The others by name; the parts of the history come with their parent.
 */
const TABLES = `select string_agg(format('fairmill.%I', c.relname), ', '
    order by array_position('{worker,limit_setting}', c.relname::text), c.relname) as tables,
  (select s.setting::integer from pg_settings s where s.name = 'deadlock_timeout') as deadlock_ms
from pg_class c where c.relnamespace = to_regnamespace('fairmill') and c.relkind in ('r', 'p') and not c.relispartition`;

/** `isLong`: stays until the server has looked for deadlocks, which is when it cancels an autovacuum that is in the way. */
export async function lockTables(tx: Queryable, isLong: boolean): Promise<void> {
  const { tables, deadlock_ms: deadlockMs } = (await tx.query(TABLES)).rows[0] as {
    tables: string | null;
    deadlock_ms: number;
  };
  if (tables === null) return;
  const attemptMs = isLong ? deadlockMs + ATTEMPT_MS : Math.max(1, Math.min(ATTEMPT_MS, Math.floor(deadlockMs / 2)));
  // Of the statement, not of each lock: it is the sum that others wait for.
  await tx.query(`set local statement_timeout = ${attemptMs}; set local lock_timeout = 0`);
  try {
    await tx.query(`lock table ${tables} in access exclusive mode`);
  } catch (error) {
    throw isTimeout(error) ? new TablesBusyError("the tables are busy", { cause: error }) : error;
  }
  await tx.query(`set local statement_timeout = 0; ${LIMIT_WAITS}`);
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
  run: (isLong: boolean) => Promise<T>,
): Promise<T> {
  let beganMs: number | undefined;
  let isLong = false;
  for (let attempts = 1; ; attempts++) {
    try {
      return await run(isLong);
    } catch (error) {
      if (!isPassing(error)) throw error;
      // Not from the start on: the first attempt may have waited for another process that migrates, for as long as that takes.
      beganMs ??= clock.monotonic();
      const waitedMs = clock.monotonic() - beganMs;
      const { blocker, isVacuum } = await findBlocker(db).catch(() => NOBODY);
      // Most vacuums are over in a moment, and a long attempt may cost a worker a deadlock, after which it tries again.
      isLong = isVacuum && attempts >= VACUUM_ATTEMPTS;
      if (waitedMs >= waitMsMax) throw blocked(db.schema, waitedMs, blocker, error);
      onWait?.({ attempts, waitedMs, blocker });
      const pauseMs = Math.min(PAUSE_MS.max, PAUSE_MS.min * 2 ** (attempts - 1));
      await sleep(clock, pauseMs * (0.5 + clock.random()));
    }
  }
}

interface Blocker {
  readonly blocker: string | undefined;
  readonly isVacuum: boolean;
}

const NOBODY: Blocker = { blocker: undefined, isVacuum: false };

/** Of sessions of other roles only the process is seen, unless the role may read all statistics. A vacuum is known by its kind of lock. */
const BLOCKER = `with holder as (
  select l.pid, bool_or(l.mode = 'ShareUpdateExclusiveLock') as is_vacuum from pg_locks l join pg_class c on c.oid = l.relation
  where l.granted and l.pid <> pg_backend_pid() and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and c.relnamespace = to_regnamespace('fairmill') and c.relkind in ('r', 'p')
  group by l.pid)
select concat_ws(', in a transaction for ', format('process %s (%s)', h.pid, concat_ws(', ', coalesce(nullif(a.application_name, ''), a.backend_type, 'another role'), a.state)),
    extract(epoch from clock_timestamp() - a.xact_start)::integer || ' s') as blocker,
  (select bool_or(v.is_vacuum) from holder v) as "isVacuum"
from holder h join pg_stat_activity a on a.pid = h.pid
order by a.xact_start limit 1`;

const findBlocker = async (db: Database): Promise<Blocker> => (await db.query<Blocker>(BLOCKER))[0] ?? NOBODY;

const blocked = (schema: string, waitedMs: number, blocker: string | undefined, cause: unknown) =>
  new DatabaseError(
    "FAIRMILL_MIGRATION_BLOCKED",
    `The tables of schema "${schema}" could not be locked for ${Math.round(waitedMs / 1000)} s: other transactions hold them${blocker ? `, first ${blocker}` : ""}. Nothing was applied. End that transaction, or migrate again when there is less to do.`,
    { cause },
  );
