// F9 S14: a worker that cannot open a payload, and a reader that cannot.
import { type Codec, createClient, createCodec, defineJob, handle } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endOf, eventOf, inState, keepingLogger, startWorker } from "../support/jobs.js";
import { codec, keys, mail, oldOnly, storedRows } from "./rig.js";

const db = useDatabase();
const { change } = storedRows(db);

describe("a worker that cannot open a payload", () => {
  async function putsBack(without: Codec | undefined, code: string): Promise<void> {
    const logger = keepingLogger();
    let calls = 0;
    const run = handle(mail, (ctx) => {
      calls++;
      return ctx.input.to;
    });
    await using client = createClient({ databaseUrl: db.url, codec });
    {
      await using worker = await startWorker(db.url, [run], { logger, ...(without && { codec: without }) });
      const settled = eventOf(worker, "settled");
      const { id } = await client.enqueue(mail, { to: "ann" });
      await settled;
      const job = await inState(client, id, "scheduled");
      expect(job).toMatchObject({ attempt: 0, failures: [], payload: { to: "ann" } });
      expect(job.runAt!.getTime() - job.createdAt.getTime()).toBeGreaterThan(4_000);
      expect(logger.lines).toContainEqual({
        level: "error",
        message: "This worker cannot open the job's payload: put back",
        facts: expect.objectContaining({ job: id, kind: "mail", code, error: expect.stringContaining('"new"') }),
      });
    }
    expect(calls).toBe(0);
    const { id } = (await client.jobs.list())[0]!;
    await using _worker = await startWorker(db.url, [run], { codec });
    await client.retry(id);
    expect(await client.result(id)).toBe("ann");
    expect(await client.job(id)).toMatchObject({ attempt: 1, failures: [] });
    expect(calls).toBe(1);
  }

  test("because it has no codec puts the job back, unspent, and says so; one that can then runs it", () =>
    putsBack(undefined, "FAIRMILL_SEALED"));

  test("because it lacks the key puts the job back, unspent, and says so; one that can then runs it", () =>
    putsBack(oldOnly, "FAIRMILL_KEY_UNKNOWN"));

  test.each<[string, string, string]>([
    [
      "a changed letter",
      `jsonb_set(payload, '{data}', to_jsonb(translate(payload ->> 'data', 'ABCDEFGHabcdefgh0123', 'BCDEFGHAbcdefgha1230')))`,
      "FAIRMILL_SEAL_BROKEN",
    ],
    ["a member more", `payload || '{"more": 1}'`, "FAIRMILL_SEAL_BROKEN"],
    [
      "the payload of another tenant",
      "(select payload from fairmill.job where tenant = 'other')",
      "FAIRMILL_SEAL_BROKEN",
    ],
    ["the payload of another kind", "(select payload from fairmill.job where kind = 'parcel')", "FAIRMILL_SEAL_BROKEN"],
    ["a payload in plain, where only sealed ones are accepted", `'{"to": "eve"}'`, "FAIRMILL_NOT_SEALED"],
  ])(
    "because of %s ends the job at once, with a code of its own, and calls no handler",
    async (_, expression, code) => {
      const strict = createCodec({ keys, current: "new", acceptPlain: false });
      let calls = 0;
      await using client = createClient({ databaseUrl: db.url, codec: strict });
      const { id } = await client.enqueue(mail, { to: "ann" });
      await client.enqueue(mail, { to: "bob" }, { tenant: "other", delay: "1h" });
      await client.enqueue(defineJob<{ to: string }>({ kind: "parcel" }), { to: "cyd" }, { delay: "1h" });
      await change(id, expression);
      await using _worker = await startWorker(db.url, [handle(mail, () => void calls++)], { codec: strict });
      const job = await endOf(client, id);
      expect(job).toMatchObject({ state: "dead", attempt: 1, error: { code } });
      expect(job.failures).toMatchObject([{ outcome: "invalid", error: { code } }]);
      expect(calls).toBe(0);
    },
  );

  test("a codec that throws anything else fails the attempt, and the job is tried again as its definition says", async () => {
    const errors = [new Error("the vault is closed")];
    const moody: Codec = {
      encode: (json) => `{"fairmill:sealed":1,"mine":${json}}`,
      decode: (stored) => {
        const error = errors.pop();
        if (error) throw error;
        return (stored as { mine: unknown }).mine;
      },
    };
    await using plain = createClient({ databaseUrl: db.url });
    await using client = createClient({ databaseUrl: db.url, codec: moody });
    const { id } = await client.enqueue(mail, { to: "ann" });
    await using _ = await startWorker(db.url, [handle(mail, (ctx) => ctx.input.to)], { codec: moody });
    await endOf(plain, id);
    expect(await client.result(id)).toBe("ann");
    expect((await plain.job(id))!.failures).toMatchObject([{ error: { message: "the vault is closed" } }]);
  });
});

describe("a reader", () => {
  test("without the codec or the key sees what is sealed, and lists do not fail on it", async () => {
    await using client = createClient({ databaseUrl: db.url, codec });
    await using blind = createClient({ databaseUrl: db.url });
    await using late = createClient({ databaseUrl: db.url, codec: oldOnly });
    await using _ = await startWorker(db.url, [handle(mail, () => "fine")], { codec });
    const { id } = await client.enqueue(mail, { to: "ann" });
    await client.result(id);
    const asStored = { payload: { "fairmill:sealed": 1, kid: "new" }, result: { "fairmill:sealed": 1, kid: "new" } };
    for (const reader of [blind, late]) {
      expect(await reader.job(id)).toMatchObject(asStored);
      expect(await reader.jobs.list()).toMatchObject([asStored]);
    }
    expect(await blind.result(id)).toMatchObject({ "fairmill:sealed": 1 });
    await expect(late.result(id)).rejects.toMatchObject({ code: "FAIRMILL_KEY_UNKNOWN", keyId: "new" });
  });

  test("is not given a result that was put there by another program", async () => {
    const strict = createCodec({ keys, current: "new", acceptPlain: false });
    await using client = createClient({ databaseUrl: db.url, codec: strict });
    await using _ = await startWorker(
      db.url,
      [handle(mail, (ctx) => (ctx.input.to === "nobody" ? undefined : "fine"))],
      {
        codec: strict,
      },
    );
    const [a, b] = await Promise.all([client.enqueue(mail, { to: "ann" }), client.enqueue(mail, { to: "nobody" })]);
    expect(await client.result(a.id)).toBe("fine");
    // No result is no result, sealed or not.
    expect(await client.result(b.id)).toBeNull();
    await db.query("update fairmill.job_history set result = payload where id = $1", [a.id]);
    await expect(client.result(a.id)).rejects.toMatchObject({ code: "FAIRMILL_SEAL_BROKEN" });
    await db.query(`update fairmill.job_history set result = '"forged"' where id = $1`, [a.id]);
    await expect(client.result(a.id)).rejects.toMatchObject({ code: "FAIRMILL_NOT_SEALED" });
  });
});
