// Where a storage does not do what is expected, where a job changes its mind about its payload, and that workers remove files by themselves.
import { spawn } from "node:child_process";
import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient, createCodec, defineJob, fixed, handle } from "fairmill";
import { ContentElsewhereError, ContentStorageError } from "fairmill/errors";
import { defineStorage, folderStorage, type Storage } from "fairmill/storage";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { useDatabase } from "../support/database.js";
import { endOf, gate, inState, startWorker } from "../support/jobs.js";
import { endAfterTest } from "../support/leftovers.js";
import { claim, register, settle } from "../support/sql/calls.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const ABOVE = 4_096;
const LARGE = "Ж".repeat(3_000);
const job = defineJob<{ text: string }>({ kind: "work", retry: { attempts: 1, backoff: fixed(0) } });
const echo = handle(job, (ctx) => ({ said: ctx.input.text }));

let folder: string;
let path: string;
let storage: Storage;
let client: Client;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairmill-offload-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(() => {
  path = join(folder, String(Math.random()));
  storage = defineStorage({ name: "contents", driver: folderStorage({ path }) });
  client = clientWith(storage);
});

function clientWith(one: Storage, options: Parameters<typeof createClient>[0] = {}): Client {
  const made = createClient({ databaseUrl: db.url, offload: { storage: one, above: ABOVE }, ...options });
  endAfterTest(() => made.close());
  return made;
}
const work = async (options: Parameters<typeof startWorker>[2] = {}, handlers = [echo]) => {
  const worker = await startWorker(db.url, handlers, { offload: { storage, above: ABOVE }, ...options });
  endAfterTest(() => worker.stop());
  return worker;
};
const files = async () => (await storage.list()).map(({ key }) => key);
/** The storage, but for one call. */
const insteadOf = (call: "get" | "put", does: () => Promise<never>) =>
  ({
    name: "contents",
    put: storage.put.bind(storage),
    get: storage.get.bind(storage),
    delete: storage.delete.bind(storage),
    list: storage.list.bind(storage),
    [call]: does,
  }) as never;

test("a storage of another name is another storage: the job waits for a worker that has the right one", async () => {
  const { id } = await client.enqueue(job, { text: LARGE });
  const other = defineStorage({ name: "other", driver: folderStorage({ path }) });
  const worker = await work({ offload: { storage: other, above: ABOVE } });
  expect(await inState(client, id, "scheduled")).toMatchObject({ attempt: 0 });
  await worker.stop();
  await client.retry(id);
  await work();
  expect(await client.result(id)).toEqual({ said: LARGE });
  await expect(clientWith(other).result(id)).rejects.toThrow(ContentElsewhereError);
});

test("a file that is gone is an error that asks whether the process sees the same folder", async () => {
  const { id } = await client.enqueue(job, { text: LARGE });
  for (const key of await files()) await storage.delete(key);
  await work();
  const dead = await endOf(client, id);
  expect(dead).toMatchObject({ state: "dead", error: { code: "FAIRMILL_CONTENT_STORAGE" } });
  expect(dead.error!.message).toContain("Does this process see the same folder or bucket");
  // A look at the job does not fail: what cannot be fetched stays a reference.
  expect(dead.payload).toMatchObject({ "fairmill:stored": 1 });
  await expect(client.result(id)).rejects.toMatchObject({ code: "FAIRMILL_JOB_FAILED" });
});

test("a result whose file cannot be read is an error of the call, not of the job", async () => {
  const { id } = await client.enqueue(job, { text: LARGE });
  await work();
  await endOf(client, id);
  const blind = clientWith(insteadOf("get", () => Promise.reject(new Error("no route to the bucket"))));
  await expect(blind.result(id)).rejects.toThrow(ContentStorageError);
  expect((await client.job(id))!.state).toBe("done");
});

test("a storage that never answers holds a job no longer than its time limit", async () => {
  const slow = defineJob<{ text: string }>({ kind: "work", timeout: "300ms", retry: { attempts: 1 } });
  const { id } = await client.enqueue(slow, { text: LARGE });
  await work(
    { offload: { storage: insteadOf("get", () => new Promise(() => {})), above: ABOVE }, abortGrace: "50ms" },
    [handle(slow, (ctx) => ({ said: ctx.input.text }))],
  );
  expect(await endOf(client, id)).toMatchObject({ state: "dead", failures: [{ outcome: "timeout" }] });
});

test("a job that is cancelled while its payload is fetched never calls its handler", async () => {
  const isAsked = gate();
  const goesOn = gate();
  const get = async (key: string) => {
    isAsked.open();
    await goesOn.promise;
    return storage.get(key);
  };
  const called: number[] = [];
  const { id } = await client.enqueue(job, { text: LARGE });
  const options = { offload: { storage: insteadOf("get", get as never), above: ABOVE }, abortGrace: "50ms" } as const;
  await work(options, [handle(job, (ctx) => void called.push(ctx.input.text.length)) as never]);
  await isAsked.promise;
  await client.cancel(id);
  expect((await endOf(client, id)).state).toBe("cancelled");
  goesOn.open();
  // One that comes behind it has run when the file of the first has long been there.
  await endOf(client, (await client.enqueue(job, { text: `${LARGE}!` })).id);
  expect(called).toEqual([LARGE.length + 1]);
});

test("with a codec, a content that has no room in a row when it is sealed goes to the storage", async () => {
  const codec = createCodec({ keys: { k: Buffer.alloc(32, 1) }, current: "k", acceptPlain: false });
  const sealing = clientWith(storage, { codec });
  const huge = "x".repeat(3 * 2 ** 20);
  const { id } = await sealing.enqueue(job, { text: huge });
  await work({ codec });
  expect(await sealing.result(id)).toEqual({ said: huge });
});

test("a repetition with another payload has the file of the new one, or none", async () => {
  const { id } = await client.enqueue(job, { text: LARGE });
  await client.cancel(id);
  const [small] = await db.query<{ id: string }>("select id::text as id from fairmill.rerun_v1($1, $2)", [
    ...[id, JSON.stringify({ payload: { text: "small" } })],
  ]);
  const large = await client.jobs.rerun(id, { input: { text: `${LARGE}!` } });
  const rows = await db.query<{ id: string; n: number }>(
    "select job_id::text as id, count(*)::int as n from fairmill.content group by job_id order by job_id",
  );
  expect(rows).toEqual([id, large.id].map((one) => ({ id: one, n: 1 })));
  await work();
  expect(await client.result(small!.id)).toEqual({ said: "small" });
  expect(await client.result(large.id)).toEqual({ said: `${LARGE}!` });
});

test("a settle that is refused because the lease was lost notes no file", async () => {
  await client.enqueue(job, { text: "small" });
  const worker = await register(db, "w");
  const claims = await claim(db, worker, 1, { queue: "default" });
  const lost = claims.map((one) => ({ ...one, lease_no: "1" }));
  const content = { storage: "contents", key: "fairmill/x/result/y.json" };
  await settle(db, worker, lost as typeof claims, "done", [{ result: {}, content }]);
  expect(await db.query("select from fairmill.content")).toEqual([]);
  await settle(db, worker, claims, "done", [{ result: {}, content }]);
  expect(await db.query("select key from fairmill.content")).toEqual([{ key: content.key }]);
});

test("workers remove files whose jobs are gone, and old ones that never had one", async () => {
  const { id } = await client.enqueue(job, { text: LARGE }, { delay: "1h" });
  const stays = await client.enqueue(job, { text: LARGE }, { delay: "1h" });
  await storage.put("fairmill/nobody/payload/old.json", "{}");
  const before = new Date(Date.now() - 2 * 86_400_000);
  await utimes(join(path, "fairmill/nobody/payload/old.json"), before, before);
  await db.query("delete from fairmill.job where id = $1", [id]);
  await db.query("update fairmill.content set check_at = now()");
  // Rounds that a worker makes every minute come at once.
  const hasty = {
    ...systemClock,
    after: (ms: number, then: () => void) => systemClock.after(ms > 20_000 ? 20 : ms, then),
  };
  await work({ clock: hasty });
  await waitUntil(
    "the worker has seen that the job is gone",
    async () => (await db.query("select from fairmill.content where gone_at is not null")).length === 1,
  );
  await db.query(
    "update fairmill.content set gone_at = now() - interval '1 hour', check_at = now() where job_id = $1",
    [id],
  );
  // A row is forgotten after its file is removed.
  await waitUntil(
    "one job's content is known",
    async () => (await db.query("select from fairmill.content")).length === 1,
  );
  expect(await db.query("select job_id::text as id from fairmill.content")).toEqual([{ id: stays.id }]);
  await waitUntil("one file is left", async () => (await files()).length === 1);
});

test("a worker that has stopped keeps its process no longer", async () => {
  const script = `
    import { createWorker, defineJob, handle, silentLogger } from "fairmill";
    import { defineStorage, folderStorage } from "fairmill/storage";
    const storage = defineStorage({ name: "contents", driver: folderStorage({ path: process.argv[1] }) });
    const handlers = [handle(defineJob({ kind: "work" }), () => {})];
    const worker = await createWorker({ databaseUrl: process.argv[2], handlers, logger: silentLogger, offload: { storage } }).start();
    await worker.stop();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, folder, db.url], { stdio: "inherit" });
  endAfterTest(async () => void child.kill("SIGKILL"));
  await waitUntil("the process has ended by itself", () => child.exitCode === 0, 30_000);
});
