// F9 S14: sealed jobs from enqueue to history, through real workers. The rows are read as text: what is not in them cannot leak.
import { createHash } from "node:crypto";
import { inspect } from "node:util";
import {
  type Codec,
  createClient,
  createCodec,
  createWorker,
  defineConfig,
  defineJob,
  handle,
  silentLogger,
} from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endOf, eventOf, gate, inState, keepingLogger, startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
import { codec, keys, mail, oldOnly, storedRows } from "./rig.js";

const db = useDatabase();
const { everything, storedOf } = storedRows(db);

describe("a sealed job", () => {
  test("S14: nothing of payload, progress and result is in any row, while it waits, runs and when it has ended", async () => {
    const job = defineJob<{ note: string }>({ kind: "secret", unique: {} });
    const reported = gate();
    const go = gate();
    await using client = createClient({ databaseUrl: db.url, codec });
    const { id } = await client.enqueue(job, { note: "plaintext-payload" }, { tenant: "acme" });
    expect(await everything()).toContain("fairmill:sealed");
    expect(await everything()).not.toContain("plaintext");
    expect((await client.job(id))!.payload).toEqual({ note: "plaintext-payload" });

    await using _ = await startWorker(
      db.url,
      [
        handle(job, async (ctx) => {
          expect(ctx.input).toEqual({ note: "plaintext-payload" });
          ctx.progress({ at: "plaintext-progress" });
          reported.open();
          await go.promise;
          return { answer: "plaintext-result" };
        }),
      ],
      { codec },
    );
    await reported.promise;
    await waitUntil("the progress is written", async () => (await storedOf(id)).progress !== null);
    expect(await everything()).not.toContain("plaintext");
    expect((await client.job(id))!.progress).toEqual({ at: "plaintext-progress" });
    go.open();
    expect(await client.result(id)).toEqual({ answer: "plaintext-result" });

    expect(await everything()).not.toContain("plaintext");
    expect(await storedOf(id)).toMatchObject({
      payload: { "fairmill:sealed": 1, kid: "new" },
      progress: { "fairmill:sealed": 1, kid: "new" },
      result: { "fairmill:sealed": 1, kid: "new" },
    });
    const opened = {
      payload: { note: "plaintext-payload" },
      progress: { at: "plaintext-progress" },
      result: { answer: "plaintext-result" },
    };
    expect(await client.job(id)).toMatchObject(opened);
    expect(await client.jobs.list({ kind: "secret" })).toMatchObject([opened]);
  });

  test("enqueued one by one, in lists, streams and transactions: all are sealed, all run", async () => {
    await using client = createClient({ databaseUrl: db.url, codec });
    const items = (names: string[]) => names.map((to) => ({ input: { to: `plaintext-${to}` } }));
    await client.enqueue(mail, { to: "plaintext-one" });
    await client.enqueueMany(mail, items(["two", "three"]));
    await client.enqueueMany(
      mail,
      (async function* () {
        yield* items(["four", "five"]);
      })(),
    );
    const tx = await db.pool.connect();
    try {
      await tx.query("begin");
      await client.in(tx).enqueue(mail, { to: "plaintext-six" });
      await client.in(tx).enqueueMany(mail, items(["seven"]));
      await tx.query("commit");
    } finally {
      tx.release();
    }
    expect(await everything()).not.toContain("plaintext");
    const seen: string[] = [];
    await using _ = await startWorker(db.url, [handle(mail, (ctx) => void seen.push(ctx.input.to))], { codec });
    await waitUntil("all have run", () => seen.length === 7);
    expect(seen.toSorted()).toEqual(
      ["one", "two", "three", "four", "five", "six", "seven"].map((to) => `plaintext-${to}`).toSorted(),
    );
  });

  test("that was dead and is retried by hand opens again: it did not change its place", async () => {
    let fails = true;
    await using client = createClient({ databaseUrl: db.url, codec });
    await using _ = await startWorker(
      db.url,
      [
        handle(mail, (ctx) => {
          if (fails) throw new Error("not yet");
          return ctx.input.to;
        }),
      ],
      { codec },
    );
    const { id } = await client.enqueue(mail, { to: "ann" });
    expect(await endOf(client, id)).toMatchObject({ state: "dead" });
    fails = false;
    await client.retry(id);
    expect(await client.result(id)).toBe("ann");
  });
});

describe("unique by the whole input", () => {
  const pin = defineJob<{ pin: string }>({ kind: "pin", unique: {} });
  const keyOf = async () =>
    (await db.query<{ unique_key: string }>("select unique_key from fairmill.job order by id")).map(
      (row) => row.unique_key,
    );

  test("is found again by another client, and its key is not the hash that any reader could compute", async () => {
    await using plain = createClient({ databaseUrl: db.url });
    await using one = createClient({ databaseUrl: db.url, codec });
    await using two = createClient({ databaseUrl: db.url, codec: createCodec({ keys, current: "new" }) });
    const first = await one.enqueue(pin, { pin: "1234" });
    expect(await two.enqueue(pin, { pin: "1234" })).toEqual({ id: first.id, created: false });
    expect((await two.enqueue(pin, { pin: "1235" })).created).toBe(true);
    // A reader that guesses the input finds it by its hash, where there is no codec, and only there.
    expect((await plain.enqueue(pin, { pin: "1234" })).created).toBe(true);
    const guess = createHash("sha256").update('{"pin":"1234"}').digest("hex");
    expect((await keyOf()).map((key) => key === guess)).toEqual([false, false, true]);
  });

  test("survives a change of the current key where uniqueWith names the old one", async () => {
    await using before = createClient({ databaseUrl: db.url, codec: oldOnly });
    await using after = createClient({
      databaseUrl: db.url,
      codec: createCodec({ keys, current: "new", uniqueWith: "old" }),
    });
    const { id } = await before.enqueue(pin, { pin: "1234" });
    expect(await after.enqueue(pin, { pin: "1234" })).toEqual({ id, created: false });
  });
});

test("jobs that were stored before there was a codec still run, and their results are sealed", async () => {
  await using before = createClient({ databaseUrl: db.url });
  await using client = createClient({ databaseUrl: db.url, codec });
  const { id } = await before.enqueue(mail, { to: "plain" });
  await using _ = await startWorker(db.url, [handle(mail, (ctx) => `to ${ctx.input.to}`)], { codec });
  expect(await client.result(id)).toBe("to plain");
  expect(await storedOf(id)).toMatchObject({ payload: { to: "plain" }, result: { "fairmill:sealed": 1 } });
  expect(await client.job(id)).toMatchObject({ payload: { to: "plain" }, result: "to plain" });
});

test("rotation: sealed with the old key, run under the new one, and the result is the new one's", async () => {
  await using before = createClient({ databaseUrl: db.url, codec: oldOnly });
  await using after = createClient({ databaseUrl: db.url, codec });
  const { id } = await before.enqueue(mail, { to: "ann" });
  await using _ = await startWorker(db.url, [handle(mail, (ctx) => ctx.input.to)], { codec });
  expect(await after.result(id)).toBe("ann");
  expect(await storedOf(id)).toMatchObject({ payload: { kid: "old" }, result: { kid: "new" } });
});

test("a codec that fails on a result or on progress costs neither the job nor the secret", async () => {
  const logger = keepingLogger();
  const halfway: Codec = {
    encode: (json, { what }) => {
      if (what !== "payload") throw new Error(`no ink for a ${what}`);
      return codec.encode(json, { kind: "mail", tenant: "default", what });
    },
    decode: (stored, context) => codec.decode(stored, context),
  };
  await using client = createClient({ databaseUrl: db.url, codec: halfway });
  await using worker = await startWorker(
    db.url,
    [
      handle(mail, async (ctx) => {
        const trouble = eventOf(worker, "trouble");
        ctx.progress("plaintext-progress");
        expect(await trouble).toMatchObject({ doing: "keeping progress" });
        return "plaintext-result";
      }),
    ],
    { codec: halfway, logger },
  );
  const { id } = await client.enqueue(mail, { to: "plaintext-payload" });
  expect(await endOf(client, id)).toMatchObject({ state: "done", result: null, progress: null });
  expect(await everything()).not.toContain("plaintext");
  expect(logger.lines).toContainEqual({
    level: "warn",
    message: "The job's result was not kept",
    facts: expect.objectContaining({ job: id, problem: "no ink for a result" }),
  });
});

test("keys are in no line of the log, no error and no view of client, worker and config", async () => {
  const key = Buffer.from("k3y-material-that-nobody-may-see");
  const own = createCodec({ keys: { k: key }, current: "k" });
  const logger = keepingLogger();
  const handlers = [handle(mail, (ctx) => ctx.input.to)];
  await using client = createClient({ databaseUrl: db.url, codec: own });
  await using other = createClient({ databaseUrl: db.url, codec });
  await using worker = await startWorker(db.url, handlers, { codec: own, logger });
  const unknown = await other.enqueue(mail, { to: "bob" });
  await inState(other, unknown.id, "scheduled");
  await client.result((await client.enqueue(mail, { to: "ann" })).id);
  const config = defineConfig({ handlers, codec: own });
  const idle = createWorker({ databaseUrl: db.url, handlers, codec: own, logger: silentLogger });
  const views = [client, worker, idle, config, own].map((view) => inspect(view, { depth: 12, showHidden: true }));
  const shown = [...views, JSON.stringify(config), JSON.stringify(logger.lines), await everything()].join("\n");
  for (const text of [key.toString(), key.toString("base64"), key.toString("hex"), "6b 33 79 2d", "107, 51, 121"])
    expect(shown).not.toContain(text);
  await idle.stop();
});

test("a codec that is none is refused by client, worker and config, and not shown", () => {
  const wrong = { keys, current: "new" } as unknown as Codec;
  const handlers = [handle(mail, () => {})];
  for (const give of [
    () => createClient({ databaseUrl: db.url, codec: wrong }),
    () => createWorker({ databaseUrl: db.url, handlers, codec: wrong }),
    () => defineConfig({ codec: wrong }),
  ])
    expect(give).toThrow(
      /^codec: pass what createCodec\(\{ keys, current \}\) returns, or encode and decode of yours\.$/,
    );
});
