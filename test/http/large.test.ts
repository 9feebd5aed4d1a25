// S12: every list and view answers with many jobs, within its statement limit and without a notice. HTTP_JOBS=1000000 is the full programme.
import { expect, test } from "vitest";
import { ROUTES } from "../../src/http/routes/all.js";
import { useDatabase } from "../support/database.js";
import { serverFor } from "./server.js";

const db = useDatabase();
const JOBS = Number(process.env["HTTP_JOBS"] ?? "20000");

test(`S12: with ${JOBS} jobs, half of them ended, every read answers, and no list is stopped`, async () => {
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
  await db.query("analyze fairmill.job; analyze fairmill.job_history");
  const { ask } = serverFor(db);
  const [{ id }] = (await db.query<{ id: string }>("select min(id)::text as id from fairmill.job")) as [{ id: string }];
  const paths = ROUTES.filter(({ method, path }) => method === "GET" && !["/events"].includes(path)).map(({ path }) =>
    path.replace("/jobs/{id}", `/jobs/${id}`),
  );
  const filters = [
    "state=ready",
    "state=dead",
    "state=scheduled",
    "state=done&state=dead",
    "tenant=tenant7",
    "queue=queue1&kind=kind3",
    "key=key17",
    "errorCode=E15",
    "errorText=failed at 100",
    'payload={"n":17}',
    "tenant=nobody",
  ];
  const slow: [string, number][] = [];
  for (const path of [
    ...paths.filter((one) => !one.includes("{")),
    ...filters.map((filter) => `/jobs?${filter}`),
    "/tenants/tenant7",
    "/queues/queue1",
    "/kinds/kind1",
    "/errors?tenant=tenant7",
  ]) {
    const startedMs = performance.now();
    const { status, body } = await ask<{ notice?: { code: string } | null }>(
      "viewer",
      "GET",
      path.replaceAll(" ", "%20").replaceAll('"', "%22"),
    );
    slow.push([path, Math.round(performance.now() - startedMs)]);
    expect([200, 501, 400], path).toContain(status);
    expect(body?.notice ?? null, path).toBeNull();
  }
  const preview = await ask<{ count: { count: number } }>("operator", "POST", "/bulk/preview", {
    action: "redrive",
    filter: { errorCode: "E15" },
  });
  expect(preview.body.count.count).toBeGreaterThan(0);
  console.info(
    `slowest with ${JOBS} jobs, ms: ${slow
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, 8)
      .map(([path, ms]) => `${path} ${ms}`)
      .join(", ")}`,
  );
}, 600_000);
