// What a claim brings is what the job is, whether its row said so or left it out as usual.
import { expect, onTestFinished, test } from "vitest";
import { claimAlong, type Probe } from "../../../src/core/claim/claim-statements.js";
import { claimsOf } from "../../../src/core/job/lease-no.js";
import { Database } from "../../../src/db/database.js";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import { register } from "../../support/sql/calls.js";

const db = useDatabase();
const WORKER = "w";

function openDatabase(): Database {
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 2, applicationName: "claim" });
  onTestFinished(() => database.close());
  return database;
}

const probe = (tenant: string, priority = 0): Probe => ({ tenant, priority, floor: "0", quantum: 10 });

/** A ready job with a past, as the next claim brings it: one lease and one attempt later. */
async function put(values: Record<string, unknown>) {
  const job = {
    tenant: "a",
    kind: "job",
    priority: 0,
    key: null,
    lease_no: 0,
    attempt: 0,
    crashes: 0,
    max_attempts: 3,
    timeout_ms: null,
    trace: null,
    ...values,
  };
  const [row] = await db.query<{ id: string }>(
    `insert into fairmill.job (queue, tenant, kind, priority, key, lease_no, attempt, crashes, max_attempts, state, payload, timeout_ms, trace)
     values ('default', $1, $2, $3, $4, $5, $6, $7, $8, 'ready', $9, $10, $11) returning id`,
    [
      ...[job.tenant, job.kind, job.priority, job.key, job.lease_no, job.attempt, job.crashes, job.max_attempts],
      ...[JSON.stringify(values), job.timeout_ms, job.trace],
    ],
  );
  return {
    id: row!.id,
    worker: WORKER,
    queue: "default",
    tenant: job.tenant,
    kind: job.kind,
    priority: job.priority,
    key: job.key,
    leaseNo: claimNo(claimsOf(job.lease_no) + 1),
    attempt: job.attempt + 1,
    crashes: job.crashes,
    maxAttempts: job.max_attempts,
    payload: values,
    batch: null,
    timeoutMs: job.timeout_ms,
    trace: job.trace,
    listNo: 1,
  };
}

test("every job comes with its own lane, kind, key, payload and past, beside others that are as usual", async () => {
  await register(db, WORKER);
  const expected = [
    await put({}),
    await put({ tenant: "b" }),
    await put({ priority: -7 }),
    await put({ kind: "other", key: "k" }),
    await put({ lease_no: 5 * 2 ** 28 }),
    await put({ lease_no: 4 * 2 ** 28 - 7, attempt: 2 }),
    await put({ lease_no: 2 ** 28 + 1, attempt: 2, crashes: 1 }),
    await put({ max_attempts: 10 }),
    await put({ timeout_ms: 0, trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }),
    await put({
      tenant: "b",
      kind: "other",
      priority: -7,
      lease_no: 2 ** 52,
      attempt: 8,
      crashes: 2,
      max_attempts: 20,
    }),
  ];
  const probes = [probe("a"), probe("b"), probe("a", -7), probe("b", -7)];
  const { claims } = await claimAlong(openDatabase(), WORKER, "default", probes, ["job", "other"], 100, 1, undefined);
  expect(claims.toSorted((a, b) => Number(a.id) - Number(b.id))).toEqual(expected);
});

test("what limits held back is told, also where nothing is claimed", async () => {
  await register(db, WORKER);
  await put({});
  await db.query("select fairmill.set_limits_v1('queue', 'default', '{\"paused\": true}')");
  const answer = await claimAlong(openDatabase(), WORKER, "default", [probe("a")], ["job"], 100, 2, undefined);
  expect(answer.claims).toEqual([]);
  expect(answer.held).toMatchObject([{ scope: "queue", name: "default" }]);
});
