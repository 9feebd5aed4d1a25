// S1–S3 and S5 by walking the catalog: no role has a right that was not granted on purpose, and none can bend a function.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFlow, openBatch, stateOf, work } from "../batches/batch-calls.js";
import { answersOf, begin, claimDeliveries, publishOne } from "../outbox/outbox-calls.js";
import { useDatabase } from "../support/database.js";
import { claimNo } from "../support/lease-no.js";
import {
  balanceOf,
  call,
  claim,
  ended,
  enqueueOne,
  grant,
  partitionOf,
  register,
  settle,
  tick,
} from "../support/sql/calls.js";
import { errorCode, useSessions } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

/** The roles that hosted PostgreSQL gives to requests from outside, and PUBLIC, which is everybody. */
const OUTSIDERS = ["public", "anon", "authenticated"];
const worker = `worker_${randomBytes(4).toString("hex")}`;

beforeAll(async () => {
  // Roles belong to the whole server, where another file may make the same ones.
  for (const role of ["anon", "authenticated"])
    await db.query(
      `do $$ begin create role ${role}; exception when duplicate_object or unique_violation then null; end $$`,
    );
  await db.query(`create role ${worker}`);
});
afterAll(async () => {
  await db.query(`drop owned by ${worker}; drop role ${worker}`);
  for (const role of ["anon", "authenticated"])
    await db.query(
      `do $$ begin drop role if exists ${role}; exception when dependent_objects_still_exist then null; end $$`,
    );
});

/** Every right on every object of the schema that the role has; none is expected. */
const RIGHTS = `
  select 'schema' as kind, n.nspname::text as name, r.name as right from pg_namespace n, unnest('{USAGE,CREATE}'::text[]) r (name)
  where n.nspname = 'fairmill' and has_schema_privilege($1, n.oid, r.name)
  union all
  select 'relation', c.relname, r.name from pg_class c, unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) r (name)
  where c.relnamespace = 'fairmill'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') and has_table_privilege($1, c.oid, r.name)
  union all
  select 'column', c.relname, r.name from pg_class c, unnest('{SELECT,INSERT,UPDATE,REFERENCES}'::text[]) r (name)
  where c.relnamespace = 'fairmill'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') and has_any_column_privilege($1, c.oid, r.name)
  union all
  select 'sequence', c.relname, r.name from pg_class c, unnest('{USAGE,SELECT,UPDATE}'::text[]) r (name)
  where c.relnamespace = 'fairmill'::regnamespace and c.relkind = 'S' and has_sequence_privilege($1, c.oid, r.name)
  union all
  select 'function', p.oid::regprocedure::text, 'EXECUTE' from pg_proc p
  where p.pronamespace = 'fairmill'::regnamespace and has_function_privilege($1, p.oid, 'EXECUTE')`;

test.each(OUTSIDERS)(
  "S1: %s has no right on the schema nor on any table, view, sequence or function in it",
  async (role) => {
    expect(await db.query(RIGHTS, [role])).toEqual([]);
  },
);

test("S1: the walk sees what is there: the owner has every right on all of it", async () => {
  const rights = await db.query<{ kind: string; name: string }>(RIGHTS.replaceAll("$1", "current_user"));
  const kinds = new Set(rights.map(({ kind }) => kind));
  expect([...kinds].toSorted()).toEqual(["column", "function", "relation", "schema", "sequence"]);
  const names = new Set(rights.map(({ name }) => name));
  for (const name of [
    "job",
    "job_history",
    "job_history_rest",
    "worker",
    "claim_list",
    "queue",
    "idempotency",
    "unique_period",
    "migration",
    "account",
    "credit_entry",
    "credit_pending",
    "outbox",
    "schedule",
    "schedule_tick",
    "batch",
    "batch_edge",
    "batch_hold",
    "batch_id_seq",
    "job_id_seq",
    "outbox_id_seq",
    "credit_entry_id_seq",
  ])
    expect(names).toContain(name);
});

test("S1: a granted schema is not enough: anon is refused at every table and at every function", async () => {
  const session = await open();
  await session.query("begin");
  await session.query("grant usage on schema fairmill to anon");
  const functions = await session.query<{ call: string }>(
    `select format('select fairmill.%I(%s)', p.proname,
       (select string_agg('null::' || format_type(t, null), ', ' order by n) from unnest(p.proargtypes) with ordinality as a (t, n))) as call
     from pg_proc p where p.pronamespace = 'fairmill'::regnamespace`,
  );
  const tables = await session.query<{ call: string }>(
    "select 'select from fairmill.' || c.relname as call from pg_class c where c.relnamespace = 'fairmill'::regnamespace and c.relkind in ('r', 'p', 'v')",
  );
  expect(functions.length).toBeGreaterThan(25);
  await session.query("set local role anon");
  for (const { call } of [...functions, ...tables]) {
    await session.query("savepoint before");
    expect(await errorCode(session.query(call)), call).toBe("42501");
    await session.query("rollback to before");
  }
  await session.query("rollback");
});

test("S2: partitions that are made later are as closed as the rest, whatever the default privileges say", async () => {
  const session = await open();
  await session.query("begin");
  await session.query("alter default privileges grant all on tables to public");
  // The database may have been made yesterday.
  await call(session, "history_partitions_v1(3)");
  const made = await call<number>(session, "history_partitions_v1(7)");
  expect(made).toBe(4);
  for (const role of OUTSIDERS) expect(await session.query(RIGHTS, [role])).toEqual([]);
  await session.query("rollback");
});

test("S3: every function pins its search_path to pg_catalog, pg_temp", async () => {
  const loose = await db.query(
    `select p.proname, p.proconfig from pg_proc p where p.pronamespace = 'fairmill'::regnamespace
     and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)
     -- Names in a body of this kind were looked up when the function was made.
     and p.prosqlbody is null`,
  );
  expect(loose).toEqual([]);
});

test("S5: only the two functions that make and drop partitions run with their owner's rights", async () => {
  const definers = await db.query<{ proname: string }>(
    "select proname from pg_proc where pronamespace = 'fairmill'::regnamespace and prosecdef order by 1",
  );
  expect(definers.map(({ proname }) => proname)).toEqual(["history_partitions_v1", "retention"]);
});

test("S3: what a caller puts into its own search_path or its temporary schema is not used", async () => {
  const session = await open();
  await session.query("begin");
  await session.query(`create schema evil;
    create function evil.now() returns timestamptz language sql as $$ select 'epoch'::timestamptz $$;
    create function evil.clock_timestamp() returns timestamptz language sql as $$ select 'epoch'::timestamptz $$;
    create function evil.jsonb_array_elements(jsonb) returns setof jsonb language sql as $$ select null::jsonb $$;
    create function evil.bad(bigint, bigint) returns boolean language sql as $$ select false $$;
    create operator evil.= (leftarg = bigint, rightarg = bigint, function = evil.bad);
    create temporary table job (id bigint);
    create temporary table job_history_rest (id bigint);
    set local search_path = evil, pg_temp, pg_catalog`);
  const id = await enqueueOne(session);
  await register(session, "w");
  const claimed = await claim(session, "w");
  expect(claimed).toMatchObject([{ id, lease_no: claimNo(1) }]);
  expect(await settle(session, "w", claimed, "done")).toEqual({ accepted: 1, refused: [] });
  await session.query("select * from fairmill.tick_upkeep_v1()");
  await session.query("set local search_path = pg_catalog");
  const end = await ended(session, id);
  expect(end!.ended_at!.getTime()).toBeGreaterThan(end!.created_at.getTime() - 1);
  await session.query("rollback");
});

test("S5: a role with EXECUTE on the functions and DML on the tables does all the work and the upkeep, and can change no schema", async () => {
  await db.query(`grant usage on schema fairmill to ${worker};
    grant select, insert, update, delete on fairmill.job, fairmill.job_history, fairmill.worker, fairmill.claim_list, fairmill.queue, fairmill.idempotency,
      fairmill.unique_period, fairmill.limit_setting, fairmill.key_limit, fairmill.key_limit_report, fairmill.meter, fairmill.step, fairmill.account, fairmill.credit_pending, fairmill.outbox,
      fairmill.batch, fairmill.batch_edge, fairmill.batch_hold, fairmill.pause_exception, fairmill.schedule, fairmill.schedule_tick to ${worker};
    grant select, insert on fairmill.credit_entry to ${worker};
    grant select on fairmill.key_limit_in_force, fairmill.limit_in_force, fairmill.supervisor, fairmill.retention_rule to ${worker};
    grant select, insert, update, delete on fairmill.named_limit, fairmill.provider, fairmill.provider_need, fairmill.provider_share, fairmill.provider_charge, fairmill.budget, fairmill.channel_end, fairmill.child to ${worker};
    grant usage on sequence fairmill.job_id_seq, fairmill.credit_entry_id_seq, fairmill.outbox_id_seq, fairmill.batch_id_seq to ${worker};
    grant execute on all functions in schema fairmill to ${worker}`);
  // Upkeep finds something to do: today's partition is missing and its row is in the rest, and a partition is old.
  await db.query(`do $$ begin
    execute 'drop table fairmill.job_history_' || to_char(now() at time zone 'UTC', 'YYYYMMDD');
    execute 'create table fairmill.job_history_20200101 partition of fairmill.job_history for values from (''2020-01-01 00:00+00'') to (''2020-01-02 00:00+00'')';
  end $$`);
  const session = await open();
  await session.query(`set role ${worker}`);
  await register(session, "w");
  await grant(session, "ann", 5);
  const id = await enqueueOne(session, { idempotency_key: "k", unique_key: "u", account: "ann", amount: 2 });
  const [claimed] = await claim(session, "w");
  expect(await session.query("select * from fairmill.heartbeat_v1('w')")).toEqual([{ alive: true, cancelled: [] }]);
  const fence = ["w", id, claimed!.lease_no];
  await session.query("select fairmill.store_step_v1($1, $2, $3, 'a', 0, '1')", fence);
  await session.query("select fairmill.pause_step_v1($1, $2, $3, 'b', 1, 'wait')", fence);
  expect(await call<string>(session, "signal_v1($1, 'b')", [id])).toBe("sent");
  await settle(session, "w", [claimed!], "done");
  expect(await partitionOf(db, id)).toBe("job_history_rest");
  expect(await balanceOf(session, "ann")).toEqual([3, 0]);

  const [upkeep] = await session.query<{ removed: number }>("select * from fairmill.tick_upkeep_v1()");
  expect(upkeep!.removed).toBe(1);
  expect(await partitionOf(db, id)).toMatch(/^job_history_\d{8}$/);
  expect(await db.query("select to_regclass('fairmill.job_history_20200101') as gone")).toEqual([{ gone: null }]);
  const message = await publishOne(session, { order_key: "chat" });
  await tick(session);
  const deliveries = await claimDeliveries(session, "w");
  expect(await answersOf(begin(session, "w", deliveries))).toEqual(["send"]);
  await settle(session, "w", deliveries, "dead", [{ error: { message: "no" }, delivery: { outcome: "uncertain" } }]);
  expect(await call<string>(session, "resolve_delivery_v1($1, 'sent')", [message])).toBe("resolved");
  expect(await call<string>(session, "cancel_v1($1)", [id])).toBe("ended");
  expect(await call<string>(session, "retry_v1($1)", [id])).toBe("done");

  await session.query(`select fairmill.set_schedule_v1('s', '* * * * *', 'UTC', '{"kind": "k"}', 'f', now())`);
  await session.query("select fairmill.postpone_schedule_v1('s', 1, '{}')");
  expect(
    await session.query("select ticked from fairmill.tick_schedule_v1('s', 1, array[now()], '{0}', 'tomorrow')"),
  ).toEqual([{ ticked: true }]);
  expect(await session.query("select created from fairmill.run_schedule_v1('s')")).toEqual([{ created: true }]);
  expect(await call<boolean>(session, "pause_schedule_v1('s', true)")).toBe(true);
  expect(await call<boolean>(session, "remove_schedule_v1('s')")).toBe(true);
  // A flow whose second node starts, a batch that is held open, and the end of both.
  const flow = await createFlow(session, [
    { name: "a", jobs: [{ kind: "a" }] },
    { name: "b", after: [0], jobs: [{ kind: "b" }] },
  ]);
  const { hold } = await openBatch(session, { hold_ms: 60_000 });
  expect(await work(session, "w")).toContain("a");
  expect(await work(session, "w")).toEqual(["b"]);
  expect(await stateOf(session, flow)).toBe("succeeded");
  expect(await call<string>(session, "release_batch_v1($1)", [hold])).toBe("succeeded");

  for (const statement of [
    "create table fairmill.mine (id bigint)",
    "drop table fairmill.job",
    "alter table fairmill.job add column mine text",
    "create or replace function fairmill.listening_v1(worker_id text, wanted boolean) returns void language sql as ''",
    "drop function fairmill.retention(interval, integer, interval)",
    "select * from fairmill.migration",
    // What was written about credits stays as it was written.
    "update fairmill.credit_entry set amount = 1",
    "delete from fairmill.credit_entry",
  ])
    expect(await errorCode(session.query(statement)), statement).toBe("42501");
});
