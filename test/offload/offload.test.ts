// Payloads and results that are too large for their rows: they go to a storage by themselves, come back where they are asked for, and go with their jobs.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient, createCodec, defineJob, fixed, handle } from "fairmill";
import { ContentElsewhereError, ContentStorageError } from "fairmill/errors";
import { defineStorage, folderStorage, type Storage } from "fairmill/storage";
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ContentSweeper } from "../../src/offload/content-sweeper.js";
import { useDatabase } from "../support/database.js";
import { endOf, inState, keepingLogger, startWorker } from "../support/jobs.js";
import { endAfterTest } from "../support/leftovers.js";

type OffloadOptions = NonNullable<NonNullable<Parameters<typeof createClient>[0]>["offload"]>;
const db = useDatabase();
const ABOVE = 4_096;
const LARGE = "Ж".repeat(3_000);
const HUGE = "x".repeat(3 * 2 ** 20);
interface Input {
  readonly text: string;
}
const job = defineJob<Input>({ kind: "work", retry: { attempts: 3, backoff: fixed(0) } });
const echo = handle(job, (ctx) => ({ said: ctx.input.text }));

let folder: string;
let storage: Storage;
let offload: OffloadOptions;
let client: Client;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairmill-offload-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(() => {
  storage = defineStorage({ name: "contents", driver: folderStorage({ path: join(folder, String(Math.random())) }) });
  offload = { storage, above: ABOVE };
  client = clientWith({ offload });
});

function clientWith(options: Parameters<typeof createClient>[0]): Client {
  const made = createClient({ databaseUrl: db.url, ...options });
  endAfterTest(() => made.close());
  return made;
}
const files = async () => (await storage.list()).map(({ key }) => key);
const rowOf = async (id: string) =>
  (
    await db.query<{ payload: Record<string, unknown>; result: Record<string, unknown> | null }>(
      `select payload, null::jsonb as result from fairmill.job where id = $1
       union all select payload, result from fairmill.job_history where id = $1`,
      [id],
    )
  )[0]!;
const work = async (handlers = [echo], options = {}) => {
  const worker = await startWorker(db.url, handlers, { offload, ...options });
  endAfterTest(() => worker.stop());
  return worker;
};
async function inTransaction(inside: (tx: pg.PoolClient) => Promise<unknown>): Promise<void> {
  const tx = await db.pool.connect();
  try {
    await tx.query("begin");
    await inside(tx);
    await tx.query("commit");
  } catch {
    await tx.query("rollback");
  } finally {
    tx.release();
  }
}
/** What a storage does that fails. */
const failing = (call: "put" | "get"): OffloadOptions => ({
  storage: {
    name: "contents",
    put: (key, body, options) => storage.put(key, body, options),
    get: (key) => storage.get(key),
    delete: (key) => storage.delete(key),
    list: (options) => storage.list(options),
    [call]: () => Promise.reject(new Error("no route to the bucket")),
  },
  above: ABOVE,
});
const sweeper = () => {
  const inside = { clock: { now: () => Date.now() + 2 * 86_400_000 } as never, db: session };
  return new ContentSweeper(inside, storage, { keepMs: 0 });
};
const session = {
  schema: "fairmill",
  query: <Row>(text: string, values?: readonly unknown[]) => db.query(text, values as unknown[]) as Promise<Row[]>,
};
const due = () => db.query("update fairmill.content set check_at = now()");

describe("a payload above the limit", () => {
  test("lies in the storage, the row keeps a reference, and handler, job and result have it as it was", async () => {
    const { id } = await client.enqueue(job, { text: HUGE }, { tenant: "acme" });
    const [key] = await files();
    expect((await rowOf(id)).payload).toEqual({
      "fairmill:stored": 1,
      storage: "contents",
      key,
      bytes: HUGE.length + 11,
    });
    // The name of a tenant may be anything, and must not stay behind when it is erased.
    expect(key).not.toContain("acme");
    expect((await client.job(id))!.payload).toEqual({ text: HUGE });
    await work();
    expect(await client.result(id)).toEqual({ said: HUGE });
    expect((await client.job(id))!.result).toEqual({ said: HUGE });
    expect((await rowOf(id)).result).toMatchObject({ "fairmill:stored": 1, storage: "contents" });
    expect(await files()).toHaveLength(2);
  });

  test("bytes decide, not letters; what is not above stays in its row, in a list as well", async () => {
    const inputs = ["x".repeat(ABOVE - 11), "x".repeat(ABOVE - 10), LARGE, "small"];
    const made = await client.enqueueMany(
      job,
      inputs.map((text) => ({ input: { text } })),
    );
    const stored = await Promise.all(made.map(({ id }) => rowOf(id)));
    expect(stored.map(({ payload }) => "fairmill:stored" in payload)).toEqual([false, true, true, false]);
    await work();
    expect(await Promise.all(made.map((one) => client.result(one)))).toEqual(inputs.map((said) => ({ said })));
  });

  test("also from a stream, a batch, a transaction and a handler", async () => {
    async function* stream() {
      yield { input: { text: LARGE } };
    }
    await client.enqueueMany(job, stream());
    await client.batches.create({}, (batch) => batch.add(job, { text: LARGE }));
    await inTransaction((tx) => client.in(tx).enqueue(job, { text: LARGE }));
    const parent = defineJob<object>({ kind: "parent" });
    const { id } = await client.enqueue(parent, {});
    await work([handle(parent, (ctx) => ctx.enqueue(job, { text: LARGE })) as never]);
    await endOf(client, id);
    const rows = await db.query<{ n: number }>(
      `select count(*)::int as n from fairmill.job j join fairmill.content c on c.job_id = j.id and c.key = j.payload ->> 'key'`,
    );
    expect(rows[0]!.n).toBe(4);
  });

  test("is checked by the schema and by the size: too large is refused, and nothing is put", async () => {
    const small = clientWith({ offload: { storage, above: ABOVE, max: 10_000 } });
    await expect(small.enqueue(job, { text: HUGE })).rejects.toMatchObject({ code: "FAIRMILL_PAYLOAD_TOO_LARGE" });
    await expect(clientWith({}).enqueue(job, { text: HUGE })).rejects.toMatchObject({
      code: "FAIRMILL_PAYLOAD_TOO_LARGE",
    });
    const forged = { "fairmill:stored": 1, storage: "contents", key: "x", text: "" };
    await expect(client.enqueue(job, forged)).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
    await expect(client.enqueueMany(job, [{ input: forged }])).rejects.toMatchObject({
      code: "FAIRMILL_INPUT_INVALID",
    });
    expect(await files()).toEqual([]);
  });

  test("with a codec it lies there sealed, and nothing of it is logged that must not be", async () => {
    const codec = createCodec({ keys: { k: Buffer.alloc(32, 1) }, current: "k", acceptPlain: false });
    const sealing = clientWith({ offload, codec });
    const secret = defineJob<Input>({ kind: "secret", redact: ["text"] });
    const logger = keepingLogger();
    const { id } = await sealing.enqueue(secret, { text: LARGE });
    await work(
      [
        handle(secret, (ctx) => {
          ctx.log.info({ text: ctx.input.text }, `it was ${ctx.input.text}`);
          return { said: ctx.input.text };
        }) as never,
      ],
      { codec, logger },
    );
    expect(await sealing.result(id)).toEqual({ said: LARGE });
    expect((await sealing.job(id))!.payload).toEqual({ text: LARGE });
    for (const key of await files()) expect(Buffer.from((await storage.get(key))!.body).toString()).not.toContain("Ж");
    expect(JSON.stringify(await sealing.jobs.logs(id))).not.toContain("Ж");
    expect(JSON.stringify(logger)).not.toContain("Ж");
  });
});

describe("a storage that fails", () => {
  test("at enqueue: a typed error, and no job", async () => {
    const broken = clientWith({ offload: failing("put") });
    const error = await broken.enqueue(job, { text: LARGE }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ContentStorageError);
    expect((error as Error).message).toContain("no route to the bucket");
    expect(await client.jobs.list()).toEqual([]);
  });

  test("at run: the attempt fails and the job is tried again", async () => {
    const { id } = await client.enqueue(job, { text: LARGE }, { attempts: 2 });
    const worker = await work([echo], { offload: failing("get") });
    const dead = await endOf(client, id);
    expect(dead).toMatchObject({ state: "dead", attempt: 2, error: { code: "FAIRMILL_CONTENT_STORAGE" } });
    await worker.stop();
    await client.retry(id);
    await work();
    expect(await client.result(id)).toEqual({ said: LARGE });
  });

  test("when the result is put: the attempt fails, so the job is not done without its result", async () => {
    const { id } = await client.enqueue(job, { text: "small" }, { attempts: 1 });
    await work([handle(job, () => ({ said: LARGE }))], { offload: failing("put") });
    expect(await endOf(client, id)).toMatchObject({ state: "dead", error: { code: "FAIRMILL_CONTENT_STORAGE" } });
  });

  test("a worker without the storage puts the job back, unspent, for one that has it", async () => {
    const { id } = await client.enqueue(job, { text: LARGE }, { attempts: 1 });
    const worker = await work([echo], { offload: undefined });
    const waiting = await inState(client, id, "scheduled");
    expect(waiting.attempt).toBe(0);
    await worker.stop();
    await client.retry(id);
    await work();
    expect(await client.result(id)).toEqual({ said: LARGE });
    await expect(clientWith({}).result(id)).rejects.toThrow(ContentElsewhereError);
  });

  test("a file that was changed, or is another tenant's, is not given to a handler", async () => {
    const { id } = await client.enqueue(job, { text: LARGE }, { attempts: 1 });
    const other = await client.enqueue(job, { text: LARGE }, { attempts: 1, tenant: "other" });
    await storage.put(String((await rowOf(id)).payload["key"]), '{"text":"forged"}');
    const theirs = await client.enqueue(job, { text: "" }, { attempts: 1, tenant: "thief" });
    await db.query("update fairmill.job set payload = $2 where id = $1", [theirs.id, (await rowOf(other.id)).payload]);
    await work();
    expect((await endOf(client, id)).error!.message).toContain("is not what was put there");
    expect((await endOf(client, theirs.id)).error!.message).toContain("not of this tenant");
  });
});

describe("files go with their jobs", () => {
  test("a file stays while its job is there, live or ended, and goes after it", async () => {
    const { id } = await client.enqueue(job, { text: LARGE });
    const live = await client.enqueue(job, { text: LARGE }, { delay: "1h" });
    const worker = await work();
    await client.result(id);
    await worker.stop();
    await due();
    await sweeper().sweep();
    expect(await files()).toHaveLength(3);
    await db.query("delete from fairmill.job_history");
    await due();
    await sweeper().sweep();
    expect(await files()).toEqual([(await rowOf(live.id)).payload["key"]]);
    expect(await db.query("select job_id::text as id from fairmill.content")).toEqual([{ id: live.id }]);
  });

  test("not at once: a transaction that repeats the job may still be open", async () => {
    const { id } = await client.enqueue(job, { text: LARGE });
    await db.query("delete from fairmill.job where id = $1", [id]);
    await due();
    await new ContentSweeper({ clock: undefined as never, db: session }, storage).sweep();
    expect(await files()).toHaveLength(1);
    await due();
    await sweeper().sweep();
    expect(await files()).toEqual([]);
  });

  test("a repetition, by the client or by SQL, keeps the file for itself", async () => {
    const { id } = await client.enqueue(job, { text: LARGE });
    await client.cancel(id);
    const again = await client.jobs.rerun(id);
    const [{ id: third }] = (await db.query<{ id: string }>("select id::text as id from fairmill.rerun_v1($1)", [
      id,
    ])) as [{ id: string }];
    await db.query("delete from fairmill.job_history");
    await due();
    await sweeper().sweep();
    await work();
    expect(await client.result(again.id)).toEqual({ said: LARGE });
    expect(await client.result(third)).toEqual({ said: LARGE });
  });

  test("a waiting job whose payload is replaced has the new file", async () => {
    const debounced = defineJob<Input>({ kind: "work", debounce: { by: () => "all", wait: "1h" } });
    const first = await client.enqueue(debounced, { text: LARGE });
    const second = await client.enqueue(debounced, { text: `${LARGE}!` });
    expect(second).toMatchObject({ id: first.id, replaced: true });
    await due();
    await sweeper().sweep();
    expect((await client.job(first.id))!.payload).toEqual({ text: `${LARGE}!` });
  });

  test("a file whose job never came goes when no transaction can bring it any more", async () => {
    await client.enqueue(job, { text: LARGE }, { delay: "1h" });
    await inTransaction(async (tx) => {
      await client.in(tx).enqueue(job, { text: LARGE });
      throw new Error("rolled back");
    });
    expect(await files()).toHaveLength(2);
    const soon = new ContentSweeper({ clock: { now: () => Date.now() } as never, db: session }, storage);
    expect(await soon.sweepStrays()).toBe(0);
    expect(await sweeper().sweepStrays()).toBe(1);
    expect(await files()).toHaveLength(1);
  });

  test("erasing a tenant removes its files at once where the storage is named, and those of no other", async () => {
    await client.enqueue(job, { text: LARGE }, { tenant: "acme" });
    const other = await client.enqueue(job, { text: LARGE }, { tenant: "other" });
    const erased = await client.tenants.erase("acme", { actor: "ann", storages: [storage] });
    expect(erased.state).toBe("done");
    expect(await files()).toEqual([(await rowOf(other.id)).payload["key"]]);
  });
});
