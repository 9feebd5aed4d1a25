// S12: every route answers with many jobs, within its statement limit and without a notice. HTTP_JOBS=1000000 is the full programme.
import { createClient, defineFlow, defineJob } from "fairmill";
import { createAnswerToken } from "fairmill/http";
import { expect, test } from "vitest";
import { ROUTES } from "../../src/http/routes/all.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { register } from "../support/sql/calls.js";
import { INTERNAL_SECRET, routeOf, serverFor, type Who } from "./server.js";

const db = useDatabase();
const JOBS = Number(process.env["HTTP_JOBS"] ?? "20000");
/** What a statement may take; with fewer jobs than a million it says nothing. */
const MS_MAX = 5_000;

const FILTERS = [
  ...["state=ready", "state=dead", "state=scheduled", "state=done&state=dead", "tenant=tenant7", "tenant=nobody"],
  ...["queue=queue1&kind=kind3", "key=key17", "errorCode=E15", "errorText=failed at 100", 'payload={"n":17}'],
  ...["tag=t3", "createdSince=2001-01-01T00:00:00Z"],
];

async function fill(): Promise<void> {
  await db.query(
    `insert into fairmill.job (kind, queue, tenant, key, payload, state, run_at, aside)
     select 'kind' || n % 7, 'queue' || n % 3, 'tenant' || n % 50, 'key' || n % 1000, jsonb_build_object('n', n), case when n % 10 = 0 then 'scheduled' else 'ready' end,
       case when n % 10 = 0 then now() + interval '1 day' end, case when n % 10 = 0 then 'scheduled' end
     from generate_series(1, $1::integer / 2) n`,
    [JOBS],
  );
  await db.query(
    `with made as (select nextval('fairmill.job_id_seq') as id, n from generate_series(1, $1::integer / 2) n)
     insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, worker, created_at, started_at, ended_at, payload, error)
     select id, 4294967296, 0, 1, 0, 3, case when n % 5 = 0 then 'dead' else 'done' end, 'queue' || n % 3, 'tenant' || n % 50, 'kind' || n % 7, 'w', now() - interval '1 hour', now() - interval '1 hour', now(), '{}',
       case when n % 5 = 0 then jsonb_build_object('name', 'Error', 'code', 'E' || n % 20, 'message', 'failed at ' || n) end
     from made`,
    [JOBS],
  );
  await db.query(
    `insert into fairmill.outbox (tenant, channel, idempotency_key, payload, status, ended_at)
     select 'tenant' || n % 50, 'channel' || n % 4, 'm' || n, '{}', case when n % 100 = 0 then 'failed' else 'sent' end, now()
     from generate_series(1, $1::integer / 5) n`,
    [JOBS],
  );
  await db.query(
    `insert into fairmill.audit_event (actor, role, via, action, subject, outcome) select 'ann', 'admin', 'http', 'job.retry', 'job ' || n, 'done' from generate_series(1, $1::integer / 10) n`,
    [JOBS],
  );
  await db.query(
    `insert into fairmill.credit_entry (account, kind, amount) select 'user-' || n % 3, 'grant', 1 from generate_series(1, $1::integer / 5) n`,
    [JOBS],
  );
  await db.query(
    "insert into fairmill.account (name, balance) select e.account, sum(e.amount) from fairmill.credit_entry e group by e.account",
  );
  await db.query("analyze");
}

/** With the status of those that may find nothing to do, and the token of those that need one. */
type Call = readonly [method: string, path: string, body?: unknown, statuses?: readonly number[], token?: string];

/** Every route once, lists with every filter; reads come before what they read is changed. */
async function callsOf(): Promise<Call[]> {
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => client.close());
  const job = defineJob({ kind: "kind1", queue: "queue1" });
  const flow = defineFlow({ name: "pack" }, (build) => void build.job("draw", job, () => ({})));
  const { id: flowId } = await client.flows.start(flow, {});
  const [node] = await db.query<{ id: string }>(
    "select b.id::text as id from fairmill.batch b where b.root = $1 and b.id <> $1 limit 1",
    [flowId],
  );
  const batch = await client.batches.create({ tenant: "tenant1" }, (adder) => void adder.add(job, {}));
  const { id } = await client.enqueue(job, {}, { tenant: "tenant1", key: "key1", tags: ["t3"] });
  await client.schedules.set("nightly", { cron: "0 3 * * *", job, input: {} });
  await client.credits.grant("user-1", 10);
  const message = await client.publish("channel1", {}, { idempotencyKey: "one" });
  const worker = await register(db, "w");
  const { token } = createAnswerToken(id, "s", { secret: INTERNAL_SECRET });
  const named = (path: string) =>
    ["tenants", "queues", "kinds"].map((scope) => `/${scope}/${scope.slice(0, -1)}1${path}`);
  return [
    ...FILTERS.map((filter): Call => ["GET", `/jobs?${filter}`]),
    ...["", "?tenant=tenant7", "?queue=queue1", "?kind=kind1"].map((query): Call => ["GET", `/errors${query}`]),
    ...["", "?tenant=tenant7", "?queue=queue1"].map((query): Call => ["GET", `/backlog${query}`]),
    ...["name=jobs.in&name=jobs.out", "name=ready&by=queue", "name=wait.p95&by=tenant"].map(
      (query): Call => ["GET", `/series?${query}`],
    ),
    ...[
      "/me",
      "/now",
      "/jobs",
      "/facets",
      "/tenants",
      "/queues",
      "/kinds",
      "/limits",
      "/workers",
      "/named-limits",
      "/budgets",
    ].map((path): Call => ["GET", path]),
    ...["/scaling/pools", "/scaling/decisions", "/outbox", "/outbox/channels", "/outbox?status=pending"].map(
      (path): Call => ["GET", path],
    ),
    ...["/credits", "/credits/user-1", "/credits/user-1/entries", "/money", "/money?by=kind", "/providers"].map(
      (path): Call => ["GET", path],
    ),
    ...["/schedules", "/schedules/nightly", "/schedules/nightly/input", "/audit", "/audit?actor=ann"].map(
      (path): Call => ["GET", path],
    ),
    ...["/approvals", "/alerts", "/alerts/rules", "/fairness", "/time", "/bulk", "/erasures", "/openapi.json"].map(
      (path): Call => ["GET", path],
    ),
    ["GET", `/next-runs?${new URLSearchParams({ cron: "0 3 * * *", timezone: "UTC" })}`],
    ...["", "/why", "/steps", "/logs", "/public"].map((path): Call => ["GET", `/jobs/${id}${path}`]),
    ...named("").map((path): Call => ["GET", path]),
    ["GET", "/flows"],
    ["GET", "/batches"],
    ["GET", `/flows/${flowId}`],
    ["GET", `/flows/${flowId}/nodes/${node?.id}/why`],
    ["GET", `/batches/${batch.id}`],
    ["GET", `/outbox/${message.id}`],
    ["GET", `/outbox/${message.id}/why`],
    ["GET", `/workers/${worker}`],
    ["GET", "/scaling/pools/none/desired", undefined, [404]],
    ["GET", "/erasures/1", undefined, [404]],
    ["POST", "/limits/try", { scope: "tenant", name: "tenant1", maxRunning: 1 }],
    ["POST", "/bulk/preview", { action: "redrive", filter: { errorCode: "E15" } }],
    ["POST", "/bulk/preview", { action: "cancel", filter: { state: "ready" } }],
    ["POST", "/jobs", { kind: "kind1", queue: "queue1" }],
    ["POST", "/jobs/many", { kind: "kind1", queue: "queue1", items: [{}, {}] }],
    ["POST", `/jobs/${id}/run-now`],
    ["POST", `/jobs/${id}/signal`, { name: "s" }],
    ["POST", `/jobs/${id}/token`, {}],
    // It waits for no signal: no link answers that question, and a token from outside may answer it before it is asked.
    ["POST", `/jobs/${id}/answer-link`, { name: "s" }, [404]],
    ["GET", "/answer", undefined, [200], token],
    ["POST", "/answer", { approved: true }, [200], token],
    ["POST", `/jobs/${id}/cancel`],
    ["POST", `/jobs/${id}/rerun`, {}],
    ["POST", `/jobs/${id}/retry`, {}],
    ...named("").map((path): Call => ["PUT", path, { maxRunning: 5 }]),
    ...named("/pause").map((path): Call => ["POST", path, {}]),
    ...named("/resume").map((path): Call => ["POST", path]),
    ["POST", "/credits/user-1/grant", { amount: 5 }],
    ["PUT", "/schedules/weekly", { cron: "0 3 * * 1", kind: "kind1", input: {} }],
    ["POST", "/schedules/weekly/change", { cron: "0 4 * * 1" }],
    ...["pause", "resume", "run"].map((verb): Call => ["POST", `/schedules/nightly/${verb}`]),
    ["DELETE", "/schedules/nightly"],
    ["POST", `/outbox/${message.id}/resolve`, { verdict: "failed" }],
    ["POST", "/alerts/1/silence", { for: "1h" }, [404]],
    ["POST", `/flows/${flowId}/cancel`],
    ["POST", `/flows/${flowId}/retry`, {}],
    ["POST", `/batches/${batch.id}/cancel`],
    ["POST", "/bulk", { action: "cancel", filter: { kind: "kind2", tenant: "tenant2" } }],
    ["POST", "/bulk/1/stop", undefined, [200, 409]],
    ["POST", "/bulk/1/resume", undefined, [200, 409]],
    ["GET", "/bulk/1"],
    ["POST", "/tenants/tenant49/erase", { confirm: "tenant49" }],
  ];
}

/** Signing in reads no job; what is told while it happens never ends. */
const NOT_WALKED = ["/events", "/session"];

test(`S12: with ${JOBS} jobs, half of them ended, every route answers in time, and no list is stopped`, async () => {
  await fill();
  const { ask } = serverFor(db);
  const took: [string, number][] = [];
  const walked = new Set<unknown>();
  const wrong: string[] = [];
  for (const [method, path, body, statuses, token] of await callsOf()) {
    const startedMs = performance.now();
    const who: Who = "admin";
    const query = path.replaceAll(" ", "%20").replaceAll('"', "%22");
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    type Answer = { notice?: unknown; code?: string; detail?: string } | null;
    const answer = await ask<Answer>(who, method, query, body, headers);
    took.push([`${method} ${path}`, Math.round(performance.now() - startedMs)]);
    if (!(statuses?.includes(answer.status) ?? answer.status < 300))
      wrong.push(`${method} ${path}: ${answer.status} ${answer.body?.detail}`);
    if (answer.body?.notice) wrong.push(`${method} ${path}: ${JSON.stringify(answer.body.notice)}`);
    walked.add(routeOf(method, path));
  }
  expect(wrong).toEqual([]);
  const left = ROUTES.filter((route) => !walked.has(route) && !NOT_WALKED.includes(route.path));
  expect(left.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  const slowest = took.toSorted(([, a], [, b]) => b - a);
  console.info(
    `slowest with ${JOBS} jobs, ms: ${slowest
      .slice(0, 12)
      .map(([path, ms]) => `${path} ${ms}`)
      .join(", ")}`,
  );
  expect(slowest[0]![1]).toBeLessThan(MS_MAX);
}, 900_000);
