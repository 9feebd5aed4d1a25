// Days of the history as tests make them, and jobs that ended on them.
import type { TestDatabase } from "../../support/database.js";
import { type Asker, call, claimLanes, enqueueOne, settle } from "../../support/sql/calls.js";

export function historyRig(db: TestDatabase) {
  const today = "to_char(now() at time zone 'UTC', 'YYYYMMDD')";
  const partitions = async () =>
    (
      await db.query<{ name: string }>(
        "select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'fairmill.job_history'::regclass order by 1",
      )
    ).map(({ name }) => name);
  const makePartitions = (ask: Asker = db, days = 3) => call<number>(ask, "history_partitions_v1($1)", [days]);
  const retain = (keep: string, ask: Asker = db, rowsMax = 5000) =>
    call<number>(ask, "retention($1, $2)", [keep, rowsMax]);

  const dropDays = () =>
    db.query(`do $$ declare v text; begin
    for v in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
             where i.inhparent = 'fairmill.job_history'::regclass and c.relname <> 'job_history_rest'
    loop execute format('drop table fairmill.%I', v); end loop; end $$`);

  /** The partition of a day in the past. */
  const makeOld = (day: string) =>
    db.query(
      `create table fairmill.job_history_${day.replaceAll("-", "")} partition of fairmill.job_history
     for values from ('${day} 00:00+00') to ('${day} 24:00+00')`,
    );

  /** A job that ended at a time of its own, past the functions. */
  async function endedAt(time: string): Promise<string> {
    const [row] = await db.query<{ id: string }>(
      `insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, ended_at, payload, worker)
     values (nextval('fairmill.job_id_seq'), 1, 0, 1, 0, 3, 'done', 'default', 'default', 'work', $1, $1, '{}', 'w') returning id`,
      [time],
    );
    return row!.id;
  }

  async function doneJob(): Promise<string> {
    const id = await enqueueOne(db);
    await settle(db, "w", await claimLanes(db, "w", [{ tenant: "default" }], 1), "done");
    return id;
  }

  return { today, partitions, makePartitions, retain, dropDays, makeOld, endedAt, doneJob };
}
