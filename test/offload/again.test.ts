// Large payloads and results where jobs are made of other jobs: nodes of flows, flows that run again, bulk actions.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient, defineFlow, defineJob, fixed, handle, handleFlow } from "fairmill";
import { defineStorage, folderStorage, type Storage } from "fairmill/storage";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { checkBulkFilter } from "../../src/bulk/bulk-filter.js";
import { runBulk } from "../../src/bulk/bulk-runner.js";
import { startBulk } from "../../src/bulk/bulk-statements.js";
import { Database } from "../../src/db/database.js";
import { createJobRedactor } from "../../src/jobs/redact-job.js";
import { ContentSweeper } from "../../src/offload/content-sweeper.js";
import { useDatabase } from "../support/database.js";
import { endOf, startWorker } from "../support/jobs.js";
import { endAfterTest } from "../support/leftovers.js";

const db = useDatabase();
const LARGE = "Ж".repeat(3_000);
const job = defineJob<{ text: string }, { said: string }>({ kind: "work", retry: { attempts: 1, backoff: fixed(0) } });
const echo = handle(job, (ctx) => ({ said: ctx.input.text }));

let folder: string;
let storage: Storage;
let offload: { storage: Storage; above: number };
let client: Client;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairmill-offload-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(() => {
  storage = defineStorage({ name: "contents", driver: folderStorage({ path: join(folder, String(Math.random())) }) });
  offload = { storage, above: 4_096 };
  client = createClient({ databaseUrl: db.url, offload });
  endAfterTest(() => client.close());
});

const files = async () => (await storage.list()).map(({ key }) => key).sort();
const work = async (handlers: Parameters<typeof startWorker>[1]) => {
  const worker = await startWorker(db.url, handlers, { offload });
  endAfterTest(() => worker.stop());
  return worker;
};
/** All files whose jobs are gone, at once. */
async function sweep(): Promise<void> {
  const session = {
    schema: "fairmill",
    query: <Row>(text: string, values?: readonly unknown[]) => db.query(text, values as unknown[]) as Promise<Row[]>,
  };
  await db.query("update fairmill.content set check_at = now()");
  await new ContentSweeper({ clock: systemClock, db: session }, storage, { keepMs: 0 }).sweep();
}

test("nodes of a flow read large results of the nodes before them, and add large jobs", async () => {
  const flow = defineFlow<{ n: number }>({ name: "sum" }, (nodes) => {
    const one = nodes.run("one", () => ({ said: LARGE }));
    const many = nodes.run("many", async (ctx) => {
      for (let n = 0; n < ctx.input.n; n++) await ctx.batch!.add(job, { text: `${LARGE}${n}` });
    });
    nodes.run(
      "all",
      async (ctx) => ({
        one: await ctx.flow!.result(one),
        many: (await ctx.flow!.results(many)) as unknown,
      }),
      { after: [one, many] },
    );
  });
  await work([echo as never, ...handleFlow(flow)]);
  // More than are fetched at once: their order is that of their jobs.
  const { id } = await client.flows.start(flow, { n: 10 });
  const { state, nodes } = await client.flows.wait(id);
  expect(state).toBe("succeeded");
  expect(await client.result(nodes.find(({ name }) => name === "all")!.job!)).toEqual({
    one: { said: LARGE },
    many: [null, ...Array.from({ length: 10 }, (_, n) => ({ said: `${LARGE}${n}` }))],
  });
});

test("a flow that runs again from a node on reads what the nodes before it left in the storage", async () => {
  let isBroken = true;
  const flow = defineFlow<object>({ name: "again" }, (nodes) => {
    const one = nodes.run("one", () => ({ said: LARGE }));
    nodes.run(
      "two",
      async (ctx) => {
        if (isBroken) throw new Error("not yet");
        return ctx.flow!.result(one);
      },
      { after: [one], retry: { attempts: 1 } },
    );
  });
  await work(handleFlow(flow));
  const { id } = await client.flows.start(flow, {});
  expect((await client.flows.wait(id)).state).toBe("failed");
  isBroken = false;
  expect(await client.flows.retry(id)).toMatchObject({ answer: "started" });
  const { state, nodes } = await client.flows.wait(id);
  expect(state).toBe("succeeded");
  expect(await client.result(nodes[1]!.job!)).toEqual({ said: LARGE });
});

test("the input of a flow stays in its row: one that is too large is refused by name, and nothing is put", async () => {
  const flow = defineFlow<{ text: string }>({ name: "large" }, (nodes) => void nodes.run("one", () => undefined));
  await expect(client.flows.start(flow, { text: "x".repeat(2 ** 21) })).rejects.toMatchObject({
    code: "FAIRMILL_PAYLOAD_TOO_LARGE",
  });
  expect(await files()).toEqual([]);
});

test("a bulk rerun gives each new job the file of the old one, which stays until both are gone", async () => {
  const made = await client.enqueueMany(
    job,
    [1, 2, 3].map((n) => ({ input: { text: `${LARGE}${n}` } })),
  );
  for (const { id } of made) await client.cancel(id);
  const before = await files();
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 2, applicationName: "fairmill bulk test" });
  endAfterTest(() => database.close());
  const filter = checkBulkFilter("rerun", { kind: "work" });
  const rerun = { action: "rerun", filter, actor: "ann", tenant: undefined, reason: undefined } as const;
  const bulk = await startBulk(database, rerun);
  expect(await runBulk(database, systemClock, bulk, { stepJobs: 2 })).toMatchObject({ state: "done", changed: 3 });
  // The old ones go, and the sweep after them.
  await db.query("delete from fairmill.job_history");
  await sweep();
  expect(await files()).toEqual(before);
  await work([echo as never]);
  const again = await db.query<{ id: string; of: string }>(
    `select id::text as id, rerun_of::text as of from (select id, rerun_of from fairmill.job
      union all select id, rerun_of from fairmill.job_history) j order by id`,
  );
  expect(again.map(({ of }) => of)).toEqual(made.map(({ id }) => id));
  for (const [n, { id }] of again.entries()) expect(await client.result(id)).toEqual({ said: `${LARGE}${n + 1}` });
  await db.query("delete from fairmill.job_history");
  await sweep();
  await sweep();
  expect(await files()).toEqual([]);
});

test("a file of two jobs stays until the later one was missed for long enough, too: a repetition of it may be under way", async () => {
  const { id } = await client.enqueue(job, { text: LARGE });
  await client.cancel(id);
  const [again] = await db.query<{ id: string }>("select id::text as id from fairmill.rerun_v1($1)", [id]);
  await db.query("delete from fairmill.job where id = $1", [again!.id]);
  await db.query("delete from fairmill.job_history");
  const check = async () => {
    await db.query("update fairmill.content set check_at = now()");
    return db.query<{ job: string; isLast: boolean }>(
      `select job_id::text as job, is_last as "isLast" from fairmill.check_contents_v1('contents', 10, 600000)
       where key is not null order by job_id`,
    );
  };
  expect(await check()).toEqual([]);
  const missedFor = (job: string, time: string) =>
    db.query("update fairmill.content set gone_at = now() - $2::interval where job_id = $1", [job, time]);
  await missedFor(id, "11 minutes");
  await missedFor(again!.id, "1 minute");
  expect(await check()).toEqual([{ job: id, isLast: false }]);
  await missedFor(again!.id, "11 minutes");
  expect(await check()).toEqual([
    { job: id, isLast: true },
    { job: again!.id, isLast: true },
  ]);
});

test("where the payload is a reference, an error of a kind with secrets is not shown to people, because one may be in it", async () => {
  const secret = defineJob<{ token: string }>({ kind: "secret", redact: ["token"], retry: { attempts: 1 } });
  await work([
    handle(secret, (ctx) => {
      throw Object.assign(new Error(`refused ${ctx.input.token}`), { code: "REFUSED" });
    }) as never,
  ]);
  const { id } = await client.enqueue(secret, { token: LARGE });
  await endOf(client, id);
  const [listed] = await client.jobs.list();
  expect(listed!.error!.message).toContain(LARGE);
  const shown = createJobRedactor([], [secret]).job(listed!);
  expect(shown.error).toEqual({ name: "Error", code: "REFUSED", message: expect.stringContaining("not shown") });
  expect(JSON.stringify(shown)).not.toContain("Ж");
  // Where nothing is to be hidden, nothing is.
  expect(createJobRedactor([], []).job(listed!).error!.message).toContain(LARGE);
});
