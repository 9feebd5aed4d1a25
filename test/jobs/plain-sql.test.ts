// F2 B2: a client of any language, with nothing but SQL: every call below is a text that psql would take.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimNo } from "../support/lease-no.js";
import { errorCode, useSessions } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

test("F2 B2: registers, enqueues by named arguments, claims, beats, reports progress, settles and leaves", async () => {
  const sql = await open();
  await sql.query("select fairmill.register_v1('python-1', '{default,mail}')");

  const [first] = await sql.query<{ id: string; created: boolean }>(
    `select * from fairmill.enqueue_v1('mail.send', '{"to": "a@example.com"}', tenant => 'acme', queue => 'mail', priority => 5,
       max_attempts => 7, key => 'user 1', idempotency_key => 'order 1')`,
  );
  expect(first!.created).toBe(true);
  expect(
    await sql.query(
      "select * from fairmill.enqueue_v1('mail.send', tenant => 'acme', queue => 'mail', idempotency_key => 'order 1')",
    ),
  ).toEqual([{ id: first!.id, created: false, conflict: "known" }]);
  expect(
    await sql.query(
      `select kind, payload, tenant, queue, priority, max_attempts, key, state from fairmill.job where id = ${first!.id}`,
    ),
  ).toEqual([
    {
      kind: "mail.send",
      payload: { to: "a@example.com" },
      tenant: "acme",
      queue: "mail",
      priority: 5,
      max_attempts: 7,
      key: "user 1",
      state: "ready",
    },
  ]);

  const [claimed] = await sql.query<{ id: string; lease_no: string }>(
    "select * from fairmill.claim_v1('python-1', 'mail', jobs_max => 10)",
  );
  expect(claimed).toMatchObject({
    id: first!.id,
    lease_no: claimNo(1),
    kind: "mail.send",
    payload: { to: "a@example.com" },
    attempt: 1,
  });
  expect(await sql.query("select * from fairmill.heartbeat_v1('python-1', '30 seconds')")).toEqual([
    { alive: true, cancelled: [] },
  ]);
  expect(
    await sql.query(
      `select fairmill.progress_v1('python-1', '{${claimed!.id}}', '{${claimed!.lease_no}}', '[{"percent": 50}]') as refused`,
    ),
  ).toEqual([{ refused: [] }]);
  expect(
    await sql.query(
      `select accepted, refused from fairmill.settle_v1('python-1', '{${claimed!.id}}', '{${claimed!.lease_no}}', '{done}', '[{"result": {"sent": true}}]')`,
    ),
  ).toEqual([{ accepted: 1, refused: [] }]);
  expect(
    await sql.query(`select state, result, progress, worker from fairmill.job_history where id = ${first!.id}`),
  ).toEqual([{ state: "done", result: { sent: true }, progress: { percent: 50 }, worker: "python-1" }]);
  expect(await sql.query("select fairmill.stop_worker_v1('python-1') as released")).toEqual([{ released: 0 }]);
});

test("F2: kind alone is enough, and times are given as intervals", async () => {
  const [bare] = await db.query<{ id: string }>("select id from fairmill.enqueue_v1('work')");
  const [timed] = await db.query<{ id: string }>(
    "select id from fairmill.enqueue_v1('work', delay => '90 seconds', expire => '1 hour 30 minutes')",
  );
  expect(
    await db.query(
      "select state, queue, tenant, priority, max_attempts, payload, run_at, expire_at from fairmill.job where id = $1",
      [bare!.id],
    ),
  ).toEqual([
    {
      state: "ready",
      queue: "default",
      tenant: "default",
      priority: 0,
      max_attempts: 3,
      payload: {},
      run_at: null,
      expire_at: null,
    },
  ]);
  expect(
    await db.query(
      "select state, (run_at - created_at)::text as wait, (expire_at - run_at)::text as life from fairmill.job where id = $1",
      [timed!.id],
    ),
  ).toEqual([{ state: "scheduled", wait: "00:01:30", life: "01:30:00" }]);
});

test("F2: a payload of any JSON kind is kept as it is, null included", async () => {
  for (const payload of ["null", "[]", '"text"', "0", "true", '{"a": {"b": [1, 2.5, null]}}']) {
    const [made] = await db.query<{ id: string }>(`select id from fairmill.enqueue_v1('work', '${payload}')`);
    expect(await db.query("select payload::text from fairmill.job where id = $1", [made!.id]), payload).toEqual([
      { payload },
    ]);
  }
  const [none] = await db.query<{ id: string }>("select id from fairmill.enqueue_v1('work', null)");
  expect(await db.query("select payload::text from fairmill.job where id = $1", [none!.id])).toEqual([
    { payload: "null" },
  ]);
});

test("F2: inside the caller's own transaction the job and the caller's row come and go together", async () => {
  const sql = await open();
  await sql.query(
    "begin; create temporary table orders (id bigint) on commit drop; insert into orders values (1); select fairmill.enqueue_v1('mail.send'); rollback",
  );
  expect(await db.query("select from fairmill.job")).toEqual([]);
});

test("a client that fails a job says when to try again, and sees the failure on record", async () => {
  const sql = await open();
  await sql.query("select fairmill.register_v1('python-1', '{default}')");
  const [made] = await sql.query<{ id: string }>("select id from fairmill.enqueue_v1('work')");
  const [claimed] = await sql.query<{ lease_no: string }>("select * from fairmill.claim_v1('python-1')");
  await sql.query(
    `select * from fairmill.settle_v1('python-1', '{${made!.id}}', '{${claimed!.lease_no}}', '{retry}', '[{"delay_ms": 1000, "outcome": "failed", "error": {"message": "timeout of the mail server"}}]')`,
  );
  expect(
    await sql.query(
      `select state, attempt, failures -> 0 -> 'error' ->> 'message' as message from fairmill.job where id = ${made!.id}`,
    ),
  ).toEqual([{ state: "scheduled", attempt: 1, message: "timeout of the mail server" }]);
});

test("a worker that was declared lost learns it from its heartbeat, and the fence keeps it out", async () => {
  const sql = await open();
  await sql.query("select fairmill.register_v1('python-1', '{default}', '10 milliseconds')");
  const [made] = await sql.query<{ id: string }>("select id from fairmill.enqueue_v1('work')");
  const [claimed] = await sql.query<{ lease_no: string }>("select * from fairmill.claim_v1('python-1')");
  await sql.query("update fairmill.worker set lease_until = clock_timestamp() - interval '1 second'");
  expect(await sql.query("select recovered from fairmill.tick_upkeep_v1()")).toEqual([{ recovered: 1 }]);
  expect(await sql.query("select alive from fairmill.heartbeat_v1('python-1')")).toEqual([{ alive: false }]);
  expect(
    await sql.query(
      `select * from fairmill.settle_v1('python-1', '{${made!.id}}', '{${claimed!.lease_no}}', '{done}')`,
    ),
  ).toEqual([{ accepted: 0, refused: [made!.id], admitted: null }]);
  expect(await errorCode(sql.query("select * from fairmill.claim_v1('python-1')"))).toBe("FM002");
  expect(await errorCode(sql.query("select fairmill.register_v1('python-1', '{default}')"))).toBe("23505");
});

test.each(["", "x".repeat(201)])("a worker's name of %j is refused", async (name) => {
  expect(await errorCode(db.query("select fairmill.register_v1($1, '{default}')", [name]))).toBe("23514");
});

test.each([
  ["kind => ''", "kind: '' is not a name of 1 to 200 bytes"],
  ["kind => null", "kind: NULL is not a name of 1 to 200 bytes"],
  ["kind => 'k', tenant => repeat('é', 101)", "tenant: 'éé"],
  ["kind => 'k', queue => ''", "queue: ''"],
  ["kind => 'k', priority => 5000", "priority: 5000 is not from -1000 to 1000"],
  ["kind => 'k', max_attempts => 0", "max_attempts: 0 is not from 1 to 1000"],
  ["kind => 'k', timeout => '-1 second'", "timeout: '-00:00:01' is less than none"],
  ["kind => 'k', expire => '-1 second'", "expire: '-00:00:01' is less than none"],
  ["kind => 'k', tags => '{a,\"\"}'", "tags: '{a,\"\"}' are not at most 16 texts"],
  ["kind => 'k', tags => array_fill('a'::text, array[17])", "tags: "],
])("F2: enqueue_v1(%s) is refused with the name of the argument", async (args, message) => {
  const asked = db.query(`select fairmill.enqueue_v1(${args})`);
  await expect(asked).rejects.toMatchObject({ code: "23514", message: expect.stringContaining(message) });
  expect(await db.query("select from fairmill.job")).toEqual([]);
});

test("F2: a field that no job has is refused by its name, in one of many jobs and in what they share", async () => {
  const many = (jobs: unknown, shared: unknown = {}) =>
    db.query("select id from fairmill.enqueue_many_v1($1, $2)", [JSON.stringify(jobs), JSON.stringify(shared)]);
  const refused = { code: "FM001", message: 'a job has no field "tenat"', hint: expect.stringContaining("tenant, ") };
  await expect(many([{ kind: "k" }, { kind: "k", tenat: "acme" }])).rejects.toMatchObject(refused);
  await expect(many([{ kind: "k" }], { tenat: "acme" })).rejects.toMatchObject(refused);
  expect(await many([{ kind: "k", payload: { tenat: 1 } }], { tenant: "acme" })).toHaveLength(1);
});
