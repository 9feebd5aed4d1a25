// S7: only callers that know the secret start a tick, and what they sent is never written anywhere.
import { ConfigError, createTickHandler, defineJob, handle } from "fairmill";
import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { keepingLogger } from "../support/jobs.js";
import { call, OTHER_SECRET, SECRET, tickHandler } from "./handlers.js";

const db = useDatabase();
const handlers = [handle(defineJob({ kind: "work" }), () => {})];
const rows = () => db.query("select from fairmill.worker_tick_metrics");

describe("S7: what a caller sends", () => {
  test.each([
    ["the secret as x-internal-secret", { "x-internal-secret": SECRET }, 200],
    ["the secret as a bearer token", { authorization: `Bearer ${OTHER_SECRET}` }, 200],
    ["the other live secret", { "x-internal-secret": OTHER_SECRET }, 200],
    ["both, and both right", { "x-internal-secret": SECRET, authorization: `bearer ${OTHER_SECRET}` }, 200],
    ["nothing", {}, 401],
    ["an empty secret", { "x-internal-secret": "" }, 401],
    ["a wrong one of the same length", { "x-internal-secret": SECRET.replace("f", "F") }, 401],
    ["the beginning of it", { "x-internal-secret": SECRET.slice(0, -1) }, 401],
    ["the secret and more", { "x-internal-secret": `${SECRET}x` }, 401],
    ["the secret twice, as repeated headers arrive", { "x-internal-secret": `${SECRET}, ${SECRET}` }, 401],
    ["both, and one of them wrong", { "x-internal-secret": SECRET, authorization: "Bearer guess" }, 401],
    ["another scheme", { authorization: `Basic ${SECRET}` }, 401],
    ["the two live ones as the environment has them", { "x-internal-secret": `${SECRET},${OTHER_SECRET}` }, 401],
  ])("%s", async (_, headers, status) => {
    const logger = keepingLogger();
    const handler = tickHandler({ databaseUrl: db.url, handlers, secret: [SECRET, OTHER_SECRET], logger });
    for (const method of ["GET", "POST"]) {
      const response = await handler(call(headers as Record<string, string>, method));
      expect(response.status).toBe(status);
      const body = await response.text();
      for (const text of [body, JSON.stringify(logger.lines)]) {
        expect(text).not.toContain(SECRET);
        expect(text).not.toContain(OTHER_SECRET);
        expect(text).not.toContain("guess");
      }
      if (status === 401) expect(JSON.parse(body)).toMatchObject({ error: { code: "FAIRMILL_UNAUTHORIZED" } });
    }
    expect(await rows()).toHaveLength(status === 200 ? 2 : 0);
  });

  test("a secret that was taken out of use opens nothing any more", async () => {
    const rotated = tickHandler({ databaseUrl: db.url, handlers, secret: OTHER_SECRET });
    expect((await rotated(call({ "x-internal-secret": SECRET }))).status).toBe(401);
    expect((await rotated(call({ "x-internal-secret": OTHER_SECRET }))).status).toBe(200);
  });

  test("other methods are refused before anything else", async () => {
    const response = await tickHandler({ databaseUrl: db.url, handlers })(call({ "x-internal-secret": SECRET }, "PUT"));
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, POST"]);
  });
});

describe("S7: without a good secret there is no handler", () => {
  const variable = process.env["FAIRMILL_INTERNAL_SECRET"];
  afterEach(() => {
    if (variable === undefined) delete process.env["FAIRMILL_INTERNAL_SECRET"];
    else process.env["FAIRMILL_INTERNAL_SECRET"] = variable;
  });
  const make = (secret: unknown) => () =>
    createTickHandler({ databaseUrl: db.url, handlers, ...(secret === undefined ? {} : { secret: secret as string }) });

  test.each([
    ["none", undefined],
    ["an empty one", ""],
    ["an empty list", []],
    ["31 bytes", "a".repeat(31)],
    ["white space", " ".repeat(40)],
    ["a comma too many", `${SECRET},`],
    ["a short one beside a good one", [SECRET, "short"]],
    ["the same twice", [SECRET, SECRET]],
    ["three", [SECRET, OTHER_SECRET, `${SECRET} 3`]],
    ["something else", 12345678901234567890123456789012345n],
  ])("%s", (_, secret) => {
    delete process.env["FAIRMILL_INTERNAL_SECRET"];
    expect(make(secret)).toThrow(ConfigError);
    try {
      make(secret)();
    } catch (error) {
      expect(String((error as Error).message)).not.toMatch(/aaaa|short|first secret/);
    }
  });

  test("what the environment has may be handed on: two with a comma are two, and the pair is none", async () => {
    const [fresh, old] = ["n".repeat(32), "o".repeat(32)];
    const handler = make(`${fresh}, ${old}\n`)();
    for (const secret of [fresh, old]) expect((await handler(call({ "x-internal-secret": secret }))).status).toBe(200);
    expect((await handler(call({ "x-internal-secret": `${fresh}, ${old}` }))).status).toBe(401);
    await handler.close();
  });

  test("the environment may name two", async () => {
    process.env["FAIRMILL_INTERNAL_SECRET"] = `${"n".repeat(32)}, ${"o".repeat(32)}`;
    const handler = make(undefined)();
    expect((await handler(call({ "x-internal-secret": "o".repeat(32) }))).status).toBe(200);
    expect((await handler(call({ "x-internal-secret": "n".repeat(32) }))).status).toBe(200);
    await handler.close();
  });
});
