// Lists of jobs that are alike travel as one text. Whatever is said of them, they are the jobs that they would be one by one.
import { createClient, defineJob, type EnqueueItem } from "fairmill";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { STATEMENT_ROWS_MAX } from "../../../src/core/enqueue/enqueue-statements.js";
import { newJobs } from "../../../src/core/enqueue/job-list.js";
import { newJob } from "../../../src/core/enqueue/make-job.js";
import { useDatabase } from "../../support/database.js";
import { useSessions } from "../../support/sql/sessions.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const open = useSessions(db);
let client: ReturnType<typeof createClient>;
beforeAll(() => {
  client = createClient({ db: db.pool });
});

const plain = defineJob<unknown>({ kind: "plain", queue: "mail", priority: 3, expire: "1h", retry: { attempts: 7 } });
const items = (...inputs: unknown[]): EnqueueItem<unknown>[] => inputs.map((input) => ({ input }));
const isOneText = async (list: readonly EnqueueItem<unknown>[], definition = plain) =>
  "payloads" in (await newJobs(definition, list, undefined));
const rows = () =>
  db.query("select to_jsonb(j) - '{id,created_at,expire_at}'::text[] as job from fairmill.job j order by j.id");

describe("one text", () => {
  test.each<[string, EnqueueItem<unknown>[]]>([
    ["plain inputs", items({ n: 1 }, [1, "\u20ac"], "text", 5, null, true)],
    [
      "one tenant",
      [
        { input: 1, tenant: "acme" },
        { input: 2, tenant: "acme" },
      ],
    ],
    ["several tenants", [{ input: 1, tenant: "acme" }, { input: 2 }, { input: 3, tenant: 'odd "{}, \\ name' }]],
  ])("of %s is stored as the same jobs", async (_, list) => {
    expect(await isOneText(list)).toBe(true);
    const ids = await client.enqueueMany(plain, list);
    const order = await db.query<{ id: string }>("select id from fairmill.job order by id");
    expect(ids).toEqual(order.map(({ id }) => ({ id, created: true })));
    const together = await rows();
    await db.query("delete from fairmill.job");
    for (const { input, ...options } of list) await client.enqueue(plain, input, options);
    expect(together).toEqual(await rows());
  });

  test("inside a transaction of the caller, too", async () => {
    await client.in(db.pool).enqueueMany(plain, items(1, 2));
    expect((await rows()).map(({ job }) => (job as { payload: unknown }).payload)).toEqual([1, 2]);
  });

  test("wakes workers that sleep beside its queue", async () => {
    await db.query(
      "select fairmill.register_v1('sleeper', '{mail}', '1 hour'), fairmill.listening_v1('sleeper', true)",
    );
    const session = await open();
    await session.query("listen fairmill");
    await client.enqueueMany(plain, items(1, 2));
    await waitUntil("the notification", async () => {
      await session.query("select");
      return session.notified.includes("fairmill mail");
    });
  });

  test("of a kind with a schema: each input is validated, once", async () => {
    const seen: number[] = [];
    const strict = defineJob({ kind: "strict", input: z.object({ n: z.number().refine((n) => seen.push(n)) }) });
    await client.enqueueMany(strict, [{ input: { n: 1 } }, { input: { n: 2 } }]);
    expect(seen).toEqual([1, 2]);
    await expect(
      client.enqueueMany(strict, [{ input: { n: 1 } }, { input: { n: "2" } as never }]),
    ).rejects.toMatchObject({
      code: "FAIRMILL_INPUT_INVALID",
      issues: [{ path: "n" }],
    });
    expect(await rows()).toHaveLength(2);
  });
});

describe("each by itself", () => {
  const circle: unknown[] = [];
  circle.push(circle);

  test.each<[string, unknown, string]>([
    ["no number", { n: Number.NaN }, "FAIRMILL_INPUT_INVALID"],
    ["NUL", { text: "a\0" }, "FAIRMILL_INPUT_INVALID"],
    ["half a surrogate pair", { text: "\udc00" }, "FAIRMILL_INPUT_INVALID"],
    ["__proto__", JSON.parse('{"__proto__": 1}'), "FAIRMILL_INPUT_INVALID"],
    ["a circle", circle, "FAIRMILL_PAYLOAD_TOO_LARGE"],
    ["more than is kept", { text: "a".repeat(2 ** 20) }, "FAIRMILL_PAYLOAD_TOO_LARGE"],
  ])("one with %s is refused as it is alone, and nothing is stored", async (_, input, code) => {
    await expect(client.enqueueMany(plain, items(1, input, 2))).rejects.toMatchObject({ code });
    expect(await rows()).toEqual([]);
  });

  test.each<[string, EnqueueItem<unknown>]>([
    ["no input", {} as never],
    ["a date in it", { input: { at: new Date(0) } }],
    ["a letter that JSON escapes", { input: "\u0001" }],
    ["a priority", { input: 1, priority: 7 }],
    ["a key", { input: 1, key: "k" }],
    ["a delay", { input: 1, delay: "1h" }],
    ["an idempotency key", { input: 1, idempotencyKey: "i" }],
    ["a tenant that it inherits", Object.assign(Object.create({ tenant: "inherited" }), { input: 1 })],
  ])("a list of which one has %s is made of the jobs that they are alone", async (_, item) => {
    const list = [{ input: 1 }, item, { input: 2 }];
    expect(await isOneText(list)).toBe(false);
    const alone = list.map(({ input, ...options }) => newJob(plain, input, options, undefined));
    expect(await newJobs(plain, list, undefined)).toEqual(await Promise.all(alone));
  });

  test.each<[string, object]>([
    ["key", { key: () => "k" }],
    ["unique key", { unique: {} }],
    ["price", { credits: { account: () => "a", amount: 1 } }],
  ])("a list of a kind whose jobs have a %s of their own", async (_, settings) => {
    expect(await isOneText(items(1), defineJob<unknown>({ kind: "own", ...settings } as never))).toBe(false);
  });

  test("a list that is longer than a statement", async () => {
    const list = Array.from({ length: STATEMENT_ROWS_MAX + 1 }, (_, n) => ({ input: n }));
    expect(await isOneText(list)).toBe(false);
    expect(await isOneText(list.slice(1))).toBe(true);
  });

  test.each([null, 5, "", "a".repeat(201), "\0"])("a tenant that is no name is refused: %j", async (tenant) => {
    await expect(
      client.enqueueMany(plain, [{ input: 1 }, { input: 2, tenant: tenant as never }]),
    ).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
      setting: "tenant",
    });
    expect(await rows()).toEqual([]);
  });

  test("an unknown option is refused by name", async () => {
    await expect(client.enqueueMany(plain, [{ input: 1, prio: 5 } as never])).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
    });
  });

  test("what a codec seals, and what a middleware sees", async () => {
    const codec = { encode: (json: string) => JSON.stringify({ "fairmill:sealed": 1, json }), decode: () => 1 };
    expect("payloads" in (await newJobs(plain, items(1), codec))).toBe(false);
    expect("payloads" in (await newJobs(plain, items(1), undefined, (job) => job))).toBe(false);
  });
});
