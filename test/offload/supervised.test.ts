// Payloads and results that are too large for their rows, in the children of a supervisor: the child fetches and puts, the supervisor sees references.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, createClient, defineFlow, defineJob } from "fairmill";
import { defineStorage, folderStorage, type Storage } from "fairmill/storage";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { servingOf, useRig } from "../pool/rig.js";
import { endOf, inState, keepingLogger } from "../support/jobs.js";
import { endAfterTest } from "../support/leftovers.js";

const rig = useRig();
const module = fileURLToPath(new URL("./supervised-module.mjs", import.meta.url));
const ABOVE = 4_096;
const LARGE = "Ж".repeat(3_000);
interface Said {
  readonly text: string;
  readonly by: number;
}
const echo = defineJob<{ text: string }, Said>({ kind: "echo" });

let folder: string;
let storage: Storage;
let client: Client;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairmill-offload-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(() => {
  const path = join(folder, String(Math.random()));
  process.env["TEST_OFFLOAD_FOLDER"] = path;
  storage = defineStorage({ name: "contents", driver: folderStorage({ path }) });
  client = createClient({ databaseUrl: rig.db.url, offload: { storage, above: ABOVE } });
  endAfterTest(() => client.close());
});

const files = async () => (await storage.list()).map(({ key }) => key);
/** Files that no row of `content` names would never go. */
const noted = async () =>
  (await rig.db.query<{ key: string }>("select key from fairmill.content")).map(({ key }) => key).sort();
const isReference = expect.objectContaining({ "fairmill:stored": 1, storage: "contents" });

test("a child fetches the payload and puts the result; both rows have references", async () => {
  const supervisor = await rig.start({ module, worker: { minInstances: 1 } });
  const { id } = await client.enqueue(echo, { text: LARGE });
  const { pid } = servingOf(supervisor)[0]!;
  expect(await client.result(echo, id)).toEqual({ text: LARGE, by: pid });
  expect(pid).not.toBe(process.pid);
  const [row] = await rig.db.query("select payload, result from fairmill.job_history where id = $1", [id]);
  expect(row).toEqual({ payload: isReference, result: isReference });
  expect(await files()).toEqual(await noted());
  expect(await files()).toHaveLength(2);
});

test("what a handler in a child enqueues, and what it completes in a transaction of its own, goes there as well", async () => {
  await rig.start({ module, worker: { minInstances: 1 } });
  const { id: parent } = await client.enqueue(defineJob({ kind: "parent" }), { text: LARGE });
  await endOf(client, parent);
  const [child] = await rig.db.query<{ id: string; payload: object }>(
    "select id::text as id, payload from (select id, payload, kind from fairmill.job union all select id, payload, kind from fairmill.job_history) j where kind = 'echo'",
  );
  expect(child!.payload).toEqual(isReference);
  expect(await client.result(echo, child!.id)).toMatchObject({ text: LARGE });
  const { id: booked } = await client.enqueue(defineJob({ kind: "booking" }), { text: LARGE });
  expect(await client.result(booked)).toEqual({ text: LARGE });
  const [row] = await rig.db.query("select result from fairmill.job_history where id = $1", [booked]);
  expect(row!["result"]).toEqual(isReference);
  expect((await files()).sort()).toEqual(await noted());
});

test("nodes of a flow in children read large results of the nodes before them", async () => {
  await rig.start({ module, worker: { minInstances: 2, allocation: "round-robin" } });
  // Only the declaration is needed here: what nodes do is with the supervisor.
  const declared = defineFlow<{ text: string; times: number }>({ name: "collecting" }, (flow) => {
    const one = flow.run("one", () => undefined);
    const many = flow.run("many", () => undefined);
    flow.run("all", () => undefined, { after: [one, many] });
  });
  const { id } = await client.flows.start(declared, { text: "Ж", times: 3_000 });
  const { state, nodes } = await client.flows.wait(id);
  expect(state).toBe("succeeded");
  const all = nodes.find(({ name }) => name === "all")!.job!;
  expect(await client.result(all)).toMatchObject({ one: 3_000, many: [null, 3_000, 3_000] });
  expect(await rig.db.query("select from fairmill.job_history where result ? 'fairmill:stored'")).toHaveLength(3);
});

test("a child without the storage puts the job back, unspent, for one that has it", async () => {
  delete process.env["TEST_OFFLOAD_FOLDER"];
  const path = join(folder, "elsewhere");
  const lone = defineStorage({ name: "contents", driver: folderStorage({ path }) });
  const having = createClient({ databaseUrl: rig.db.url, offload: { storage: lone, above: ABOVE } });
  endAfterTest(() => having.close());
  const without = await rig.start({ module, worker: { minInstances: 1 } });
  const { id } = await having.enqueue(echo, { text: LARGE }, { attempts: 1 });
  expect(await inState(having, id, "scheduled")).toMatchObject({ attempt: 0 });
  await without.stop();
  process.env["TEST_OFFLOAD_FOLDER"] = path;
  await rig.start({ module, worker: { minInstances: 1 } });
  await having.retry(id);
  expect(await having.result(echo, id)).toMatchObject({ text: LARGE });
});

test("what must not be shown of a payload in the storage is in no log of the supervisor", async () => {
  const logger = keepingLogger();
  await rig.start({ module, worker: { minInstances: 1 }, logger });
  const { id } = await client.enqueue(defineJob({ kind: "telling" }), { secret: "hunter2", filler: LARGE });
  const dead = await endOf(client, id);
  // The application has its own data as it is.
  expect(dead.error!.message).toBe("cannot use hunter2");
  const said = JSON.stringify(logger);
  expect(said).toContain("cannot use [redacted]");
  expect(said).not.toContain("hunter2");
  expect(JSON.stringify(await client.jobs.logs(id))).not.toContain("hunter2");
});
