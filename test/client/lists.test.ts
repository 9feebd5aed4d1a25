// Lists and streams of jobs: stored whole or not at all, in statements of a bearable size.
import { createClient, defineJob } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { TcpProxy } from "../support/tcp-proxy.js";

const db = useDatabase();
const plain = defineJob<{ n: number }>({ kind: "plain" });
const large = defineJob<{ text: string }>({ kind: "large" });
const MEGABYTE = "a".repeat(1_000_000);
const count = async () => Number((await db.query("select count(*) as n from fairmill.job"))[0]!["n"]);
/** Every job carries the number of the transaction that made it. */
const transactions = async () =>
  Number((await db.query("select count(distinct xmin::text) as n from fairmill.job"))[0]!["n"]);
const items = (length: number) => Array.from({ length }, (_, n) => ({ input: { n } }));

describe("lists", () => {
  test.each([undefined, null, 5, { input: { n: 1 } }])("%o is no list, and is refused by name", async (list) => {
    await using client = createClient({ databaseUrl: db.url });
    const refusal = { code: "FAIRMILL_CONFIG", message: expect.stringContaining("is no list of jobs") };
    await expect(client.enqueueMany(plain, list as never)).rejects.toMatchObject(refusal);
    await expect(client.in(db.pool).enqueueMany(plain, list as never)).rejects.toMatchObject(refusal);
  });

  test.each([null, undefined, "text"])("%s in a stream is refused by name", async (item) => {
    await using client = createClient({ databaseUrl: db.url });
    async function* stream() {
      yield item as never;
    }
    await expect(client.enqueueMany(plain, stream())).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
      message: expect.stringContaining("is no job of a list"),
    });
  });

  test.each([null, undefined, 5, "text"])(
    "%s among the items is refused by name, and nothing is stored",
    async (item) => {
      await using client = createClient({ databaseUrl: db.url });
      await expect(client.enqueueMany(plain, [{ input: { n: 1 } }, item as never])).rejects.toMatchObject({
        code: "FAIRMILL_CONFIG",
        message: expect.stringContaining("is no job of a list"),
      });
      expect(await db.query("select from fairmill.job")).toEqual([]);
    },
  );

  test("are stored in one transaction, however long, with their ids in the order given", async () => {
    const client = createClient({ databaseUrl: db.url });
    const all = await client.enqueueMany(plain, items(12_000));
    expect(await transactions()).toBe(1);
    const rows = await db.query("select id from fairmill.job order by (payload ->> 'n')::integer");
    expect(all.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    expect(await client.enqueueMany(plain, [])).toEqual([]);
    await client.close();
  });

  test("of large payloads are cut into statements of a bearable size, still in one transaction", async () => {
    const proxy = await TcpProxy.before(db.url);
    await using client = createClient({ databaseUrl: proxy.url });
    const all = await client.enqueueMany(
      large,
      Array.from({ length: 40 }, () => ({ input: { text: MEGABYTE } })),
    );
    expect(new Set(all.map(({ id }) => id)).size).toBe(40);
    expect(proxy.count("enqueue_payloads_v1")).toBeGreaterThanOrEqual(3);
    expect(await transactions()).toBe(1);
  });

  test.each<[string, object, string, unknown]>([
    ["tenant", { tenant: "acme" }, "tenant", "acme"],
    ["priority", { priority: 7 }, "priority", 7],
    ["key", { key: "k" }, "key", "k"],
    ["moment", { runAt: "2100-01-01T00:00:00Z" }, "state", "scheduled"],
    ["delay", { delay: "1h" }, "state", "scheduled"],
  ])("in which one job differs in its %s keep the difference where it is", async (_, options, column, value) => {
    await using client = createClient({ databaseUrl: db.url });
    const [first, second, third] = items(3);
    const all = await client.enqueueMany(plain, [first!, { ...second!, ...options }, third!]);
    const rows = await db.query(`select id, payload, ${column} as value from fairmill.job order by id`);
    expect(rows.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    expect(rows.map(({ payload }) => payload["n"])).toEqual([0, 1, 2]);
    expect(rows.map((row) => row["value"] === value)).toEqual([false, true, false]);
  });

  test("may be any iterable", async () => {
    const client = createClient({ databaseUrl: db.url });
    function* three() {
      for (let n = 0; n < 3; n++) yield { input: { n }, tenant: `t${n}` };
    }
    expect(await client.enqueueMany(plain, three())).toHaveLength(3);
    expect(await client.enqueueMany(plain, new Set(items(2)))).toHaveLength(2);
    await client.close();
  });

  test("with one bad job among 12,000 store nothing", async () => {
    const client = createClient({ databaseUrl: db.url });
    const list = items(12_000);
    list[11_999] = { input: { n: Number.NaN } };
    await expect(client.enqueueMany(plain, list)).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
    await db.query("alter table fairmill.job add constraint no_late check ((payload ->> 'n')::integer <> 11999)");
    try {
      await expect(client.enqueueMany(plain, items(12_000))).rejects.toMatchObject({
        cause: { constraint: "no_late" },
      });
      expect(await count()).toBe(0);
    } finally {
      await db.query("alter table fairmill.job drop constraint no_late");
      await client.close();
    }
  });
});

describe("streams", () => {
  test("that fail for reasons of their own fail with their own error, whatever its cause was", async () => {
    const client = createClient({ databaseUrl: db.url });
    const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    const own = new TypeError("fetch failed", { cause: refused });
    // biome-ignore lint/correctness/useYield: it fails before it has anything.
    async function* stream(): AsyncGenerator<{ input: { n: number } }> {
      throw own;
    }
    await expect(client.enqueueMany(plain, stream())).rejects.toBe(own);
    await client.close();
  });

  test("are stored page by page: never more than two pages are in memory", async () => {
    const client = createClient({ databaseUrl: db.url });
    let ahead = 0;
    async function* stream() {
      for (let n = 0; n < 20_000; n++) {
        if (n % 1_000 === 0) ahead = Math.max(ahead, n - (await count()));
        yield { input: { n } };
      }
    }
    expect(await client.enqueueMany(plain, stream())).toEqual({ count: 20_000, created: 20_000 });
    expect(await count()).toBe(20_000);
    expect(ahead).toBeLessThanOrEqual(4_000);
    expect(ahead).toBeGreaterThan(0);
    await client.close();
  });

  test("of large payloads have smaller pages", async () => {
    await using client = createClient({ databaseUrl: db.url });
    let ahead = 0;
    async function* stream() {
      for (let n = 0; n < 60; n++) {
        ahead = Math.max(ahead, n - (await count()));
        yield { input: { text: MEGABYTE } };
      }
    }
    expect(await client.enqueueMany(large, stream())).toEqual({ count: 60, created: 60 });
    expect(ahead).toBeLessThanOrEqual(36);
  });

  test("count what they made and what was known before", async () => {
    const client = createClient({ databaseUrl: db.url });
    async function* stream() {
      for (let n = 0; n < 2_500; n++) yield { input: { n }, idempotencyKey: `k${n % 2_400}` };
    }
    expect(await client.enqueueMany(plain, stream())).toEqual({ count: 2_500, created: 2_400 });
    await client.close();
  });

  test("that break keep what was stored before, and say why they broke", async () => {
    const client = createClient({ databaseUrl: db.url });
    async function* stream() {
      for (let n = 0; n < 5_000; n++) yield { input: { n: n === 4_500 ? Number.NaN : n } };
    }
    await expect(client.enqueueMany(plain, stream())).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
    expect(await count()).toBe(4_000);
    async function* broken() {
      yield { input: { n: 1 } };
      throw new Error("the file ended early");
    }
    await expect(client.enqueueMany(plain, broken())).rejects.toThrow("the file ended early");
    await client.close();
  });

  test("of nothing are nothing", async () => {
    const client = createClient({ databaseUrl: db.url });
    async function* nothing() {}
    expect(await client.enqueueMany(plain, nothing())).toEqual({ count: 0, created: 0 });
    await client.close();
  });
});
