// Providers and money over HTTP, in the shapes that the dashboard reads; and the same by command.
import { expect, test } from "vitest";
import { cli } from "../cli/cli.js";
import { serverFor } from "../http/server.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();

const PIXIAN = {
  ...{ name: "pixian", per_second: 20, in_flight: 5, timeout_ms: 1000, currency: "EUR" },
  ...{ breaker_rate: 0.5, breaker_calls: 2, breaker_window_ms: 60_000, breaker_open_ms: 60_000 },
};
const MINUTE = { calls: 10, failures: 4, limited: 1, sum_ms: 900, max_ms: 400, buckets: [0, 0, 0, 0, 6, 0, 3, 1] };

async function fill() {
  await db.query("select fairmill.define_providers_v1($1, $2)", [
    JSON.stringify([PIXIAN]),
    JSON.stringify({ sticker: [["pixian"]] }),
  ]);
  const facts = { held: 0, waiting: 0, wanted: 0, failed: 4, ok: 1, minute: MINUTE };
  await db.query("select fairmill.sync_provider_v1('pixian', 'w', $1)", [JSON.stringify(facts)]);
  const charge = { job_id: 1, provider: "pixian", kind: "sticker", worker: "w", currency: "EUR", cost: 0.5 };
  await db.query("select fairmill.charge_calls_v1($1)", [
    JSON.stringify([
      { ...charge, id: "1", tenant: "acme" },
      { ...charge, id: "2", tenant: "acme" },
      { ...charge, id: "3", tenant: "globex" },
    ]),
  ]);
}

test("GET /providers and /money: the breaker with its strip, latencies, and what calls cost", async () => {
  const { ask } = serverFor(db);
  expect((await ask("viewer", "GET", "/providers")).body).toEqual({ items: [] });
  expect((await ask("viewer", "GET", "/money")).body).toEqual({ items: [], creditWorth: null });
  await fill();
  const { items } = (await ask<{ items: { strip: { state: string }[] }[] }>("viewer", "GET", "/providers")).body;
  expect(items).toMatchObject([
    {
      ...{ provider: "pixian", breaker: "open", latencyP50Ms: 100, latencyP95Ms: 500, errorRate: 0.4 },
      ...{ limitedUntil: null, costToday: 1.5, currency: "EUR", nextTryAt: expect.any(String) },
    },
  ]);
  expect(items[0]!.strip.map(({ state }) => state)).toEqual(["closed", "open"]);
  expect((await ask("viewer", "GET", "/money?by=tenant")).body).toEqual({
    creditWorth: null,
    items: [
      { key: "acme", captured: 0, providerCost: 1, currency: "EUR", jobs: 1, margin: null },
      { key: "globex", captured: 0, providerCost: 0.5, currency: "EUR", jobs: 1, margin: null },
    ],
  });
  // Of a tenant's own, no other's.
  expect((await ask("acmeViewer", "GET", "/money")).body).toMatchObject({ items: [{ key: "acme" }] });
  expect((await ask("acmeViewer", "GET", "/providers")).status).toBe(403);
});

test("fairmill providers: looks, closes, opens, sums", async () => {
  const run = (...words: string[]) => cli(["providers", ...words, "--database-url", db.url]);
  expect((await run("list")).stdout).toMatch(/No provider is known yet/);
  await fill();
  expect((await run("list")).stdout).toMatch(/pixian +closed \(breaker open, in \d/);
  expect((await run("show", "pixian")).stdout).toMatch(/Needed by sticker\.[\s\S]*tripped/);
  expect((await run("open", "pixian")).stdout).toBe("Open.\n");
  await run("close", "pixian", "--for", "10m", "--note", "they migrate");
  expect(JSON.parse((await run("show", "pixian", "--json")).stdout)).toMatchObject({
    closed: { why: "hand", note: "they migrate" },
  });
  expect((await run("reset", "pixian")).stdout).toBe("Open, and as new.\n");
  expect((await run("costs", "--group-by", "tenant")).stdout).toMatch(/acme +2 +1(\.0)? EUR\n *globex +1 +0\.5 EUR/);
  const wrong = await run("show", "pixia");
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/There is no provider "pixia"/)]);
});
