// Waiting for results: one look for all callers of a client, each with its own end.
import { type Client, createClient, defineJob } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claim, enqueueOne, register, settle } from "../support/sql/calls.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "work" });
let proxy: TcpProxy;
let client: Client;
beforeEach(async () => {
  proxy = await TcpProxy.before(db.url);
  client = createClient({ databaseUrl: proxy.url });
});
afterEach(() => client.close());

const looks = () => proxy.statements.filter(({ text }) => text.includes("= any ($1)")).length;
const stored = async (count: number) =>
  (
    await client.enqueueMany(
      job,
      Array.from({ length: count }, (_, n) => ({ input: { n } })),
    )
  ).map(({ id }) => id);
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: { code?: string }) => error.code,
  );

describe("client.result", () => {
  test("F6: two thousand callers cost as many statements as a few, and each has its answer", async () => {
    const ids = await stored(2_000);
    const waiting = ids.map((id, n) => codeOf(client.result(id, { timeout: n < 1_990 ? "1500ms" : "60s" })));
    expect(new Set(await Promise.all(waiting.slice(0, 1_990)))).toEqual(new Set(["FAIRMILL_RESULT_TIMEOUT"]));
    // Each by itself would have asked a dozen times: more than 20,000 statements.
    expect(looks()).toBeLessThan(300);
    await register(db, "w");
    for (;;) {
      const jobs = (await claim(db, "w", 1_000, { tenantMax: 1_000 })).toSorted((a, b) => Number(a.id) - Number(b.id));
      if (jobs.length === 0) break;
      await settle(db, "w", jobs, "done");
    }
    expect(await Promise.all(waiting.slice(1_990))).toEqual(Array.from({ length: 10 }, () => "done"));
    const [sample] = ids;
    expect(await client.result(sample!)).toBeNull();
  });

  test("an end is told while others go on waiting, to all who wait for it, with its own result", async () => {
    const ids = await stored(3);
    const first = [client.result(ids[0]!), client.result(ids[0]!, { timeout: "60s" })];
    const others = ids.slice(1).map((id) => codeOf(client.result(id, { timeout: "60s" })));
    await waitUntil("they were looked at", () => looks() > 2);
    await register(db, "w");
    const [one] = await claim(db, "w");
    await settle(db, "w", [one!], "done", [{ result: { n: 7 } }]);
    expect(await Promise.all(first)).toEqual([{ n: 7 }, { n: 7 }]);
    const rest = (await claim(db, "w", 2)).toSorted((a, b) => Number(a.id) - Number(b.id));
    await settle(db, "w", rest, ["dead", "done"], [{ error: { message: "no" } }, null]);
    expect(await Promise.all(others)).toEqual(["FAIRMILL_JOB_FAILED", "done"]);
  });

  test("looks once at least, and says what there is: nothing, or the state at the end of the wait", async () => {
    const id = await enqueueOne(db);
    await expect(client.result(id, { timeout: 0 })).rejects.toMatchObject({
      code: "FAIRMILL_RESULT_TIMEOUT",
      message: expect.stringContaining("is still ready"),
    });
    await expect(client.result("999999", { timeout: "60s" })).rejects.toMatchObject({ code: "FAIRMILL_JOB_NOT_FOUND" });
  });

  test("a caller who gives up leaves the others waiting, and nothing is asked when all have", async () => {
    const id = await enqueueOne(db);
    const [mine, yours] = [new AbortController(), new AbortController()];
    const gone = codeOf(client.result(id, { timeout: "60s", signal: mine.signal }));
    const staying = codeOf(client.result(id, { timeout: "60s", signal: yours.signal }));
    await waitUntil("they were looked at", () => looks() > 0);
    mine.abort(Object.assign(new Error("enough"), { code: "ENOUGH" }));
    expect(await gone).toBe("ENOUGH");
    const seen = looks();
    await waitUntil("the other one is still looked for", () => looks() > seen);
    yours.abort(Object.assign(new Error("me, too"), { code: "ENOUGH" }));
    expect(await staying).toBe("ENOUGH");
    expect(await codeOf(client.result(id, { signal: AbortSignal.abort(new Error("before")) }))).toBeUndefined();
  });

  test("a broken connection is told to those who waited, and the next call looks again", async () => {
    const id = await enqueueOne(db);
    const waiting = codeOf(client.result(id, { timeout: "60s" }));
    await waitUntil("it was looked at", () => looks() > 0);
    proxy.isClosed = true;
    proxy.resetAll();
    expect(await waiting).toBe("FAIRMILL_DATABASE_UNREACHABLE");
    proxy.isClosed = false;
    expect(await codeOf(client.result(id, { timeout: 0 }))).toBe("FAIRMILL_RESULT_TIMEOUT");
  });
});

test("E2: callers who wait for batches look together, too", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 50; n++) ids.push((await client.batches.create({}, (batch) => batch.add(job, { n }))).id);
  const before = looks();
  const waits = Array.from({ length: 1_000 }, (_, n) => codeOf(client.batches.wait(ids[n % 50]!, { timeout: "1s" })));
  expect(new Set(await Promise.all(waits))).toEqual(new Set(["FAIRMILL_BATCH_TIMEOUT"]));
  // A round is one statement, however many batches; each by itself would have been fifty.
  expect(looks() - before).toBeLessThan(60);
});
