// Dead letters through the client: list, preview, redrive in batches that can be stopped and gone on with, edited repetition.
import { setImmediate } from "node:timers/promises";
import { type Client, createClient, defineJob, handle, NonRetryableError } from "fairmill";
import type { Redriven } from "fairmill/observe";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../src/base/clock.js";
import { useDatabase } from "../support/database.js";
import { endOf, startWorker } from "../support/jobs.js";

const db = useDatabase();
let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

const mail = defineJob({ kind: "mail.send", input: z.object({ to: z.string() }), key: ({ to }) => to });

/** Dead jobs as they lie in the history; returns their ids. */
const bury = async (count: number, kind = "work", error: object | null = { name: "Error", message: "no" }) =>
  (
    await db.query<{ id: string }>(
      `insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, ended_at, payload, error)
       select nextval('fairmill.job_id_seq'), 1, 5, 1, 0, 4, 'dead', 'slow', 'acme', $2, now(), now(), '{"to": "ann", "n": 1.50}', $3::jsonb
       from generate_series(1, $1) returning id`,
      [count, kind, error && JSON.stringify(error)],
    )
  ).map(({ id }) => id);

const liveCount = async () => (await db.query<{ n: number }>("select count(*)::integer as n from fairmill.job"))[0]!.n;

describe("list and preview", () => {
  test("F6: dead jobs are listed by code and text of their error and by the time of their end", async () => {
    const [a] = await bury(1, "work", { code: "E_1", message: "the bank said no" });
    const [b] = await bury(1, "work", { code: "E_2", message: "the bank is closed" });
    await bury(1, "work", null);
    await client.enqueue(defineJob({ kind: "work" }), {});
    const ids = async (filter: Parameters<Client["jobs"]["list"]>[0]) =>
      (await client.jobs.list(filter)).map(({ id }) => id);
    expect(await ids({ state: "dead", errorCode: "E_1" })).toEqual([a]);
    expect(await ids({ errorCode: "E_1" })).toEqual([a]);
    expect(await ids({ errorText: "the bank" })).toEqual([b, a]);
    expect(await ids({ endedSince: new Date(Date.now() - 60_000) })).toHaveLength(3);
    expect(await ids({ endedUntil: new Date(Date.now() - 60_000) })).toEqual([]);
    expect(await ids({})).toHaveLength(4);
    await expect(client.jobs.list({ errorText: "" })).rejects.toThrow(/errorText/);
  });

  test("F6: a preview counts by kind and error, shows the oldest, and changes nothing", async () => {
    const ids = await bury(7, "mail.send", { code: "E_1", message: "no" });
    await bury(2, "print");
    const preview = await client.dead.preview({ tenant: "acme" });
    expect(preview).toMatchObject({
      count: 9,
      more: false,
      groups: [
        { kind: "mail.send", errorCode: "E_1", count: 7 },
        { kind: "print", errorCode: null, count: 2 },
      ],
    });
    expect(preview.samples.map(({ id }) => id)).toEqual(ids.slice(0, 5));
    expect(preview.samples[0]).toMatchObject({ kind: "mail.send", error: { code: "E_1" } });
    expect(await client.dead.preview({ tenant: "nobody" })).toEqual({
      count: 0,
      more: false,
      groups: [],
      samples: [],
    });
    expect(await client.dead.preview({}, { after: ids[5]! })).toMatchObject({ count: 3 });
    expect(await liveCount()).toBe(0);
  });

  test("a preview of very many stops at its bound and says so", async () => {
    await bury(10_001);
    const { count, more, groups } = await client.dead.preview({});
    expect({ count, more }).toEqual({ count: 10_000, more: true });
    expect(groups).toEqual([{ kind: "work", errorCode: null, count: 10_000 }]);
  });

  test("a preview goes on behind jobs that do not fit", async () => {
    await bury(10_500, "other");
    const [first] = await bury(3, "mail.send");
    expect(await client.dead.preview({ kind: "mail.send" })).toMatchObject({
      count: 3,
      more: false,
      samples: [{ id: first }, {}, {}],
    });
  });
});

describe("redrive", () => {
  test("F6: puts all that fit back, batch by batch, with a word after each", async () => {
    const ids = await bury(25);
    await bury(5, "other");
    const told: Redriven[] = [];
    const done = await client.dead.redrive({ kind: "work" }, { batch: 10, onProgress: (one) => void told.push(one) });
    expect(done).toMatchObject({ redriven: 25, seen: 30, complete: true });
    expect(told.map(({ redriven }) => redriven)).toEqual([10, 20, 25]);
    expect(told.map(({ complete }) => complete)).toEqual([false, false, true]);
    expect(told[0]!.after).toBe(ids[9]);
    expect(await liveCount()).toBe(25);
    expect(await client.dead.redrive({ kind: "work" })).toMatchObject({ redriven: 0, complete: true });
  });

  test("F6: a worker runs what was put back", async () => {
    const flaky = defineJob({ kind: "flaky" });
    let isRepaired = false;
    const worker = await startWorker(db.url, [
      handle(flaky, () => {
        if (!isRepaired) throw new NonRetryableError("Not yet.");
        return "done at last";
      }),
    ]);
    const ids = (await client.enqueueMany(flaky, [{ input: {} }, { input: {} }, { input: {} }])).map(({ id }) => id);
    for (const id of ids) expect(await endOf(client, id)).toMatchObject({ state: "dead" });
    isRepaired = true;
    expect(await client.dead.redrive({ errorCode: "FAIRMILL_NON_RETRYABLE" })).toMatchObject({ redriven: 3 });
    for (const id of ids) expect(await client.result(id)).toBe("done at last");
    for (const id of ids) expect((await client.job(id))!.failures).toHaveLength(1);
    await worker.stop();
  });

  test("F6: a signal stops it between two batches, and `after` goes on where it stopped", async () => {
    await bury(30);
    const stop = new AbortController();
    const first = await client.dead.redrive(
      {},
      { batch: 10, signal: stop.signal, onProgress: ({ redriven }) => redriven >= 20 && stop.abort() },
    );
    expect(first).toMatchObject({ redriven: 20, seen: 20, complete: false });
    expect(await liveCount()).toBe(20);
    const before = await client.dead.redrive({}, { signal: AbortSignal.abort() });
    expect(before).toEqual({ redriven: 0, seen: 0, after: "0", complete: false });
    expect(await client.dead.redrive({}, { after: first.after })).toMatchObject({
      redriven: 10,
      seen: 10,
      complete: true,
    });
  });

  test("F6: a rate spreads the batches over time, and a signal ends the wait", async () => {
    await bury(30);
    const waits: number[] = [];
    const clock = {
      ...systemClock,
      after: (ms: number, then: () => void) => {
        waits.push(ms);
        void setImmediate().then(then);
        return () => {};
      },
    };
    const paced = createClient({ databaseUrl: db.url, clock });
    const told: number[] = [];
    await paced.dead.redrive(
      {},
      { rate: { limit: 10, per: "1m" }, onProgress: ({ redriven }) => void told.push(redriven) },
    );
    await paced.close();
    expect(told).toEqual([10, 20, 30, 30]);
    expect(waits).toEqual([60_000, 60_000, 60_000]);

    await bury(2);
    const stop = new AbortController();
    const slow = client.dead.redrive(
      {},
      { rate: { limit: 1, per: "1d" }, signal: stop.signal, onProgress: () => queueMicrotask(() => stop.abort()) },
    );
    expect(await slow).toMatchObject({ redriven: 1, complete: false });
  });

  test("what cannot be meant is refused before anything happens", async () => {
    await bury(1);
    const wrong: (() => Promise<unknown>)[] = [
      () => client.dead.redrive({ knd: "work" } as object),
      () => client.dead.redrive({ state: "done" as "dead" }),
      () => client.dead.redrive({ errorText: "" }),
      () => client.dead.redrive({ kind: "" }),
      () => client.dead.redrive({ ids: ["x"] }),
      () => client.dead.redrive({ ids: Array.from({ length: 10_001 }, () => "1") }),
      () => client.dead.redrive({ endedSince: "never" }),
      // Date.parse makes May 2001 of it: every dead job would fit.
      () => client.dead.redrive({ endedSince: "foo 5" }),
      () => client.dead.preview({ endedUntil: "foo 5000" }),
      () => client.dead.redrive({ tenant: null } as never),
      () => client.dead.redrive(undefined as unknown as object),
      () => client.dead.redrive({}, { batch: 0 }),
      () => client.dead.redrive({}, { batch: 5_001 }),
      () => client.dead.redrive({}, { after: "x" }),
      () => client.dead.redrive({}, { rate: { limit: 0, per: "1s" } }),
      () => client.dead.redrive({}, { rate: { limit: 1, per: "1s", at: "enqueue" } as { limit: 1; per: "1s" } }),
      () => client.dead.redrive({}, { onprogress: () => {} } as object),
      () => client.dead.preview({ errorcode: "x" } as object),
    ];
    for (const give of wrong) await expect(give()).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
    expect(await liveCount()).toBe(0);
  });
});

describe("rerun", () => {
  test("F6: a new job with other input, and the line can be read from both ends", async () => {
    const [id] = (await bury(1, "mail.send")) as [string];
    const first = await client.jobs.rerun(id, { input: { to: "bob" } });
    const second = await client.jobs.rerun(id, { input: { to: "eve" }, priority: 9, key: "k" });
    expect(first.created).toBe(true);
    expect(await client.job(id)).toMatchObject({
      state: "dead",
      payload: { to: "ann" },
      rerunOf: null,
      reruns: [first.id, second.id],
    });
    expect(await client.job(first.id)).toMatchObject({
      state: "ready",
      kind: "mail.send",
      payload: { to: "bob" },
      tenant: "acme",
      queue: "slow",
      priority: 5,
      maxAttempts: 4,
      key: null,
      rerunOf: id,
      reruns: [],
      failures: [],
    });
    expect(await client.job(second.id)).toMatchObject({ priority: 9, key: "k", rerunOf: id });
    await client.cancel(first.id);
    expect((await client.job(id))!.reruns).toEqual([first.id, second.id]);
    expect((await client.jobs.list({ state: "cancelled" }))[0]).toMatchObject({ id: first.id, rerunOf: id });
  });

  test("F6: without input it is the old one's, number by number", async () => {
    const [id] = (await bury(1)) as [string];
    const made = await client.jobs.rerun(id);
    const [row] = await db.query("select payload::text from fairmill.job where id = $1", [made.id]);
    expect(row!["payload"]).toBe('{"n": 1.50, "to": "ann"}');
  });

  test("F6: a definition validates the input and brings its key, attempts and time to live", async () => {
    const [id] = (await bury(1, "mail.send")) as [string];
    const wrong = { to: 7 } as unknown as { to: string };
    await expect(client.jobs.rerun(id, { definition: mail, input: wrong })).rejects.toMatchObject({
      code: "FAIRMILL_INPUT_INVALID",
    });
    await expect(client.jobs.rerun(id, { definition: defineJob({ kind: "other" }) })).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
      setting: "definition",
    });
    expect(await liveCount()).toBe(0);
    const made = await client.jobs.rerun(id, { definition: mail, input: { to: "bob" }, delay: "1h" });
    expect(await client.job(made.id)).toMatchObject({ state: "scheduled", key: "bob", maxAttempts: 3 });
  });

  test("F6: the definition's limits hold for it", async () => {
    const one = defineJob({ kind: "one", limits: { active: 1, whenActive: "refuse" } });
    const [id] = (await bury(1, "one")) as [string];
    await client.jobs.rerun(id, { definition: one });
    await expect(client.jobs.rerun(id, { definition: one })).rejects.toMatchObject({ code: "FAIRMILL_ACTIVE_LIMIT" });
  });

  test("a repeated call with an idempotency key makes no second job", async () => {
    const [id] = (await bury(1)) as [string];
    const first = await client.jobs.rerun(id, { idempotencyKey: "fix" });
    expect(await client.jobs.rerun(id, { idempotencyKey: "fix" })).toEqual({ id: first.id, created: false });
  });

  test("F15: attempts, time limit, time to live and tags may be given, and what is left out is the old one's", async () => {
    const old = await client.enqueue(mail, { to: "ann" }, { attempts: 4, timeout: "7s", tags: ["old"] });
    await client.cancel(old.id);
    const same = await client.jobs.rerun(old.id);
    expect(await client.job(same.id)).toMatchObject({
      maxAttempts: 4,
      timeoutMs: 7_000,
      tags: ["old"],
      expireAt: null,
    });
    const how = { attempts: 9, timeout: "1m", expire: "1h", tags: ["new", "eu"] } as const;
    const other = await client.jobs.rerun(old.id, how);
    expect(await client.job(other.id)).toMatchObject({ maxAttempts: 9, timeoutMs: 60_000, tags: ["new", "eu"] });
    expect((await client.job(other.id))!.expireAt).toBeInstanceOf(Date);
    await expect(client.jobs.rerun(old.id, { attempt: 2 } as object)).rejects.toThrow('Did you mean "attempts"?');
    await expect(client.jobs.rerun(old.id, { batch: "1" } as object)).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
    });
  });

  test("a job that is live or unknown is refused by a typed error", async () => {
    const { id } = await client.enqueue(mail, { to: "ann" });
    await expect(client.jobs.rerun(id)).rejects.toMatchObject({
      code: "FAIRMILL_JOB_NOT_ENDED",
      name: "JobNotEndedError",
    });
    await expect(client.jobs.rerun("999999999")).rejects.toMatchObject({ code: "FAIRMILL_JOB_NOT_FOUND" });
    await expect(client.jobs.rerun(id, { tenant: "x" } as object)).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
    expect(await liveCount()).toBe(1);
  });
});
