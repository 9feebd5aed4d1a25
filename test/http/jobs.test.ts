// The views of jobs, with data: lists, one job, its attempts and steps, acting on it, and answering what it waits for.
import { createClient, createWorker, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";
import { serverFor, silent } from "./server.js";

const db = useDatabase();

const mail = defineJob<{ to: string }>({ kind: "mail.send", queue: "mails", retry: { attempts: 1 } });
const ask = defineJob<{ n: number }>({ kind: "ask", queue: "questions" });

interface Row {
  id: string;
  [more: string]: unknown;
}
type Items<T = Row> = { items: T[]; next: string | null; notice: unknown };

function client() {
  const made = createClient({ databaseUrl: db.url, connectionsMax: 2 });
  endAfterTest(() => made.close());
  return made;
}

test("jobs: a page, the next page, filters, one job with its attempts, why, and its steps", async () => {
  const { ask: get } = serverFor(db);
  const c = client();
  const ids: string[] = [];
  for (const to of ["a", "b", "c"]) ids.push((await c.enqueue(mail, { to }, { tenant: "acme", key: "k" })).id);
  const first = await get<Items>("viewer", "GET", "/jobs?limit=2");
  expect(first.body.items.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
  const second = await get<Items>("viewer", "GET", `/jobs?limit=2&cursor=${first.body.next}`);
  expect(second.body).toMatchObject({ items: [{ id: ids[0], kind: "mail.send", state: "ready" }], next: null });
  const found = async (query: string) => (await get<Items>("viewer", "GET", `/jobs?${query}`)).body.items.length;
  expect(await found("queue=mails&kind=mail.send&tenant=acme&key=k&state=ready&state=dead")).toBe(3);
  expect(await found(`payload=${encodeURIComponent('{"to":"b"}')}`)).toBe(1);
  for (const nothing of [
    "queue=x",
    "kind=x",
    "tenant=x",
    "key=x",
    "state=dead",
    "batch=9",
    "errorCode=x",
    "createdSince=2999-01-01T00:00:00Z",
    "endedSince=2000-01-01T00:00:00Z",
  ])
    expect(await found(nothing), nothing).toBe(0);
  const one = await get("viewer", "GET", `/jobs/${ids[0]}`);
  expect(one.body).toMatchObject({ id: ids[0], payload: { to: "a" }, attempts: [], spent: { ranMs: 0 } });
  const why = await get<{ checks: { check: string }[] }>("viewer", "GET", `/jobs/${ids[0]}/why`);
  expect(why.body.checks.map(({ check }) => check)).toContain("worker");
  expect((await get("viewer", "GET", `/jobs/${ids[0]}/steps`)).body).toEqual({ items: [] });
});

test("links of the application: by kind and trace, http alone; a function that fails hides no job", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const { ask: get } = serverFor(db, {
    links: ({ id, kind, tenant, traceId }) => {
      if (tenant === "none") throw new Error("no such customer");
      return [
        { label: "Trace", url: `https://traces.example/${kind}/${id}/${traceId}` },
        { label: "Bad", url: "javascript:alert(1)" },
      ];
    },
  });
  const c = client();
  const { id } = await c.enqueue(mail, { to: "a" }, { tenant: "acme" });
  const linksOf = async (job: string) => (await get<{ links: unknown }>("viewer", "GET", `/jobs/${job}`)).body.links;
  expect(await linksOf(id)).toEqual([{ label: "Trace", url: `https://traces.example/mail.send/${id}/null` }]);
  await db.query("update fairmill.job set trace = $2 where id = $1", [id, `00-${traceId}-00f067aa0ba902b7-01`]);
  expect(await linksOf(id)).toEqual([{ label: "Trace", url: `https://traces.example/mail.send/${id}/${traceId}` }]);
  expect(await linksOf((await c.enqueue(mail, { to: "a" }, { tenant: "none" })).id)).toEqual([]);
});

test("a job that died: its attempts, its error, its group, and the fleet that ran it", async () => {
  const { ask: get } = serverFor(db);
  const c = client();
  const worker = createWorker({
    databaseUrl: db.url,
    logger: silent,
    handlers: [
      handle(mail, () => {
        throw Object.assign(new Error('no mailbox "x17" on host 42'), { code: "EMAILBOX" });
      }),
    ],
  });
  endAfterTest(() => worker.stop());
  await worker.start();
  const { id } = await c.enqueue(mail, { to: "x" }, { tenant: "acme" });
  await waitUntil("the job is dead", async () => (await c.job(id))?.state === "dead");
  const one = await get<{ attempts: Row[] }>("viewer", "GET", `/jobs/${id}`);
  expect(one.body).toMatchObject({ state: "dead", error: { code: "EMAILBOX" } });
  expect(one.body.attempts).toMatchObject([{ attempt: 1, error: { code: "EMAILBOX" } }]);
  const errors = await get<Items>("viewer", "GET", "/errors");
  expect(errors.body.items).toMatchObject([
    {
      kind: "mail.send",
      code: "EMAILBOX",
      count: 1,
      tenants: 1,
      pattern: "no mailbox … on host …",
      sample: id,
      filter: { errorCode: "EMAILBOX" },
    },
  ]);
  const workers = await get<Items>("viewer", "GET", "/workers?state=alive&limit=1");
  expect(workers.body.items).toMatchObject([{ id: worker.id, state: "alive", running: 0 }]);
  expect((await get("viewer", "GET", `/workers/${encodeURIComponent(worker.id)}`)).body).toMatchObject({ jobs: [] });
  expect((await get("viewer", "GET", "/now")).body).toMatchObject({ workers: 1, dead24h: { count: 1 } });
  const now = await get<{ needsYou: { code: string }[] }>("viewer", "GET", "/now");
  expect(now.body.needsYou.map(({ code }) => code)).toContain("jobs_died");
});

test("jobs are found by a tag, live and ended ones, and a bulk action is", async () => {
  const { ask: get } = serverFor(db);
  const c = client();
  const made = await get<{ id: string }>("operator", "POST", "/jobs", { kind: "k", tags: ["red", "größe 4"] });
  const ended = await c.enqueue(mail, { to: "a" }, { tags: ["red"] });
  await c.cancel(ended.id);
  await c.enqueue(mail, { to: "b" }, { tags: ["blue"] });
  await c.enqueue(mail, { to: "c" });
  const ids = async (query: string) =>
    (await get<Items<{ id: string }>>("viewer", "GET", `/jobs?${query}`)).body.items.map(({ id }) => id);
  expect(await ids("tag=red")).toEqual([ended.id, made.body.id]);
  expect(await ids("tag=red&state=cancelled")).toEqual([ended.id]);
  expect(await ids(`tag=${encodeURIComponent("größe 4")}`)).toEqual([made.body.id]);
  expect(await ids("tag=re")).toEqual([]);
  expect((await get("viewer", "GET", `/jobs/${made.body.id}`)).body).toMatchObject({ tags: ["red", "größe 4"] });
  const preview = await get("operator", "POST", "/bulk/preview", { action: "cancel", filter: { tag: "red" } });
  expect(preview.body).toMatchObject({
    count: { count: 1 },
    samples: [{ id: made.body.id, tags: ["red", "größe 4"] }],
  });
});

test("F15: attempts, time limit, time to live and tags of this job alone, at enqueue and at rerun", async () => {
  const { ask: get } = serverFor(db);
  const how = { attempts: 7, timeout: "10s", expire: 3_600_000, tags: ["red"] };
  const kept = { maxAttempts: 7, timeoutMs: 10_000, tags: ["red"] };
  const one = await get<{ id: string }>("operator", "POST", "/jobs", { kind: "k", ...how });
  const many = await get<Items<{ id: string }>>("operator", "POST", "/jobs/many", { kind: "k", items: [how] });
  await client().cancel(one.body.id);
  const other = { attempts: 2, timeout: 0, tags: ["blue"] };
  const again = await get<{ id: string }>("operator", "POST", `/jobs/${one.body.id}/rerun`, other);
  const job = (id: string) => client().job(id);
  expect(await job(one.body.id)).toMatchObject(kept);
  expect(await job(many.body.items[0]!.id)).toMatchObject({ ...kept, expireAt: expect.any(Date) });
  expect(await job(again.body.id)).toMatchObject({ maxAttempts: 2, timeoutMs: 0, tags: ["blue"] });
  const wrong = await get("operator", "POST", "/jobs", { kind: "k", attempts: 0 });
  expect(wrong).toMatchObject({ status: 400, body: { issues: [{ path: "attempts" }] } });
});

test("acting on a job: enqueue, cancel, retry, rerun, and what was done is on record", async () => {
  const { ask: get } = serverFor(db);
  const made = await get<{ id: string }>("operator", "POST", "/jobs", {
    kind: "k",
    input: { n: 1 },
    tenant: "acme",
    idempotencyKey: "once",
  });
  expect(made).toMatchObject({ status: 201, body: { created: true, replaced: false } });
  const again = await get("operator", "POST", "/jobs", {
    kind: "k",
    input: { n: 1 },
    tenant: "acme",
    idempotencyKey: "once",
  });
  expect(again).toMatchObject({ status: 200, body: { id: made.body.id, created: false } });
  const many = await get<Items>("operator", "POST", "/jobs/many", {
    kind: "k",
    items: [{ input: 1 }, { input: 2, tenant: "b" }],
  });
  expect(many).toMatchObject({ status: 201 });
  expect(many.body.items).toHaveLength(2);
  const { id } = made.body;
  expect((await get("operator", "POST", `/jobs/${id}/rerun`, {})).body).toMatchObject({
    code: "FAIRMILL_JOB_NOT_ENDED",
  });
  expect((await get("operator", "POST", `/jobs/${id}/cancel`)).body).toEqual({ answer: "cancelled" });
  expect((await get("operator", "POST", `/jobs/${id}/cancel`)).body).toEqual({ answer: "ended" });
  const rerun = await get<{ id: string }>("operator", "POST", `/jobs/${id}/rerun`, { input: { n: 2 } });
  expect(rerun.status).toBe(201);
  expect((await get("viewer", "GET", `/jobs/${rerun.body.id}`)).body).toMatchObject({
    rerunOf: id,
    payload: { n: 2 },
    tenant: "acme",
  });
  expect((await get("operator", "POST", `/jobs/${id}/retry`, { fromStart: true })).body).toEqual({ answer: "ready" });
  const audit = await get<Items>("viewer", "GET", `/audit?subject=${encodeURIComponent(`job ${id}`)}`);
  expect(audit.body.items).toMatchObject([
    { action: "job.retry", actor: "otto", role: "operator", via: "http", tenant: "acme", outcome: "done" },
    { action: "job.rerun", outcome: "done" },
    { action: "job.cancel", outcome: "done" },
    { action: "job.cancel", outcome: "done" },
    { action: "job.rerun", outcome: "refused", error: expect.stringContaining("FAIRMILL_JOB_NOT_ENDED") },
  ]);
});

test("approvals and signals: a job that waits is in the inbox until it is answered", async () => {
  const { ask: get } = serverFor(db);
  const c = client();
  const worker = createWorker({
    databaseUrl: db.url,
    logger: silent,
    handlers: [handle(ask, (ctx) => ctx.waitFor<{ yes: boolean }>("boss", { timeout: "1h" }))],
  });
  endAfterTest(() => worker.stop());
  await worker.start();
  const { id } = await c.enqueue(ask, { n: 1 }, { tenant: "acme" });
  const inbox = async () => (await get<Items<{ jobId: string }>>("viewer", "GET", "/approvals")).body.items;
  await waitUntil("it waits", async () => (await inbox()).length === 1);
  expect(await inbox()).toMatchObject([{ jobId: id, name: "boss", tenant: "acme", deadline: expect.any(String) }]);
  expect((await get("operator", "POST", `/jobs/${id}/signal`, { name: "boss", value: { yes: true } })).body).toEqual({
    answer: "sent",
  });
  expect(await c.result(id)).toEqual({ yes: true });
  expect(await inbox()).toEqual([]);
  const { body } = await get<Items<{ kind: string }>>("viewer", "GET", `/jobs/${id}/steps`);
  expect(body.items).toMatchObject([{ kind: "wait", name: "boss", result: { yes: true } }]);
});
