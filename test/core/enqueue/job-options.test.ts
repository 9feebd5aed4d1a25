// What a caller says of one job: attempts, time limit, time to live, tags. Each overrides the definition, is stored with the job, and stays with it.
import { type Client, ConfigError, createClient, defineJob, handle } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { endOf, startWorker, untilAborted } from "../../support/jobs.js";

const db = useDatabase();
let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const slow = defineJob<{ n?: number }>({ kind: "slow", timeout: "1h", expire: "1h", retry: { attempts: 5 } });

describe("stored", () => {
  test("one by one and in lists, each its own; a job that says nothing has its definition's", async () => {
    const own = { attempts: 2, timeout: "3s", expire: "2m", tags: ["night", "eu"] } as const;
    const one = await client.enqueue(slow, {}, own);
    const many = await client.enqueueMany(slow, [
      { input: {}, ...own },
      { input: {}, tags: ["eu"] },
      { input: {}, tags: [] },
      { input: {} },
    ]);
    const usual = { maxAttempts: 5, timeoutMs: null, tags: [], trace: null };
    const jobs = await Promise.all([one, ...many].map(({ id }) => client.job(id)));
    expect(jobs).toMatchObject([
      { maxAttempts: 2, timeoutMs: 3_000, tags: ["night", "eu"] },
      { maxAttempts: 2, timeoutMs: 3_000, tags: ["night", "eu"] },
      { ...usual, tags: ["eu"] },
      usual,
      usual,
    ]);
    const livesMs = jobs.map((job) => job!.expireAt!.getTime() - job!.createdAt.getTime());
    expect(livesMs).toEqual([120_000, 120_000, 3_600_000, 3_600_000, 3_600_000]);
    expect((await client.jobs.list({ kind: "slow" })).map(({ tags }) => tags)).toEqual(
      jobs.map((job) => job!.tags).toReversed(),
    );
  });

  test("by SQL, with a trace; they stay when the job ends, and when it is run again", async () => {
    const [made] = await db.query<{ id: string }>(
      "select id from fairmill.enqueue_v1('slow', timeout => '3 seconds', tags => '{a,b}', trace => $1)",
      [TRACE],
    );
    const own = { timeoutMs: 3_000, tags: ["a", "b"], trace: TRACE };
    const { id } = made!;
    expect(await client.job(id)).toMatchObject(own);
    await client.cancel(id);
    expect(await client.job(id)).toMatchObject({ state: "cancelled", ...own });
    await client.retry(id);
    expect(await client.job(id)).toMatchObject({ state: "ready", ...own });
    await client.cancel(id);
    // A repetition is a job of its own, in the trace of whatever enqueues it.
    const again = await client.jobs.rerun(id, { definition: slow, input: {} });
    expect(await client.job(again.id)).toMatchObject({ ...own, trace: null });
  });
});

describe("refused", () => {
  test.each([
    ["attempts", 0],
    ["attempts", 1.5],
    ["timeout", "soon"],
    ["expire", -1],
    ["tags", "night"],
    ["tags", Array.from({ length: 17 }, (_, n) => `t${n}`)],
    ["tags", [""]],
    ["tags", ["x".repeat(65)]],
    ["tags", [7]],
  ])("%s: %o", async (setting, value) => {
    const error = await client.enqueue(slow, {}, { [setting]: value } as never).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ message: expect.stringContaining(setting) });
  });

  test.each([
    ["timeout => '-1 second'"],
    ["tags => array_fill('x'::text, array[17])"],
    ["tags => array[repeat('x', 65)]"],
    ["tags => array['']"],
    ["tags => array[null]::text[]"],
    ["trace => '00-short'"],
  ])("by the schema, for every caller: %s", async (given) => {
    await expect(db.query(`select fairmill.enqueue_v1('slow', ${given})`)).rejects.toMatchObject({ code: "23514" });
  });
});

describe("a worker", () => {
  test("ends a run at the time limit of its job, and leaves others of the kind their own", async () => {
    const worker = await startWorker(db.url, [handle(slow, ({ signal }) => untilAborted(signal))]);
    const brief = await client.enqueue(slow, {}, { timeout: "50ms", attempts: 1 });
    const other = await client.enqueue(slow, {}, { attempts: 1 });
    expect(await endOf(client, brief.id)).toMatchObject({ state: "dead", error: { code: "FAIRMILL_TIMEOUT" } });
    expect((await client.job(other.id))!.state).toBe("running");
    await client.cancel(other.id);
    await endOf(client, other.id);
    await worker.stop();
  });
});
