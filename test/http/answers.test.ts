// S6, S8, S9: a link that answers one question of one job. Its holder has no credential; whatever else is tried with it is refused.
import { createClient, createWorker, defineJob, handle } from "fairmill";
import { createAnswerToken, createJobToken, type HttpOptions } from "fairmill/http";
import { describe, expect, test } from "vitest";
import { ROUTES } from "../../src/http/routes/all.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";
import { ask as askHandler, CREDENTIALS, INTERNAL_SECRET, serverFor, silent } from "./server.js";

const db = useDatabase();
const job = defineJob({ kind: "payout" });

/** A job of acme that waits for the signal "approval", and what its handler was given in the end. */
async function asking(signals: readonly string[] = ["approval"]) {
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => client.close());
  const given: unknown[] = [];
  const worker = createWorker({
    databaseUrl: db.url,
    logger: silent,
    handlers: [
      handle(job, async (ctx) => {
        ctx.progress({ question: "Pay out 40 EUR?" });
        for (const name of signals) given.push(await ctx.waitFor(name));
      }),
    ],
  });
  await worker.start();
  endAfterTest(() => worker.stop());
  const { id } = await client.enqueue(job, {}, { tenant: "acme" });
  await asks("approval");
  return { id, client, given };
}

const asks = (signal: string) =>
  waitUntil(`a job waits for the signal ${signal}`, async () => {
    const rows = await db.query(
      "select from fairmill.step where name = $1 and position is not null and signalled_at is null",
      [signal],
    );
    return rows.length > 0;
  });

interface Link {
  token: string;
  path: string;
  expiresAt: string;
}
interface Question {
  state: string;
  question: unknown;
  kind: string | null;
}

type Server = ReturnType<typeof serverFor>;
const linkFor = async ({ ask }: Server, id: string, body: object = {}) =>
  (await ask<Link>("acmeOperator", "POST", `/jobs/${id}/answer-link`, { name: "approval", ...body })).body;
const held = (server: Server, token: string, headers: Record<string, string> = {}) => {
  const by = <T>(method: string, path: string, body?: unknown) =>
    askHandler<T>(server.handler, "nobody", method, path, body, { authorization: `Bearer ${token}`, ...headers });
  return {
    read: () => by<Question>("GET", "/answer"),
    say: (body: unknown) => by<{ answer?: string; code?: string; issues?: unknown }>("POST", "/answer", body),
    by,
  };
};

describe("a link to a question", () => {
  test("shows the question and answers it, once; the record of actions says whose link it was", async () => {
    const { id, client, given } = await asking();
    const server = serverFor(db);
    const { token, path } = await linkFor(server, id);
    expect(path).toBe(`#/answer/${token}`);
    const { read, say } = held(server, token);
    expect((await read()).body).toMatchObject({
      ...{ state: "open", jobId: id, name: "approval", kind: "payout", tenant: "acme" },
      question: { question: "Pay out 40 EUR?" },
    });
    expect(given).toEqual([]);
    expect((await say({ approved: false, comment: "Ask Ann first" })).body).toEqual({ answer: "sent" });
    await client.result(id);
    expect(given).toEqual([{ approved: false, comment: "Ask Ann first" }]);
    // Again, and the other way round: the first answer stays.
    expect((await say({ approved: true })).body).toEqual({ answer: "ended" });
    expect((await read()).body).toMatchObject({ state: "over", kind: null, question: null });
    const { items } = (await server.ask<{ items: object[] }>("viewer", "GET", "/audit?action=job.signal")).body;
    expect(items).toEqual([
      expect.objectContaining({
        ...{ actor: "answer link of acme-otto", role: "answer", subject: `job ${id}`, tenant: "acme", outcome: "done" },
        detail: { name: "approval", approved: false },
      }),
    ]);
  });

  test("answers its own question and no other one: not that of another signal, and not the same one asked anew", async () => {
    const { id, client } = await asking(["approval", "second"]);
    const server = serverFor(db);
    const { token } = await linkFor(server, id);
    const { read, say } = held(server, token);
    expect((await say({ approved: true })).body).toEqual({ answer: "sent" });
    await asks("second");
    expect((await read()).body).toMatchObject({ state: "answered" });
    expect((await say({ approved: false })).body).toEqual({ answer: "known" });
    expect((await server.ask("operator", "POST", `/jobs/${id}/answer-link`, { name: "approval" })).status).toBe(404);
    // The job begins anew and asks again: the old link is no answer to that.
    await client.cancel(id);
    await client.retry(id, { fromStart: true });
    await asks("approval");
    expect((await read()).body).toMatchObject({ state: "over" });
    expect((await say({ approved: true })).body).toEqual({ answer: "late" });
    expect((await server.ask<{ items: object[] }>("viewer", "GET", "/approvals")).body.items).toHaveLength(1);
    const fresh = held(server, (await linkFor(server, id)).token);
    expect((await fresh.say({ approved: true })).body).toEqual({ answer: "sent" });
  });

  test("may do nothing else, is refused when it is over, changed, signed for another purpose or by another secret", async () => {
    let nowMs = Date.now();
    const clock = { now: () => nowMs, monotonic: () => nowMs, after: () => () => {}, random: () => 0.5 };
    const { id } = await asking();
    const server = serverFor(db, { clock } as Partial<HttpOptions>);
    const { token } = await linkFor(server, id, { for: "1h" });
    const { by } = held(server, token);
    for (const route of ROUTES) {
      if (route.role === "anyone" || route.path === "/answer" || route.path === "/events") continue;
      const path = route.path.replaceAll(/\{\w+\}/g, id);
      const { body } = await by<{ code: string }>(route.method, path, route.method === "GET" ? undefined : {});
      expect(body.code, `${route.method} ${path}`).toBe("FAIRMILL_HTTP_ROLE");
    }
    const isRefused = async (other: string) => {
      const { read, say } = held(server, other);
      const statuses = [(await read()).status, (await say({ approved: true })).status];
      expect(statuses, other).toEqual([401, 401]);
    };
    const [body, sum] = token.slice(4).split(".") as [string, string];
    const content = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
    const changed = (members: object) =>
      `fma_${Buffer.from(JSON.stringify({ ...content, ...members })).toString("base64url")}.${sum}`;
    await isRefused(changed({ job: "1" }));
    await isRefused(changed({ signal: "other" }));
    await isRefused(changed({ exp: nowMs * 2 }));
    await isRefused(`fma_${body}.${sum.slice(0, -2)}${sum.endsWith("AA") ? "BB" : "AA"}`);
    await isRefused(`fma_${createJobToken(id, { secret: INTERNAL_SECRET }).token.slice(4)}`);
    await isRefused(createAnswerToken(id, "approval", { secret: "another secret of at least 32 bytes" }).token);
    // A token that may read the job may not answer it, and the other way round.
    const reader = held(server, createJobToken(id, { secret: INTERNAL_SECRET }).token);
    expect((await reader.say({ approved: true })).body.code).toBe("FAIRMILL_HTTP_ROLE");
    expect((await by(`GET`, `/jobs/${id}/public`)).status).toBe(403);
    // In an address it is none.
    expect((await askHandler(server.handler, "nobody", "GET", `/answer?token=${token}`)).status).toBe(401);
    nowMs += 3_600_000;
    await isRefused(token);
  });

  test("takes yes or no from our own page, as JSON, and nothing more", async () => {
    const { id } = await asking();
    const server = serverFor(db);
    const { token } = await linkFor(server, id);
    const { say } = held(server, token);
    for (const body of [{}, { approved: "yes" }, { approved: true, name: "other" }, { approved: true, value: 1 }])
      expect((await say(body)).status, JSON.stringify(body)).toBe(400);
    expect((await say({ approved: true, comment: "x".repeat(1_001) })).status).toBe(400);
    const from = (headers: Record<string, string>) => held(server, token, { host: "127.0.0.1", ...headers });
    for (const headers of [
      { "sec-fetch-site": "cross-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
    ] as Record<string, string>[])
      expect((await from(headers).say({ approved: true })).body.code).toBe("FAIRMILL_HTTP_CROSS_ORIGIN");
    expect((await from({ "content-type": "text/plain" }).say({ approved: true })).body.code).toBe(
      "FAIRMILL_HTTP_JSON_ONLY",
    );
    expect((await from({}).read()).body).toMatchObject({ state: "open" });
  });

  test("is made by operators of the tenant alone, and where there is a secret", async () => {
    const { id } = await asking();
    const server = serverFor(db, { auth: [...(CREDENTIALS as []), OTHERS] });
    const link = (who: "acmeViewer" | "acmeOperator", name = "approval") =>
      server.ask<{ code: string }>(who, "POST", `/jobs/${id}/answer-link`, { name });
    expect((await link("acmeViewer")).body.code).toBe("FAIRMILL_HTTP_ROLE");
    expect((await link("acmeOperator", "no such signal")).status).toBe(404);
    const foreign = { authorization: `Bearer ${OTHERS.secret}` };
    const asked = await askHandler(
      server.handler,
      "nobody",
      "POST",
      `/jobs/${id}/answer-link`,
      { name: "approval" },
      foreign,
    );
    expect(asked.status).toBe(404);
    const week = { name: "approval", for: "8d" };
    expect((await server.ask("operator", "POST", `/jobs/${id}/answer-link`, week)).status).toBe(400);
    const without = serverFor(db, { secret: "" });
    expect((await without.ask("operator", "POST", `/jobs/${id}/answer-link`, { name: "approval" })).body).toMatchObject(
      {
        status: 501,
        detail:
          "Links cannot be signed here: this server was started without FAIRMILL_INTERNAL_SECRET. Set it to 32 bytes or more, and start the server again.",
      },
    );
  });

  test("is made by the library for a question to come, and goes before the session of who opens it", async () => {
    const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
    endAfterTest(() => client.close());
    const { id } = await client.enqueue(job, {}, { tenant: "acme" });
    const { token } = createAnswerToken(id, "approval", { secret: INTERNAL_SECRET, by: "ann@example.com", for: "7d" });
    const signedIn = () => ({ name: "vera", role: "viewer" as const, tenant: "other" });
    const { read, say } = held(serverFor(db, { auth: signedIn }), token);
    expect((await read()).body).toMatchObject({ state: "open", question: null });
    expect((await say({ approved: true })).body).toEqual({ answer: "sent" });
    expect((await read()).body).toMatchObject({ state: "answered" });
    const { items } = (await serverFor(db).ask<{ items: { actor: string }[] }>("viewer", "GET", "/audit")).body;
    expect(items[0]!.actor).toBe("answer link of ann@example.com");
    expect(() => createAnswerToken(id, "approval", { secret: INTERNAL_SECRET, for: "8d" })).toThrow(/7 days/);
    expect(() => createAnswerToken(id, "", { secret: INTERNAL_SECRET })).toThrow(/signal/);
    expect(() => createAnswerToken(id, "approval", { secret: "short" })).toThrow(/32 bytes/);
  });
});

const OTHERS = { name: "b-otto", role: "operator", tenant: "b", secret: "b-operator-secret-0123" } as const;
