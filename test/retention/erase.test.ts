// Erasing a tenant: nothing of it is left anywhere, other tenants keep theirs, the books still add up, and the record has no name.
import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { createClient, createWorker, defineJob, handle, silentLogger } from "fairmill";
import { defineStorage, folderStorage } from "fairmill/storage";
import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { call } from "../support/sql/calls.js";
import { useSessions } from "../support/sql/sessions.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const openSession = useSessions(db);
let client: ReturnType<typeof createClient>;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
  endAfterTest(() => client.close());
});

const work = defineJob<{ tenant: string }>({
  kind: "work",
  key: () => "k",
  limits: { active: 5 },
  credits: { account: ({ tenant }) => tenant, amount: 1 },
});
const plain = defineJob<object>({ kind: "plain" });

/** Every table that has this text in any row, whatever the column. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await db.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'fairmill'::regnamespace and relkind = 'r' order by 1`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await db.query(`select from fairmill.${name} x where strpos(to_jsonb(x)::text, $1) > 0 limit 1`, [
      text,
    ]);
    if (rows.length > 0) found.push(name);
  }
  return found;
}

/** Something of a tenant in every table that can have it. */
async function fill(tenant: string): Promise<void> {
  await client.credits.grant(tenant, 100, { idempotencyKey: `grant-${tenant}`, reason: `for ${tenant}` });
  await client.tenants.set(tenant, { weight: 2, maxRunning: 5 });
  await client.retention.set({ tenant }, { keep: "90d" });
  await client.schedules.set(`nightly-${tenant === "acme" ? 1 : 2}`, {
    cron: "0 3 * * *",
    job: plain,
    input: {},
    tenant,
  });
  for (let n = 0; n < 3; n++)
    await client.enqueue(work, { tenant }, { tenant, idempotencyKey: `${tenant}-${n}`, delay: "1h" });
  await client.batches.create({ tenant, name: `of ${tenant}` }, (batch) => void batch.add(plain, {}));
  await client.publish("mail", { to: tenant }, { tenant, idempotencyKey: `m-${tenant}` });
  await db.query(
    `insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, ended_at, payload, worker)
     select nextval('fairmill.job_id_seq'), 1, 0, 1, 0, 3, 'done', 'default', $1, 'plain', now(), now(), jsonb_build_object('of', $1::text), 'w' from generate_series(1, 2000)`,
    [tenant],
  );
  const values = [tenant];
  await db.query(
    "insert into fairmill.step (job_id, name, kind, position, result, started_at, finished_at, attempt, lease_no) select id, 's', 'run', 1, payload, now(), now(), 1, 1 from fairmill.job_history where tenant = $1 limit 5",
    values,
  );
  await db.query(
    "insert into fairmill.job_log (job_id, at, level, attempt, bytes, line) select id, now(), 'info', 1, 2, payload from fairmill.job_history where tenant = $1 limit 5",
    values,
  );
  await db.query("insert into fairmill.unique_period values ($1, 'plain', $1, 1, now() + interval '1 day')", values);
  await db.query(
    "insert into fairmill.audit_event (actor, via, action, subject, tenant, detail) values ('ann', 'cli', 'tenant.set', 'tenant ' || $1, $1, jsonb_build_object('x', $1::text))",
    values,
  );
  await db.query(
    "insert into fairmill.bulk_action (action, filter, actor, tenant, up_to_id) values ('cancel', jsonb_build_object('tenant', $1::text), 'ann', $1, 1)",
    values,
  );
  await db.query(
    "insert into fairmill.provider_charge (id, job_id, provider, tenant, kind, worker, day, currency, cost) values ($1, 1, 'p', $1, 'plain', 'w', current_date - 5, 'EUR', 1)".replace(
      "($1, 1",
      "(md5($1), 1",
    ),
    values,
  );
  await db.query("insert into fairmill.provider_cost values (current_date - 5, $1, 'p', 'plain', 'EUR', 1, 1)", values);
  await db.query("insert into fairmill.metric_sample (name, label, sum, max) values ('m', $1, 1, 1)", values);
  await db.query(
    "insert into fairmill.fleet_sample (tenants) values (jsonb_build_object($1::text, '{}'::jsonb, 'z', '{}'::jsonb))",
    values,
  );
  await db.query(
    "insert into fairmill.worker_tick_metrics (worker_id, mode, tick_started_at, interval_ms, tick_duration_ms, tenant_jobs, tenants, throttled) values ('w', 'tick', now(), 1, 1, jsonb_build_object($1::text, 1), jsonb_build_object($1::text, '{}'::jsonb), jsonb_build_array($1::text))",
    values,
  );
  await db.query(
    "insert into fairmill.alert (rule, subject, severity, state, message, value, threshold, unit, since) values ('r', 'tenant ' || $1, 'info', 'pending', $1, 1, 1, 'x', now())",
    values,
  );
  await db.query(
    "insert into fairmill.budget (tenant, per, hard, period_from, period_until) values ($1, 'day', 1, now(), now() + interval '1 day')",
    values,
  );
  await db.query("insert into fairmill.alert_silence (rule, subject, until) values ('r', $1, now())", values);
  await db.query(
    "insert into fairmill.cache_entry (name, key, value, fresh_until) values ('c', $1 || '/x', to_jsonb($1::text), now())",
    values,
  );
  await db.query(
    "insert into fairmill.meter (use, scope, name) values ('start', 'tenant', $1), ('start', 'key', json_build_array('plain', $1::text)::text), ('enqueue', 'limit', json_build_array('l', $1::text, 'u', 0)::text) on conflict do nothing",
    values,
  );
}

test("every table whose columns can name a tenant is erased, or says why not", async () => {
  const listed = (await db.query<{ part: string }>("select part from fairmill.erased_tables()")).map(({ part }) =>
    part.replace(/^job_history_.*/, "job_history"),
  );
  const columns = await db.query<{ table: string; column: string }>(
    `select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'fairmill'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attname ~ '(tenant|account|subject|throttled)'`,
  );
  /** Ended first (job), the record itself, and figures that hold numbers alone. */
  const others = ["job", "tenant_erasure"];
  const forgotten = columns.filter(({ table }) => !listed.includes(table) && !others.includes(table));
  expect(forgotten).toEqual([]);
});

test("nothing of the tenant is left in any table, the other tenant keeps everything, and the record has no name", async () => {
  await fill("acme");
  await fill("zeta");
  await db.query("update fairmill.cache_entry set key = 'acme/x' where key = 'acme/x'");
  const before = await tablesWith("zeta");
  expect((await tablesWith("acme")).length).toBeGreaterThan(20);
  const storage = defineStorage({
    name: "files",
    driver: folderStorage({ path: await temporaryFolder("erase") }),
  });
  for (const key of ["acme/1.txt", "acme/2.txt", "acmeville/3.txt", "zeta/4.txt"]) await storage.put(key, key);

  const erased = await client.tenants.erase("acme", {
    actor: "ann",
    reason: "contract ended",
    cachePrefix: "acme/",
    storages: [storage],
  });
  expect(erased).toMatchObject({
    state: "done",
    phase: "done",
    tenant: null,
    actor: "ann",
    reason: "contract ended",
    error: null,
  });
  expect(erased.counts).toMatchObject({
    job: 5,
    job_history: 2005,
    step: 5,
    job_log: 5,
    outbox: 1,
    files: 2,
    credit_entry: 7,
  });
  expect(await tablesWith("acme")).toEqual([]);
  expect((await storage.list()).map(({ key }) => key)).toEqual(["acmeville/3.txt", "zeta/4.txt"]);
  expect(await tablesWith("zeta")).toEqual(before);
  expect(await client.credits.balance("zeta")).toMatchObject({ available: 97 });
  // The book is whole, without the name, and what was reserved came back.
  expect(await client.credits.balance(`erased-${erased.id}`)).toMatchObject({ available: 100 });
  // A caller that knows the name can ask whether it was erased.
  expect(erased.tenantDigest).toBe(createHash("sha256").update("acme").digest("hex"));
  expect(await client.tenants.erasures({ tenant: "acme" })).toEqual([erased]);
  expect(await client.tenants.erasures({ tenant: "zeta" })).toEqual([]);
  // What comes later under the same name is a new tenant.
  await client.enqueue(plain, {}, { tenant: "acme" });
  expect(await client.tenants.erase("acme")).toMatchObject({ state: "done", counts: { job: 1, job_history: 1 } });
});

test("of two that step an erasure at once the second is told busy and does nothing", async () => {
  const id = await call<string>(db, "start_erasure_v1('acme', 'ann')");
  const [one, two] = [await openSession(), await openSession()];
  await one.query("begin");
  expect(await one.query("select state from fairmill.step_erasure_v1($1)", [id])).toEqual([{ state: "running" }]);
  await two.query("set statement_timeout = '20s'");
  expect(await two.query("select state from fairmill.step_erasure_v1($1)", [id])).toEqual([{ state: "busy" }]);
  await one.query("commit");
  expect(await two.query("select state from fairmill.step_erasure_v1($1)", [id])).toEqual([{ state: "running" }]);
});

test("a job that runs is told to stop, and fenced off when it does not: what its worker still says is refused", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const worker = createWorker({
    databaseUrl: db.url,
    logger: silentLogger,
    alerts: false,
    handlers: [handle(plain, async () => held)],
    abortGrace: "1h",
  });
  endAfterTest(async () => {
    release();
    await worker.stop();
  });
  const refused: string[] = [];
  worker.events.on("refused", ({ ids }) => void refused.push(...ids));
  await worker.start();
  const { id } = await client.enqueue(plain, {}, { tenant: "acme" });
  await waitUntil("the job runs", async () => (await client.job(id))?.state === "running");
  const began = await call<string>(db, "start_erasure_v1('acme', 'ann')");
  await call(db, "step_erasure_v1($1)", [began]);
  // Ten seconds are over.
  await db.query("update fairmill.tenant_erasure set updated_at = now() - interval '11 seconds'");
  expect(await client.tenants.erase("acme")).toMatchObject({
    state: "done",
    counts: { job: 1, job_fenced: 1, job_history: 1 },
  });
  release();
  await waitUntil("the settle is refused", async () => refused.length > 0);
  expect(refused).toEqual([id]);
  expect(await tablesWith("acme")).toEqual([]);
});

test("a process that is killed in the middle leaves the rest to the next call", async () => {
  await fill("acme");
  const child = fork(new URL("./erase-process.mjs", import.meta.url), [db.url], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const phase = await new Promise<string>((resolve) => child.on("message", (message) => resolve(String(message))));
  child.kill("SIGKILL");
  await new Promise((resolve) => child.once("exit", resolve));
  expect(phase).toBe("tables");
  const [half] = await client.tenants.erasures();
  expect(half).toMatchObject({ state: "running", tenant: "acme" });
  expect((await tablesWith("acme")).length).toBeGreaterThan(3);
  const erased = await client.tenants.erase("acme", { cachePrefix: "acme/" });
  expect(erased).toMatchObject({ id: half!.id, state: "done" });
  expect(erased.counts).toMatchObject({ job: 5, job_history: 2005, outbox: 1 });
  expect(await tablesWith("acme")).toEqual([]);
});

test("while files are left in a storage that was not given, it is not done; and a client in a transaction refuses", async () => {
  const storage = defineStorage({
    name: "files",
    driver: folderStorage({ path: await temporaryFolder("erase") }),
  });
  await storage.put("acme/1.txt", "x");
  const id = await call<string>(db, "start_erasure_v1('acme', 'ann', file_prefix => 'acme/', storages => '{files}')");
  await expect(client.tenants.erase("acme")).rejects.toMatchObject({ code: "FAIRMILL_ERASURE_STORAGE" });
  expect(await client.tenants.erasure(id)).toMatchObject({ state: "running", phase: "files" });
  expect(await client.tenants.erase("acme", { storages: [storage] })).toMatchObject({
    id,
    state: "done",
    counts: { files: 1 },
  });
  await db.query("select 1");
  const inside = client.in({ query: async () => ({ rows: [] }) }).tenants as typeof client.tenants;
  await expect(inside.erase("acme")).rejects.toThrow("many transactions");
});

test("a role that may call every function erases no tenant: that takes the rights of the schema's owner", async () => {
  const session = await openSession();
  await session.query("begin");
  await session.query("create role eraser_test nologin");
  await session.query("grant usage on schema fairmill to eraser_test");
  await session.query("grant execute on all functions in schema fairmill to eraser_test");
  await session.query("grant select, insert, update, delete on all tables in schema fairmill to eraser_test");
  await session.query("set local role eraser_test");
  await expect(call(session, "start_erasure_v1('acme', 'ann')")).rejects.toThrow("only the owner");
  await session.query("rollback");
  expect(await client.tenants.erasures()).toEqual([]);
});
