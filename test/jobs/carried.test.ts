// What a caller says of a job goes with it from table to table: to the history when it ends, and back when it is run again. The functions that move it
// name its columns one by one; this finds the one that forgot a new column.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { call, claimLanes, ended, enqueueOne, live, type Row, settle } from "../support/sql/calls.js";

const db = useDatabase();

/** Something for each column that a caller may set. */
const SAID = {
  kind: "report.make",
  tenant: "acme",
  queue: "slow",
  priority: 7,
  max_attempts: 5,
  key: "user-1",
  payload: { page: 1 },
  timeout_ms: 60_000,
  tags: ["monthly"],
  trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
};
/** Columns of both tables that a run, a limit, an account, a batch or a message sets, and times, which are new with every retry. */
const NOT_SAID = [
  ...["attempt", "batch", "crashes", "created_at", "expire_at", "failures", "id", "lease_no", "limit_key", "outbox"],
  ...["progress", "rate_limited_times", "rerun_of", "reservation", "run_at", "started_at", "state", "uses", "worker"],
];
const NAMES = Object.keys(SAID);

const saidOf = (row: Row | undefined) => Object.fromEntries(NAMES.map((name) => [name, row?.[name]]));

test("the lists here name every column that job and job_history share", async () => {
  const rows = await db.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid in ('fairmill.job'::regclass, 'fairmill.job_history'::regclass) and attnum > 0 and not attisdropped
     group by attname having count(*) = 2`,
  );
  expect([...NAMES, ...NOT_SAID].toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
});

test("a job keeps all that was said of it when it ends, and when it is run again", async () => {
  const id = await enqueueOne(db, SAID);
  const before = saidOf(await live(db, id));
  expect(before).toMatchObject({ ...SAID, timeout_ms: "60000" });
  const lane = { tenant: SAID.tenant, queue: SAID.queue, priority: SAID.priority };
  await settle(db, "w", await claimLanes(db, "w", [lane], 1), "dead", [
    { outcome: "failed", error: { message: "no" } },
  ]);
  expect(saidOf(await ended(db, id))).toEqual(before);
  await call(db, "retry_v1($1)", [id]);
  expect(saidOf(await live(db, id))).toEqual(before);
});

test("a job that is refused when its turn comes is kept with all that was said of it", async () => {
  await db.query(
    `select fairmill.bury_jobs(array_agg(jsonb_populate_record(made, '{"refusal": {"code": "NO"}}')))
     from unnest(fairmill.parse_jobs($1, '{}')) as made`,
    [JSON.stringify([SAID])],
  );
  const [row] = await db.query<Row>("select * from fairmill.job_history");
  expect(saidOf(row)).toMatchObject({ ...SAID, timeout_ms: "60000" });
});
