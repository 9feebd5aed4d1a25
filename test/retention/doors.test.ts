// Retention and erasing from outside: the command and the HTTP API.
import { createClient, createWorker, defineJob, handle, silentLogger } from "fairmill";
import { beforeEach, expect, test } from "vitest";
import { cli } from "../cli/cli.js";
import { serverFor } from "../http/server.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const job = defineJob<object>({ kind: "plain" });
let client: ReturnType<typeof createClient>;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
  endAfterTest(() => client.close());
});
const fairmill = (...args: string[]) => cli([...args, "--database-url", db.url, "--no-config", "--json"]);

test("the command sets, shows, tries and removes rules, and each change is on record", async () => {
  expect((await fairmill("retention", "set", "--state", "done", "--keep", "7d", "--dry-run")).code).toBe(0);
  expect(await client.retention.list()).toEqual([]);
  expect((await fairmill("retention", "set", "--state", "done", "--keep", "7d")).code).toBe(0);
  expect((await fairmill("retention", "set", "--tenant", "acme", "--keep", "forever")).code).toBe(0);
  const { rules } = JSON.parse((await fairmill("retention")).stdout);
  expect(rules).toMatchObject([
    { tenant: "acme", keepMs: null },
    { state: "done", keepMs: 604_800_000 },
  ]);
  expect((await fairmill("retention", "preview")).code).toBe(0);
  expect((await fairmill("retention", "remove", "--state", "done")).code).toBe(0);
  expect((await fairmill("retention", "remove", "--state", "done")).code).toBe(1);
  expect((await fairmill("retention", "set", "--keep", "7d")).code).not.toBe(0);
  const actions = await db.query("select action from fairmill.audit_event where outcome = 'done' order by id");
  expect(actions).toEqual(["set", "set", "remove"].map((verb) => ({ action: `retention.${verb}` })));
});

test("the command erases a tenant only with a yes, and shows the record", async () => {
  await client.enqueue(job, {}, { tenant: "acme" });
  expect((await fairmill("tenants", "erase", "acme")).code).not.toBe(0);
  expect(await db.query("select from fairmill.tenant_erasure")).toEqual([]);
  const { code, stdout } = await fairmill("tenants", "erase", "acme", "--yes", "--by", "ann");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ state: "done", tenant: null, actor: "ann", counts: { job: 1 } });
  const shown = JSON.parse((await fairmill("tenants", "erasures", "--tenant", "acme")).stdout);
  expect(shown.erasures).toHaveLength(1);
});

test("over HTTP an admin erases a tenant by saying its name twice; the record then has no name", async () => {
  const server = serverFor(db);
  await client.enqueue(job, {}, { tenant: "acme" });
  expect((await server.ask("operator", "POST", "/tenants/acme/erase", { confirm: "acme" })).status).toBe(403);
  expect((await server.ask("admin", "POST", "/tenants/acme/erase", { confirm: "zeta" })).status).toBe(400);
  const { status, body } = await server.ask<{ id: string }>("admin", "POST", "/tenants/acme/erase", {
    confirm: "acme",
  });
  expect(status).toBe(202);
  const read = async () => (await server.ask("admin", "GET", `/erasures/${body.id}`)).body;
  await waitUntil("the tenant is erased", async () => (await read())["state"] === "done");
  expect(await read()).toMatchObject({ tenant: null, counts: { job: 1, job_history: 1 } });
  const page = await server.ask<{ items: unknown[] }>("admin", "GET", "/erasures");
  expect(page.body.items).toHaveLength(1);
  expect(await db.query("select from fairmill.audit_event where subject like '%acme%' or tenant = 'acme'")).toEqual([]);
});

test("a worker declares the rules of its config when it starts, instead of those that were declared before", async () => {
  const start = async (retention: readonly { state: "done" | "dead"; keep: "1d" }[]) => {
    const options = { databaseUrl: db.url, logger: silentLogger, alerts: false } as const;
    const worker = createWorker({ ...options, handlers: [handle(job, () => {})], retention });
    await worker.start();
    await worker.stop();
  };
  await start([{ state: "done", keep: "1d" }]);
  await start([{ state: "dead", keep: "1d" }]);
  expect(await client.retention.list()).toMatchObject([{ state: "dead", keepMs: 86_400_000, source: "declared" }]);
  expect(() => createWorker({ handlers: [handle(job, () => {})], retention: [{ keep: "1d" }] })).toThrow("name a kind");
});
