// Around the API: the OpenAPI document, the stream of notices, the dashboard's files, and where a server may listen.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient, defineJob, handle } from "fairmill";
import { createHttpHandler } from "fairmill/http";
import { expect, test } from "vitest";
import { isLoopback, listen } from "../../src/http/listen.js";
import { ROUTES } from "../../src/http/routes/all.js";
import { scratchFolder } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";
import { OTHER_SECRET, SECRET, tickHandler } from "../ticks/handlers.js";
import { CREDENTIALS, SECRETS, serverFor, silent, type Who } from "./server.js";

const db = useDatabase();
const job = defineJob({ kind: "k" });

interface Operation {
  operationId: string;
  parameters: { name: string; in: string; required: boolean }[];
  responses: Record<string, unknown>;
  requestBody?: unknown;
}

test("the OpenAPI document lists every route, every reference leads somewhere, and every name is used once", async () => {
  const { ask } = serverFor(db);
  const { body } = await ask<{
    openapi: string;
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: object };
  }>("viewer", "GET", "/openapi.json");
  expect(body.openapi).toBe("3.1.0");
  const listed = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(listed.toSorted()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted());
  const operations = Object.values(body.paths).flatMap((methods) => Object.values(methods));
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
    ([, name]) => name!,
  );
  for (const name of references) expect(Object.keys(body.components.schemas)).toContain(name);
  expect(references.length).toBeGreaterThan(50);
  for (const [path, methods] of Object.entries(body.paths))
    for (const [method, { parameters, responses, requestBody }] of Object.entries(methods)) {
      const inPath = parameters.filter((one) => one.in === "path").map(({ name }) => `{${name}}`);
      expect(path.match(/\{\w+\}/g) ?? [], path).toEqual(inPath);
      expect(
        Object.keys(responses).some((status) => status.startsWith("2")),
        path,
      ).toBe(true);
      expect(method === "get" && requestBody !== undefined, path).toBe(false);
    }
});

/** The events of a stream, as they come. */
async function listenAs(handler: (request: Request) => Promise<Response>, who: Exclude<Who, "nobody">) {
  const ending = new AbortController();
  const request = new Request("http://127.0.0.1/api/v1/events", {
    headers: { authorization: `Bearer ${SECRETS[who]}` },
    signal: ending.signal,
  });
  const response = await handler(request);
  const events: { event: string; data: Record<string, unknown> }[] = [];
  let text = "";
  const reading = (async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) {
      text += chunk;
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        const [, event, data] = /event: (\w+)\ndata: (.*)/.exec(text.slice(0, end)) ?? [];
        if (event !== undefined) events.push({ event, data: JSON.parse(data!) as Record<string, unknown> });
        text = text.slice(end + 2);
      }
    }
  })().catch(() => {});
  const stop = async () => {
    ending.abort();
    await reading;
  };
  endAfterTest(stop);
  return { response, events, stop };
}

test("SSE: listeners hear that something moved, a tenant's only of its own, and without listeners nothing is asked", async () => {
  const { handler } = serverFor(db);
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => client.close());
  const asked = async () =>
    Number(
      (
        await db.query<{ n: string }>(
          "select count(*) as n from pg_stat_activity where query like '%pg_stat_user_tables%' and application_name like 'fairmill%'",
        )
      )[0]!.n,
    );
  expect(await asked()).toBe(0);
  const [all, own] = [await listenAs(handler, "viewer"), await listenAs(handler, "acmeViewer")];
  expect(all.response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  await waitUntil("both are greeted", () => all.events.length > 0 && own.events.length > 0);
  expect(all.events[0]).toMatchObject({ event: "hello", data: { everyMs: 2000 } });
  let n = 0;
  await waitUntil("a change of jobs is told", async () => {
    await client.enqueue(job, { n: n++ }, { tenant: "b" });
    return [all, own].every(({ events }) =>
      events.some(({ event, data }) => event === "change" && (data["topics"] as string[]).includes("jobs")),
    );
  });
  const told = all.events.find(({ data }) => (data["jobs"] as { entered: number } | null)?.entered);
  expect(told?.data).toMatchObject({ jobs: { newest: expect.any(String), entered: expect.any(Number) } });
  // How much others enqueue is not a tenant's to know.
  expect(own.events.filter(({ event }) => event === "change").every(({ data }) => data["jobs"] === null)).toBe(true);
  await handler(
    new Request("http://127.0.0.1/api/v1/bulk", {
      method: "POST",
      headers: { authorization: `Bearer ${SECRETS.operator}`, "content-type": "application/json" },
      body: JSON.stringify({ action: "cancel", filter: { tenant: "b" } }),
    }),
  );
  await waitUntil("the bulk action is told", () =>
    all.events.some(({ event, data }) => event === "bulk" && data["state"] === "done"),
  );
  expect(own.events.some(({ event }) => event === "bulk")).toBe(false);
  // Charts follow the rounds in which the fleet is looked at.
  await waitUntil("a round is told", async () => {
    await db.query("select fairmill.record_fleet_v1()");
    return [all, own].every(({ events }) =>
      events.some(({ event, data }) => event === "change" && (data["topics"] as string[]).includes("series")),
    );
  });
  await Promise.all([all.stop(), own.stop()]);
});

test("bulk over HTTP: previewed, started, followed to its end; one that a process left behind goes on when it is looked at", async () => {
  const { ask } = serverFor(db);
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => client.close());
  await client.enqueueMany(
    job,
    Array.from({ length: 20 }, () => ({ input: {}, tenant: "acme" })),
  );
  const spec = { action: "cancel", filter: { tenant: "acme", state: "ready" }, reason: "a test" };
  expect((await ask("operator", "POST", "/bulk/preview", spec)).body).toMatchObject({
    count: { count: 20, more: false },
    groups: [{ state: "ready", kind: "k", count: 20 }],
  });
  const started = await ask<{ id: string }>("operator", "POST", "/bulk", spec);
  expect(started).toMatchObject({
    status: 202,
    body: { actor: "otto", action: "cancel", filter: { tenant: "acme", state: ["ready"] } },
  });
  const follow = async (id: string) => (await ask<{ state: string }>("viewer", "GET", `/bulk/${id}`)).body;
  await waitUntil("it is done", async () => (await follow(started.body.id)).state === "done");
  expect(await follow(started.body.id)).toMatchObject({ changed: 20, skipped: 0 });
  expect((await ask("operator", "POST", `/bulk/${started.body.id}/stop`)).body).toMatchObject({ status: 409 });
  await client.enqueueMany(job, [{ input: {}, tenant: "b" }]);
  const [left] = await db.query<{ id: string }>(
    `select fairmill.start_bulk_v1('cancel', '{"tenant": "b"}', 'gone')::text as id`,
  );
  await waitUntil("another process goes on with it", async () => (await follow(left!.id)).state === "done");
  const audit = await ask<{ items: unknown[] }>("viewer", "GET", "/audit?action=bulk.cancel");
  expect(audit.body.items).toMatchObject([{ actor: "otto", outcome: "done", detail: { reason: "a test" } }]);
});

test("the dashboard: its page under a strict policy, hashed files for ever, views by any path, nothing outside its folder", async () => {
  const folder = await scratchFolder({
    "index.html": "<!doctype html><head><title>x</title></head>",
    "secret.map": "{}",
  });
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "assets", "index-Ab3dE9_x.js"), "1");
  const { handler } = serverFor(db, { dashboard: folder, base: "/jobs" });
  const get = (path: string) => handler(new Request(`http://127.0.0.1${path}`));
  for (const path of ["/jobs/", "/jobs/tenants", "/jobs/job/17"]) {
    const page = await get(path);
    expect(await page.text()).toContain('<base href="/jobs/">');
    expect(page.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/,
    );
    expect(page.headers.get("cache-control")).toBe("no-cache");
  }
  const asset = await get("/jobs/assets/index-Ab3dE9_x.js");
  expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(asset.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
  for (const path of ["/jobs/secret.map", "/jobs/..%2f..%2fpackage.json", "/jobs/assets/none.js"])
    expect((await get(path)).status, path).toBe(404);
  const empty = serverFor(db, { dashboard: await scratchFolder() });
  const missing = await empty.handler(new Request("http://127.0.0.1/"));
  expect([missing.status, await missing.text()]).toEqual([503, expect.stringContaining("not built")]);
  expect((await serverFor(db, { dashboard: false }).handler(new Request("http://127.0.0.1/"))).status).toBe(404);
});

test("S8: without sign-in a server listens on loopback alone; with it, wherever it is told", async () => {
  const open = createHttpHandler({ databaseUrl: db.url, auth: "loopback", logger: silent });
  endAfterTest(() => open.close());
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "example.com", "127.evil.example"]) {
    expect(isLoopback(host), host).toBe(false);
    await expect(listen(open, { host, port: 0, isGuarded: false }), host).rejects.toThrow(/no sign-in is asked for/);
  }
  const server = await listen(open, { host: "127.0.0.1", port: 0, isGuarded: false });
  endAfterTest(() => server.close());
  const answer = await fetch(`${server.url}/api/v1/me`);
  expect(await answer.json()).toMatchObject({ actor: "local" });
  await expect(listen(open, { host: "127.0.0.1", port: server.port, isGuarded: false })).rejects.toThrow(
    `port: ${server.port} of 127.0.0.1 is taken by another process. Name another one, or 0 for any that is free.`,
  );
  const guarded = createHttpHandler({ databaseUrl: db.url, auth: CREDENTIALS!, logger: silent });
  const second = await listen(guarded, { host: "127.0.0.1", port: 0, isGuarded: true });
  endAfterTest(() => second.close());
  expect((await fetch(`${second.url}/api/v1/me`)).status).toBe(401);
  const streaming = await fetch(`${second.url}/api/v1/events`, {
    headers: { authorization: `Bearer ${SECRETS.viewer}` },
  });
  expect(streaming.status).toBe(200);
  // An open stream does not hold the end up.
  await second.close();
  await streaming.body?.cancel().catch(() => {});
});

test("C1: /tick beside the API answers the right secret by POST and GET, old and new, and nobody else", async () => {
  const tick = tickHandler({
    databaseUrl: db.url,
    handlers: [handle(job, () => undefined)],
    secret: [SECRET, OTHER_SECRET],
  });
  const { handler } = serverFor(db, { tick, base: "/jobs" });
  await using client = createClient({ databaseUrl: db.url });
  const tickBy = async (method: string, headers: Record<string, string>) => {
    await client.enqueue(job, {});
    const answer = await handler(new Request("http://127.0.0.1/jobs/tick", { method, headers }));
    return [answer.status, ((await answer.json()) as { succeeded?: number }).succeeded];
  };
  expect(await tickBy("POST", {})).toEqual([401, undefined]);
  expect(await tickBy("GET", { "x-internal-secret": `${SECRET}x` })).toEqual([401, undefined]);
  expect(await tickBy("POST", { authorization: `Bearer ${SECRETS.admin}` })).toEqual([401, undefined]);
  expect(await tickBy("POST", { "x-internal-secret": SECRET })).toEqual([200, 4]);
  expect(await tickBy("POST", { "x-internal-secret": OTHER_SECRET })).toEqual([200, 1]);
  expect(await tickBy("GET", { authorization: `Bearer ${OTHER_SECRET}` })).toEqual([200, 1]);
  const bare = serverFor(db).handler;
  for (const method of ["GET", "POST"])
    expect((await bare(new Request("http://127.0.0.1/tick", { method }))).status, method).toBe(501);
});
