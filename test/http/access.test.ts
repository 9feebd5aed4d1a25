// S6, S8, S9: who may call what, cell by cell; a tenant's credential sees nothing of others; writes come from our own pages.
import { createClient, defineJob } from "fairmill";
import { createHttpHandler } from "fairmill/http";
import { describe, expect, test } from "vitest";
import { ROUTES } from "../../src/http/routes/all.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { claim, register } from "../support/sql/calls.js";
import { ask as askHandler, CREDENTIALS, SECRETS, serverFor, silent, type Who } from "./server.js";

const db = useDatabase();
const job = defineJob({ kind: "k" });

function client() {
  const made = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => made.close());
  return made;
}

/** What the contract says of each role, not what the code says: the ladder, and who stands beside it. */
const LADDER = ["viewer", "operator", "admin"];
const mayCall = (who: Who, { role, also, tenants }: (typeof ROUTES)[number]): boolean => {
  if (role === "anyone") return true;
  // Nobody but the holder of a link: no credential, however much it may do otherwise.
  if (role === "answer") return false;
  if (who === "nobody") return false;
  if (who === "acmeEnqueue") return also.includes("enqueue");
  const [own, isNarrow] = who.startsWith("acme") ? [who.slice(4).toLowerCase(), true] : [who, false];
  return LADDER.indexOf(own) >= LADDER.indexOf(role) && (!isNarrow || tenants === "own");
};
const WHO: readonly Who[] = ["nobody", "viewer", "operator", "admin", "acmeViewer", "acmeOperator", "acmeEnqueue"];

test("S8: every route is walked with every role: who may is let in, who may not is refused before anything is read", async () => {
  const { ask } = serverFor(db);
  let cells = 0;
  for (const route of ROUTES) {
    if (route.path === "/events") continue;
    for (const who of WHO) {
      const path = route.path.replaceAll(/\{\w+\}/g, "1");
      // A body that no route takes: who is let in hears of that, or of what is missing.
      const { status, body } = await ask<{ code: string }>(
        who,
        route.method,
        path,
        route.method === "GET" ? undefined : { nope: 1 },
      );
      const isLetIn = status !== 401 && !["FAIRMILL_HTTP_ROLE", "FAIRMILL_HTTP_TENANT_SCOPE"].includes(body?.code);
      const signInRefused = route.path === "/session" && status === 400;
      expect(isLetIn || signInRefused, `${who} ${route.method} ${route.path}: ${status} ${body?.code}`).toBe(
        mayCall(who, route),
      );
      cells++;
    }
  }
  expect(cells).toBeGreaterThan(400);
});

test("S8: writes need more than viewer, settings and grants need admin", () => {
  for (const { method, path, role } of ROUTES)
    if (method !== "GET" && !path.startsWith("/session") && path !== "/limits/try" && path !== "/answer")
      expect(["operator", "admin"], path).toContain(role);
  for (const { method, path, role } of ROUTES)
    if (method === "PUT" || (method === "DELETE" && path !== "/session") || path.endsWith("/grant"))
      expect(role, path).toBe("admin");
});

describe("S6: a credential of one tenant", () => {
  test("sees its own and nothing of another: foreign ids answer as ids that do not exist", async () => {
    const { ask } = serverFor(db);
    const c = client();
    const own = await c.enqueue(job, {}, { tenant: "acme" });
    const other = await c.enqueue(job, { secret: "b's" }, { tenant: "b" });
    const message = await c.publish("chat", { text: "b's" }, { tenant: "b", idempotencyKey: "m" });
    const batch = await c.batches.create({ tenant: "b" }, (adder) => void adder.add(job, {}));
    await c.schedules.set("b-nightly", { cron: "0 3 * * *", job, input: {}, tenant: "b" });
    const bulk = await ask<{ id: string }>("operator", "POST", "/bulk", {
      action: "cancel",
      filter: { kind: "none", tenant: "b" },
    });

    for (const who of ["acmeViewer", "acmeOperator"] as const) {
      for (const path of [
        "/jobs",
        "/outbox",
        "/batches",
        "/flows",
        "/schedules",
        "/approvals",
        "/bulk",
        "/errors",
        "/tenants",
        "/facets",
      ]) {
        const { status, body } = await ask(who, "GET", path);
        expect(status, path).toBe(200);
        expect(JSON.stringify(body).replaceAll(/"at":"[^"]*"/g, ""), path).not.toMatch(/"tenant":"b"|b's|b-nightly/);
      }
      const missing = await ask(who, "GET", "/jobs/999999");
      for (const path of [
        `/jobs/${other.id}`,
        `/jobs/${other.id}/why`,
        `/jobs/${other.id}/steps`,
        `/jobs/${other.id}/public`,
        `/outbox/${message.id}`,
        `/batches/${batch.id}`,
        "/schedules/b-nightly",
        `/bulk/${bulk.body.id}`,
        "/tenants/b",
        "/jobs?tenant=b",
      ]) {
        const { status, body } = await ask(who, "GET", path);
        expect([status, body["code"]], path).toEqual([404, missing.body["code"]]);
      }
      expect((await ask(who, "GET", `/jobs/${own.id}`)).status).toBe(200);
    }
    expect((await ask("acmeViewer", "GET", `/jobs/${other.id}`)).body["detail"]).toBe(
      (await ask("acmeViewer", "GET", "/jobs/999999")).body["detail"],
    );
  });

  test("is told what holds its job, without jobs of others by name", async () => {
    const { ask } = serverFor(db);
    const c = client();
    await c.queues.set("default", { maxRunning: 1 });
    const other = await c.enqueue(job, {}, { tenant: "b" });
    await claim(db, await register(db, "w"));
    const own = await c.enqueue(job, {}, { tenant: "acme" });
    type Reasons = { reason: string; checks: { check: string; passed: boolean; detail: unknown }[] };
    const all = await ask<Reasons>("viewer", "GET", `/jobs/${own.id}/why`);
    expect(all.body.reason).toContain(`job ${other.id}`);
    const narrow = await ask<Reasons>("acmeViewer", "GET", `/jobs/${own.id}/why`);
    expect(narrow.body.checks.find(({ check }) => check === "queue cap")).toMatchObject({
      passed: false,
      detail: null,
    });
    expect(JSON.stringify(narrow.body)).not.toMatch(new RegExp(`\\b${other.id}\\b`));
  });

  test("acts on its own alone", async () => {
    const { ask } = serverFor(db);
    const c = client();
    const other = await c.enqueue(job, {}, { tenant: "b" });
    const message = await c.publish("chat", { text: "b's" }, { tenant: "b", idempotencyKey: "m" });
    for (const [path, body] of [
      [`/jobs/${other.id}/cancel`, undefined],
      [`/jobs/${other.id}/retry`, {}],
      [`/jobs/${other.id}/rerun`, {}],
      [`/jobs/${other.id}/signal`, { name: "s" }],
      [`/jobs/${other.id}/token`, {}],
      [`/outbox/${message.id}/resolve`, { verdict: "failed" }],
      ["/bulk", { action: "cancel", filter: { tenant: "b" } }],
      ["/bulk/preview", { action: "cancel", filter: { tenant: "b" } }],
      ["/jobs", { kind: "k", tenant: "b" }],
    ] as const)
      expect((await ask("acmeOperator", "POST", path, body)).status, path).toBe(404);
    expect((await c.job(other.id))?.state).toBe("ready");
    // A filter that names no tenant means its own.
    const preview = await ask("acmeOperator", "POST", "/bulk/preview", { action: "cancel", filter: { kind: "k" } });
    expect(preview.body).toMatchObject({ count: { count: 0, more: false } });
  });

  test("enqueues for its tenant, whatever it says, and sees what its jobs come to", async () => {
    const { ask } = serverFor(db);
    const made = await ask<{ id: string }>("acmeEnqueue", "POST", "/jobs", { kind: "k", input: { n: 1 } });
    expect(made.status).toBe(201);
    expect(await db.query("select tenant from fairmill.job where id = $1", [made.body.id])).toEqual([
      { tenant: "acme" },
    ]);
    const many = await ask<{ items: unknown[] }>("acmeEnqueue", "POST", "/jobs/many", {
      kind: "k",
      items: [{ input: 1 }, {}],
    });
    expect(many.body.items).toHaveLength(2);
    expect((await ask("acmeEnqueue", "POST", "/jobs/many", { kind: "k", items: [{ tenant: "b" }] })).status).toBe(404);
    expect(await db.query("select distinct tenant from fairmill.job")).toEqual([{ tenant: "acme" }]);
    expect((await ask("acmeEnqueue", "GET", `/jobs/${made.body.id}/public`)).body).toMatchObject({
      state: "ready",
      result: null,
    });
    const other = await client().enqueue(job, {}, { tenant: "b" });
    expect((await ask("acmeEnqueue", "GET", `/jobs/${other.id}/public`)).status).toBe(404);
  });
});

describe("who may come in at all", () => {
  test("without credentials no handler is made, and one for loopback answers to loopback's names alone", async () => {
    expect(() => createHttpHandler({ databaseUrl: db.url, logger: silent })).toThrow(/say who may come in/);
    const { handler } = serverFor(db, { auth: "loopback" });
    expect((await askHandler(handler, "nobody", "GET", "/me")).body).toMatchObject({
      actor: "local",
      role: "admin",
      via: "none",
    });
    expect(
      (await askHandler<{ code: string }>(handler, "nobody", "GET", "/me", undefined, { host: "evil.example" })).body
        .code,
    ).toBe("FAIRMILL_HTTP_CROSS_ORIGIN");
    expect(
      (
        await askHandler<{ code: string }>(handler, "nobody", "POST", "/queues/q/pause", undefined, {
          origin: "https://evil.example",
        })
      ).body.code,
    ).toBe("FAIRMILL_HTTP_CROSS_ORIGIN");
  });

  test("a function of the application says who asks, and its visitors are held to the same rules", async () => {
    const { handler } = serverFor(db, {
      auth: (request) => {
        const [, name, role] = /^(\w+) (viewer|operator)$/.exec(request.headers.get("x-user") ?? "") ?? [];
        return name === undefined
          ? null
          : { name, role: role as "viewer", ...(role === "viewer" && { tenant: "acme" }) };
      },
    });
    const as = (user: string, method: string, path: string, headers: Record<string, string> = {}) =>
      askHandler<Record<string, unknown>>(handler, "nobody", method, path, undefined, { "x-user": user, ...headers });
    expect((await as("vic viewer", "GET", "/me")).body).toMatchObject({ actor: "vic", tenant: "acme" });
    expect((await askHandler(handler, "nobody", "GET", "/me")).status).toBe(401);
    expect((await as("vic viewer", "GET", "/workers")).status).toBe(403);
    // A session of the application is like a cookie: a write says where it comes from, unless a program sends it with a token.
    expect((await as("otto operator", "POST", "/queues/q/pause")).status).toBe(403);
    expect((await as("otto operator", "POST", "/queues/q/pause", { "sec-fetch-site": "same-origin" })).status).toBe(
      200,
    );
    expect((await as("otto operator", "POST", "/queues/q/pause", { authorization: "Bearer of-the-app" })).status).toBe(
      200,
    );
  });

  test("credentials are checked when they are given, and their secrets are never shown", () => {
    const make = (auth: unknown) => () =>
      createHttpHandler({ databaseUrl: db.url, auth: auth as never, logger: silent });
    expect(make([{ name: "a", role: "admin", secret: "short" }])).toThrow(/at least 16 characters/);
    expect(make([{ name: "a", role: "boss", secret: SECRETS.admin }])).toThrow(/role/);
    expect(make([{ name: "a", role: "enqueue", secret: SECRETS.admin }])).toThrow(/for which tenant/);
    expect(make([...(CREDENTIALS as []), ...(CREDENTIALS as [])])).toThrow(/one name/);
    expect(make([])).toThrow(/1 to 1000/);
  });

  test("basic works, and a digest in place of the secret", async () => {
    const { createHash } = await import("node:crypto");
    const digest = createHash("sha256").update(SECRETS.viewer).digest("hex");
    const { ask } = serverFor(db, { auth: [{ name: "vera", role: "viewer", secret: `sha256:${digest}` }] });
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
    expect((await ask("nobody", "GET", "/me", undefined, basic(`vera:${SECRETS.viewer}`))).body).toMatchObject({
      actor: "vera",
      via: "basic",
    });
    expect((await ask("nobody", "GET", "/me", undefined, basic(`otto:${SECRETS.viewer}`))).status).toBe(401);
    expect((await ask("nobody", "GET", "/me", undefined, basic(`vera:${digest}`))).status).toBe(401);
  });
});
