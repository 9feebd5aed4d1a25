// S6, S8, S9: tokens for one job, and sessions of people.
import { createClient, defineJob } from "fairmill";
import { createJobToken } from "fairmill/http";
import { describe, expect, test } from "vitest";
import { ROUTES } from "../../src/http/routes/all.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { ask as askHandler, INTERNAL_SECRET, SECRETS, serverFor } from "./server.js";

const db = useDatabase();
const job = defineJob({ kind: "k" });

function client() {
  const made = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => made.close());
  return made;
}

describe("a token for one job", () => {
  test("reads that job and nothing else, until it expires", async () => {
    let nowMs = 1_000_000;
    const { handler } = serverFor(db, {
      clock: { now: () => nowMs, monotonic: () => nowMs, after: () => () => {}, random: () => 0.5 },
    });
    const c = client();
    const [mine, other] = [await c.enqueue(job, {}, { tenant: "acme" }), await c.enqueue(job, {}, { tenant: "acme" })];
    const made = await askHandler<{ token: string; path: string }>(
      handler,
      "operator",
      "POST",
      `/jobs/${mine.id}/token`,
      { for: "10m" },
    );
    expect(made.status).toBe(201);
    const { token } = made.body;
    const by = (path: string) =>
      askHandler<{ code?: string }>(handler, "nobody", "GET", path, undefined, { authorization: `Bearer ${token}` });
    expect((await by(`/jobs/${mine.id}/public`)).body).toMatchObject({ id: mine.id, state: "ready" });
    expect((await askHandler(handler, "nobody", "GET", `/jobs/${mine.id}/public?token=${token}`)).status).toBe(200);
    expect((await by(`/jobs/${other.id}/public`)).status).toBe(404);
    for (const route of ROUTES)
      if (route.method === "GET" && !route.path.endsWith("/public"))
        expect((await by(route.path.replaceAll(/\{\w+\}/g, mine.id))).body.code, route.path).toBe("FAIRMILL_HTTP_ROLE");
    const forged = `${token.slice(0, -2)}${token.endsWith("AA") ? "BB" : "AA"}`;
    expect((await askHandler(handler, "nobody", "GET", `/jobs/${mine.id}/public?token=${forged}`)).status).toBe(401);
    nowMs += 10 * 60_000;
    expect((await by(`/jobs/${mine.id}/public`)).status).toBe(401);
  });

  test("is made by the library, too; a secret that rotates keeps older tokens valid", async () => {
    const old = "the older secret of at least 32 bytes";
    const { id } = await client().enqueue(job, {});
    const { token } = createJobToken(id, { secret: old, for: "1h" });
    const { handler } = serverFor(db, { secret: `${INTERNAL_SECRET},${old}` });
    expect((await askHandler(handler, "nobody", "GET", `/jobs/${id}/public?token=${token}`)).status).toBe(200);
    const without = serverFor(db);
    expect((await without.ask("nobody", "GET", `/jobs/${id}/public?token=${token}`)).status).toBe(401);
    const byClient = await client().jobs.token(id, { secret: old, for: "10m" });
    expect((await askHandler(handler, "nobody", "GET", `/jobs/${id}/public?token=${byClient.token}`)).status).toBe(200);
    await expect(client().jobs.token(id, { secret: old, fro: "10m" } as object)).rejects.toThrow(/"fro".*"for"/);
    expect(() => createJobToken(id, { secret: "short" })).toThrow(/32 bytes/);
    expect(() => createJobToken(id, { secret: old, for: "25h" })).toThrow(/24 h/);
  });
});

describe("sessions", () => {
  const signIn = async (
    handler: (r: Request) => Promise<Response>,
    url = "http://127.0.0.1",
    name = "ada",
    secret: string = SECRETS.admin,
  ) =>
    handler(
      new Request(`${url}/api/v1/session`, {
        method: "POST",
        headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
        body: JSON.stringify({ name, secret }),
      }),
    );

  test("S8: the cookie is HttpOnly, SameSite=Strict, and Secure over https; it lets in until its credential changes", async () => {
    const { handler } = serverFor(db);
    const plain = await signIn(handler);
    expect(plain.status).toBe(200);
    const cookie = plain.headers.get("set-cookie")!;
    expect(cookie).toMatch(/^fairmill_session=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    expect((await signIn(handler, "https://jobs.example")).headers.get("set-cookie")).toMatch(/; Secure$/);
    const value = cookie.split(";")[0]!;
    expect((await askHandler(handler, "nobody", "GET", "/me", undefined, { cookie: value })).body).toMatchObject({
      actor: "ada",
      via: "cookie",
      role: "admin",
    });
    expect((await askHandler(handler, "nobody", "GET", "/me", undefined, { cookie: `${value}x` })).status).toBe(401);
    const changed = serverFor(db, { auth: [{ name: "ada", role: "admin", secret: "another secret of ada" }] });
    expect((await changed.ask("nobody", "GET", "/me", undefined, { cookie: value })).status).toBe(401);
    expect((await askHandler(handler, "nobody", "DELETE", "/session")).headers.get("set-cookie")).toMatch(/Max-Age=0/);
  });

  test("a wrong secret is refused, and after ten of them a name has to wait", async () => {
    const { handler } = serverFor(db);
    for (let i = 0; i < 10; i++)
      expect((await signIn(handler, undefined, "ada", "not the right secret")).status).toBe(401);
    expect((await signIn(handler)).status).toBe(429);
    expect((await signIn(handler, undefined, "otto", SECRETS.operator)).status).toBe(200);
  });

  test("S9: a write with a cookie from another origin, or from nowhere, is refused; so is a form", async () => {
    const { handler } = serverFor(db);
    const cookie = (await signIn(handler)).headers.get("set-cookie")!.split(";")[0]!;
    const pause = (headers: Record<string, string>, body?: unknown) =>
      askHandler<{ code?: string }>(handler, "nobody", "POST", "/queues/q/pause", body, {
        cookie,
        host: "127.0.0.1",
        ...headers,
      });
    expect((await pause({ "sec-fetch-site": "same-origin", origin: "http://127.0.0.1" })).status).toBe(200);
    for (const headers of [
      {},
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "same-origin", origin: "http://127.0.0.1:8080" },
    ])
      expect((await pause(headers as Record<string, string>)).body.code, JSON.stringify(headers)).toBe(
        "FAIRMILL_HTTP_CROSS_ORIGIN",
      );
    const form = { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" };
    expect((await pause(form, "a=1")).body.code).toBe("FAIRMILL_HTTP_JSON_ONLY");
    expect((await pause({ "content-type": "text/plain", "sec-fetch-site": "same-origin" }, "{}")).body.code).toBe(
      "FAIRMILL_HTTP_JSON_ONLY",
    );
  });
});
