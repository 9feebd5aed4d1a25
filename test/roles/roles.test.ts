// S4: the roles of the database, cell by cell: what each may do is read from the catalog and compared with what it should, and each does its work.
import { randomBytes } from "node:crypto";
import { createClient, createWorker, defineJob, defineLimit, handle } from "fairmill";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DATABASE_ROLES, type DatabaseRole, rightsOf, rolesScript } from "../../src/roles/database-roles.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { claim, enqueueOne, grant, register, settle } from "../support/sql/calls.js";
import { errorCode, useSessions } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const open = useSessions(db);
const prefix = `roles_${randomBytes(4).toString("hex")}`;

beforeAll(async () => {
  const script = await rolesScript({ schema: "fairmill", prefix });
  await db.query(script);
  // Again, as after a migration.
  await db.query(script);
});
afterAll(async () => {
  for (const role of DATABASE_ROLES) await db.query(`drop owned by ${prefix}_${role}; drop role ${prefix}_${role}`);
});

const TABLES = `select c.relname as name, array(select r from unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) r where has_table_privilege($1, c.oid, r)) as rights
  from pg_class c where c.relnamespace = 'fairmill'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition order by 1`;
const FUNCTIONS = `select p.proname as name, has_function_privilege($1, p.oid, 'EXECUTE') as may from pg_proc p where p.pronamespace = 'fairmill'::regnamespace order by 1`;

const tablesOf = async (role: DatabaseRole) =>
  new Map(
    (await db.query<{ name: string; rights: string[] }>(TABLES, [`${prefix}_${role}`])).map(({ name, rights }) => [
      name,
      rights,
    ]),
  );
const functionsOf = async (role: DatabaseRole) =>
  (await db.query<{ name: string; may: boolean }>(FUNCTIONS, [`${prefix}_${role}`]))
    .filter(({ may }) => may)
    .map(({ name }) => name);

test.each(DATABASE_ROLES)(
  "S4: %s has on every table, view, function and sequence what its functions need, and nothing else",
  async (role) => {
    const { functions, tables } = await rightsOf(role);
    const has = await tablesOf(role);
    expect(has.size).toBeGreaterThan(20);
    for (const [name, rights] of has)
      expect(rights.toSorted(), `${role} on ${name}`).toEqual([...(tables.get(name) ?? [])].toSorted());
    expect(await functionsOf(role)).toEqual([...functions].toSorted());
    const [schema] = await db.query(
      "select has_schema_privilege($1, 'fairmill', 'CREATE') as ddl, has_schema_privilege($1, 'fairmill', 'USAGE') as use",
      [`${prefix}_${role}`],
    );
    expect(schema).toEqual({ ddl: false, use: true });
  },
);

test("S4: the lines that matter, said by hand", async () => {
  const may = async (role: DatabaseRole, table: string) => (await tablesOf(role)).get(table);
  for (const [table, rights] of await tablesOf("viewer")) expect(rights, table).toEqual(["SELECT"]);
  for (const role of DATABASE_ROLES) expect(await may(role, "credit_entry"), role).not.toContain("UPDATE");
  for (const role of DATABASE_ROLES) expect(await may(role, "migration"), role).not.toContain("INSERT");
  expect(await may("enqueue", "job_history")).not.toContain("DELETE");
  expect(await may("enqueue", "audit_event")).toEqual([]);
  expect(await may("worker", "audit_event")).toEqual([]);
  // It carries on what a person began, and begins nothing.
  expect(await may("worker", "bulk_action")).toEqual(["SELECT", "UPDATE"]);
  expect(await may("admin", "audit_event")).toEqual(["SELECT", "INSERT", "UPDATE"]);
  const [viewer, enqueue, worker, admin] = await Promise.all(
    (["viewer", "enqueue", "worker", "admin"] as const).map(functionsOf),
  );
  for (const write of [
    "enqueue_v1",
    "cancel_v1",
    "settle_v1",
    "set_limits_v1",
    "grant_v1",
    "step_bulk_v1",
    "record_action_v1",
  ])
    expect(viewer).not.toContain(write);
  for (const other of ["claim_v1", "settle_v1", "cancel_v1", "grant_v1", "heartbeat_v1"])
    expect(enqueue).not.toContain(other);
  // Definitions bring limits of their kinds, so a role that enqueues or works may set limits.
  for (const steering of ["grant_v1", "start_bulk_v1", "end_bulk_v1", "record_action_v1", "redrive_v1"])
    expect(worker).not.toContain(steering);
  for (const any of ["set_limits_v1", "grant_v1", "start_bulk_v1", "record_action_v1", "enqueue_v1", "why_v1"])
    expect(admin).toContain(any);
});

test("S4: each does its work, and is refused at the next one's", async () => {
  const as = async (role: DatabaseRole) => {
    const session = await open();
    await session.query(`set role ${prefix}_${role}`);
    return session;
  };
  const [enqueue, worker, viewer, admin] = [
    await as("enqueue"),
    await as("worker"),
    await as("viewer"),
    await as("admin"),
  ];
  await grant(admin, "ann", 10);
  await admin.query(`select fairmill.set_limits_v1('tenant', 'default', '{"max_running": 5}')`);
  const id = await enqueueOne(enqueue, { idempotency_key: "k", unique_key: "u", account: "ann", amount: 2, key: "a" });
  await enqueue.query(`select * from fairmill.publish_v1('chat', '{"text": "hi"}', idempotency_key => 'm')`);
  expect(await errorCode(enqueue.query("select fairmill.cancel_v1($1)", [id]))).toBe("42501");
  expect(await errorCode(enqueue.query("delete from fairmill.job"))).toBe("42501");
  await register(worker, "w");
  const claims = await claim(worker, "w", 10);
  expect(claims.map((one) => one.id)).toContain(id);
  await settle(
    worker,
    "w",
    claims.filter((one) => one.id === id),
    "dead",
    [{ error: { message: "no", code: "E" } }],
  );
  await worker.query("select * from fairmill.tick_upkeep_v1()");
  expect(await errorCode(worker.query("select fairmill.grant_v1('ann', 1)"))).toBe("42501");
  expect((await viewer.query("select * from fairmill.why_v1($1)", [id])).length).toBeGreaterThan(0);
  for (const read of [
    "fairmill.tenants_v1()",
    "fairmill.queues_v1()",
    "fairmill.balance_v1('ann')",
    `fairmill.preview_bulk_v1('redrive', '{"kind": "k"}')`,
  ])
    expect(await viewer.query(`select * from ${read}`), read).toBeInstanceOf(Array);
  expect(await errorCode(viewer.query("select fairmill.retry_v1($1)", [id]))).toBe("42501");
  expect(await errorCode(viewer.query("update fairmill.job set priority = 1"))).toBe("42501");
  const [bulk] = await admin.query<{ id: string }>(
    `select fairmill.start_bulk_v1('redrive', '{"ids": ["${id}"]}', 'ann') as id`,
  );
  expect(await admin.query("select state, changed from fairmill.step_bulk_v1($1)", [bulk!.id])).toEqual([
    { state: "done", changed: 1 },
  ]);
  await admin.query("select fairmill.conclude_action_v1(fairmill.record_action_v1('ann', 'cli', 'a.b', 'c'), 'done')");
  expect(await errorCode(admin.query("drop table fairmill.job"))).toBe("42501");
  expect(await errorCode(admin.query("create table fairmill.x ()"))).toBe("42501");
});

test("S4: a whole worker lives with the rights of its role: it runs, logs, uses units, records its figures and evaluates alerts", async () => {
  const url = new URL(db.url);
  url.searchParams.set("options", `-c role=${prefix}_worker`);
  const tokens = defineLimit("tokens", { tokens: 100, per: "1h" });
  const job = defineJob<number>({ kind: "k", limits: { uses: [tokens.with({ tokens: 10 })] } });
  const producer = new URL(db.url);
  producer.searchParams.set("options", `-c role=${prefix}_enqueue`);
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  const enqueues = createClient({ databaseUrl: producer.href, connectionsMax: 1 });
  endAfterTest(() => client.close());
  endAfterTest(() => enqueues.close());
  const worker = createWorker({
    databaseUrl: url.href,
    handlers: [
      handle(job, async (ctx) => {
        ctx.log.info({ n: ctx.input }, "here");
        await ctx.use(tokens, { tokens: 3 }, { now: true });
      }),
    ],
    alerts: { every: "1s" },
    recordEvery: "1s",
  });
  const troubles: unknown[] = [];
  worker.events.on("trouble", (trouble) => void troubles.push(trouble));
  endAfterTest(() => worker.stop());
  await worker.start();
  const { id } = await enqueues.enqueue(job, 7);
  await client.result(id);
  for (const table of ["job_log", "worker_tick_metrics", "fleet_sample", "alert_rule"])
    await waitUntil(
      `a row of ${table}`,
      async () => (await db.query(`select from fairmill.${table} limit 1`)).length > 0,
    );
  await worker.stop();
  expect(troubles).toEqual([]);
});
