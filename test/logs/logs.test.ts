// Logs of jobs are kept with them: bounded, paged, redacted, sealed, removed with the history; jobs that log nothing leave nothing.
import { createClient, createCodec, defineJob, handle } from "fairmill";
import { describe, expect, test } from "vitest";
import { cli, jsonOf, scratchFolder } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { keepingLogger, startWorker } from "../support/jobs.js";

const db = useDatabase();
const talk = defineJob<{ say?: number; email?: string }>({ kind: "talk", retry: { attempts: 1 } });
const secret = defineJob<{ email: string; card: { number: string } }>({
  kind: "secret",
  redact: ["email", "card.number"],
  retry: { attempts: 1 },
});

const rows = () => db.query("select job_id::text as job, level, attempt, line, cut from fairmill.job_log order by id");

describe("ctx.log", () => {
  test("is kept with the job and goes to the logger; a job that logs nothing leaves nothing", async () => {
    const logger = keepingLogger();
    await using client = createClient({ databaseUrl: db.url });
    const worker = await startWorker(
      db.url,
      [
        handle(talk, ({ input, log }) => {
          if (input.say === 0) return;
          log.debug({ n: 0 }, "not kept");
          log.info({ n: 1 }, "begun");
          log.child({ part: "x" }).warn({ err: new Error("broken"), nul: "a\u0000b" }, "half\u0000way");
          log.error({ n: 3n, self: undefined }, "odd");
        }),
      ],
      { logger },
    );
    const { id } = await client.enqueue(talk, {});
    const silent = await client.enqueue(talk, { say: 0 });
    await client.result(id);
    await client.result(silent.id);
    await worker.stop();
    const lines = await client.jobs.logs(id);
    expect(lines.map(({ level, attempt, message }) => [level, attempt, message])).toEqual([
      ["info", 1, "begun"],
      ["warn", 1, "half\ufffdway"],
      ["error", 1, "odd"],
    ]);
    expect(lines[1]!.fields).toMatchObject({ part: "x", nul: "a\ufffdb", err: { name: "Error", message: "broken" } });
    expect(await client.jobs.logs(silent.id)).toEqual([]);
    expect(logger.lines.filter(({ message }) => message === "begun")).toMatchObject([{ facts: { n: 1 } }]);
    expect((await client.jobs.logs(id, { level: "warn" })).length).toBe(2);
    expect((await client.jobs.logs(id, { after: lines[0]!.id, limit: 1 })).map(({ message }) => message)).toEqual([
      "half\ufffdway",
    ]);
    await expect(client.jobs.logs(id, { levels: "warn" } as never)).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
  });

  test("of a job at most so many lines and bytes are kept, over all its attempts, and the last line says so", async () => {
    const again = defineJob({ kind: "again", retry: { attempts: 2, backoff: () => 1 } });
    await using client = createClient({ databaseUrl: db.url });
    const worker = await startWorker(db.url, [
      handle(again, ({ log, attempt }) => {
        for (let n = 0; n < 700; n++) log.info({ n }, "line");
        if (attempt === 1) throw new Error("once more");
      }),
      handle(talk, ({ log }) => {
        for (let n = 0; n < 100; n++) log.info({ text: "x".repeat(10_000) }, "large");
        log.info({ text: "x".repeat(100_000) }, "huge");
      }),
    ]);
    const many = await client.enqueue(again, {});
    const large = await client.enqueue(talk, {});
    await client.result(many.id);
    await client.result(large.id);
    await worker.stop();
    const lines = await client.jobs.logs(many.id, { limit: 1_000 });
    expect(lines.length).toBe(1_000);
    expect(lines.at(-1)!.message).toBe("Further lines are not kept: a job keeps 1000 lines and 262144 bytes");
    expect(lines.filter(({ attempt }) => attempt === 1).length).toBe(700);
    const [size] = await db.query<{ bytes: number; lines: number }>(
      "select sum(bytes)::integer as bytes, count(*)::integer as lines from fairmill.job_log where job_id = $1",
      [large.id],
    );
    expect(size!.bytes).toBeLessThanOrEqual(262_144);
    expect(size!.lines).toBe(27);
  });

  test("keepLogs decides from which level on, or that nothing is kept", async () => {
    await using client = createClient({ databaseUrl: db.url });
    for (const [keepLogs, kept] of [
      ["error", 1],
      ["debug", 2],
      [false, 0],
    ] as const) {
      const worker = await startWorker(
        db.url,
        [
          handle(talk, ({ log }) => {
            log.debug({}, "d");
            log.error({}, "e");
          }),
        ],
        { keepLogs },
      );
      const { id } = await client.enqueue(talk, {});
      await client.result(id);
      await worker.stop();
      expect((await client.jobs.logs(id)).length).toBe(kept);
    }
    expect(() => startWorker(db.url, [handle(talk, () => {})], { keepLogs: "loud" as never })).toThrow(/keepLogs/);
  });

  test("with a codec nothing of it stands in clear in the table", async () => {
    const codec = createCodec({ keys: { k1: Buffer.alloc(32, 1) }, current: "k1" });
    await using client = createClient({ databaseUrl: db.url, codec });
    await using blind = createClient({ databaseUrl: db.url });
    const worker = await startWorker(db.url, [handle(talk, ({ log }) => log.info({ who: "ann" }, "hello"))], { codec });
    const { id } = await client.enqueue(talk, {});
    await client.result(id);
    await worker.stop();
    expect(JSON.stringify(await rows())).not.toMatch(/hello|ann/);
    expect(await client.jobs.logs(id)).toMatchObject([{ message: "hello", fields: { who: "ann" } }]);
    expect(await blind.jobs.logs(id)).toMatchObject([{ message: "(sealed)", fields: {} }]);
  });
});

describe("F9: what must not be shown", () => {
  const input = { email: "ann@example.com", card: { number: "4111111111111111" } };
  const clear = /ann@example\.com|4111111111111111/;

  test("is neither logged nor kept, and no error of the log says it", async () => {
    const logger = keepingLogger();
    await using client = createClient({ databaseUrl: db.url });
    const worker = await startWorker(
      db.url,
      [
        handle(secret, ({ log, input: { email, card } }) => {
          log.info({ email, deep: { card }, note: `for ${email}` }, `mail to ${email}`);
          log.child({ email }).warn({}, "child");
          throw new Error(`No mailbox ${email}`);
        }),
      ],
      { logger, redact: ["note"] },
    );
    const { id } = await client.enqueue(secret, input);
    await client.result(id).catch(() => {});
    await worker.stop();
    expect(JSON.stringify(await rows())).not.toMatch(clear);
    expect(JSON.stringify(logger.lines)).not.toMatch(clear);
    expect((await client.jobs.logs(id))[0]).toMatchObject({
      message: "mail to [redacted]",
      fields: { note: "[redacted]", email: "[redacted]" },
    });
    // The application reads its own data as it is.
    expect((await client.job(id))!.payload).toEqual(input);
  });

  test("is not shown by the command, neither payload, error nor log, as text or as JSON", async () => {
    const worker = await startWorker(db.url, [
      handle(defineJob<typeof input>({ kind: "secret", retry: { attempts: 1 } }), ({ log, input: { email } }) => {
        log.info({ email }, `mail to ${email}`);
        throw new Error(`No mailbox ${email}`);
      }),
    ]);
    await using client = createClient({ databaseUrl: db.url });
    const { id } = await client.enqueue(defineJob({ kind: "secret", retry: { attempts: 1 } }), input);
    await client.result(id).catch(() => {});
    await worker.stop();
    const cwd = await scratchFolder({ "fairmill.config.json": JSON.stringify({ redact: ["email", "card.number"] }) });
    const env = { DATABASE_URL: db.url };
    for (const args of [["job", id], ["job", id, "--logs"], ["jobs"], ["job", id, "--full"]])
      for (const more of [[], ["--json"]]) {
        const { code, stdout } = await cli([...args, ...more], { env, cwd });
        expect(code, args.join(" ")).toBe(0);
        expect(stdout).not.toMatch(clear);
        expect(stdout).toContain("[redacted]");
      }
    const { logs } = jsonOf<{ logs: object[] }>(await cli(["job", id, "--logs", "--json"], { env, cwd }));
    expect(logs).toMatchObject([{ level: "info", message: "mail to [redacted]" }]);
    expect((await cli(["job", id, "--limit", "3"], { env, cwd })).code).toBe(2);
  });
});

test("lines go with the history of their job, and not before", async () => {
  const [row] = await db.query<{ id: string }>("select id from fairmill.enqueue_v1('k', '{}')");
  const line = (job: string, at: string) =>
    `{"job": ${job}, "at": "${at}", "level": "info", "attempt": 1, "line": {"message": "m", "fields": {}}}`;
  const old = "2020-01-01T00:00:00Z";
  await db.query("select fairmill.append_logs_v1($1)", [
    `[${line(row!.id, old)}, ${line("999999", old)}, ${line("999998", new Date().toISOString())}]`,
  ]);
  await db.query("select fairmill.retention()");
  expect((await rows()).map(({ job }) => job)).toEqual([row!.id, "999998"]);
});
