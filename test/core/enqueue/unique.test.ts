// F4 through the client: alone, together with others, in lists, streams and transactions of the caller, over connections that break.
import { type Client, createClient, DuplicateJobError, defineJob, type JobDefinition } from "fairmill";
import { beforeAll, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { useSessions, waitUntilBlocked } from "../../support/sql/sessions.js";
import { TcpProxy } from "../../support/tcp-proxy.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const open = useSessions(db);
interface Input {
  readonly user: string;
  readonly n?: number;
}
const by = ({ user }: Input) => user;
const unique = defineJob<Input>({ kind: "unique", unique: { by } });
const whole = defineJob<Input>({ kind: "whole", unique: {} });
const started = defineJob<Input>({ kind: "started", unique: { by, until: "started" } });
const replacing = defineJob<Input>({ kind: "replacing", unique: { by, onConflict: "replace" } });
const refusing = defineJob<Input>({ kind: "refusing", unique: { by, onConflict: "refuse" } });
const debounced = defineJob<Input>({ kind: "debounced", debounce: { by, wait: "1m", max: "5m" } });
const throttled = defineJob<Input>({ kind: "throttled", throttle: { by, per: "1h" } });
const plain = defineJob<object>({ kind: "plain" });

let client: Client;
beforeAll(() => {
  client = createClient({ db: db.pool });
});

const count = async () => Number((await db.query("select count(*) as n from fairmill.job"))[0]!["n"]);
const payloads = async () =>
  (await db.query<{ payload: Input }>("select payload from fairmill.job order by id")).map(({ payload }) => payload);
const refusalOf = (id: string | undefined) =>
  expect.objectContaining({ name: "DuplicateJobError", code: "FAIRMILL_DUPLICATE_JOB", jobId: id });

describe("a single call", () => {
  test.each<[string, JobDefinition<Input>]>([
    ["unique", unique],
    ["unique until started", started],
    ["throttled", throttled],
  ])("%s: the second one gets the first job", async (_, definition) => {
    const first = await client.enqueue(definition, { user: "ann", n: 1 });
    expect(first).toEqual({ id: first.id, created: true });
    expect(await client.enqueue(definition, { user: "ann", n: 2 })).toEqual({ id: first.id, created: false });
    expect((await client.enqueue(definition, { user: "bob", n: 3 })).created).toBe(true);
    expect((await client.enqueue(definition, { user: "ann", n: 4 }, { tenant: "acme" })).created).toBe(true);
    expect((await payloads()).map(({ n }) => n)).toEqual([1, 3, 4]);
  });

  test("by default the whole input counts, in any order of its members", async () => {
    const first = await client.enqueue(whole, { user: "ann", n: 1 });
    expect((await client.enqueue(whole, { n: 1, user: "ann" })).id).toBe(first.id);
    expect((await client.enqueue(whole, { user: "ann", n: 2 })).created).toBe(true);
    expect((await client.enqueue(whole, { user: "ann" })).created).toBe(true);
  });

  test("replace: the waiting job has the new input, and the answer says so", async () => {
    const first = await client.enqueue(replacing, { user: "ann", n: 1 }, { delay: "1h" });
    const second = await client.enqueue(replacing, { user: "ann", n: 2 }, { priority: 3, delay: "2h" });
    expect(second).toEqual({ id: first.id, created: false, replaced: true });
    const job = (await client.job(first.id))!;
    expect(job).toMatchObject({ payload: { user: "ann", n: 2 }, priority: 3, state: "scheduled" });
    expect(job.runAt!.getTime() - job.createdAt.getTime()).toBeGreaterThanOrEqual(7_200_000);
  });

  test("refuse: a typed error names the job that is there, and nothing is stored", async () => {
    const first = await client.enqueue(refusing, { user: "ann" });
    const error = await client.enqueue(refusing, { user: "ann" }, { idempotencyKey: "i" }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(DuplicateJobError);
    expect(error).toEqual(refusalOf(first.id));
    expect((error as Error).message).toContain(`Job ${first.id}`);
    expect(await count()).toBe(1);
    // Refused, it has not used up its idempotency key either.
    await client.cancel(first.id);
    expect((await client.enqueue(refusing, { user: "ann" }, { idempotencyKey: "i" })).created).toBe(true);
  });

  test("debounce: due after the last call, and the caller's own time is refused", async () => {
    const first = await client.enqueue(debounced, { user: "ann", n: 1 });
    expect(await client.enqueue(debounced, { user: "ann", n: 2 })).toEqual({
      id: first.id,
      created: false,
      replaced: true,
    });
    const job = (await client.job(first.id))!;
    expect(job).toMatchObject({ state: "scheduled", payload: { n: 2 } });
    expect(job.runAt!.getTime() - job.createdAt.getTime()).toBeGreaterThanOrEqual(60_000);
    for (const [setting, options] of [
      ["delay", { delay: 1 }],
      ["runAt", { runAt: new Date() }],
    ] as const)
      await expect(client.enqueue(debounced, { user: "ann" }, options)).rejects.toMatchObject({
        code: "FAIRMILL_CONFIG",
        setting,
      });
  });

  test.each([5, "", "a".repeat(501), "a\0", "\ud800"])("a key of %j is refused", async (key) => {
    const bad = defineJob<Input>({ kind: "bad", unique: { by: () => key as string } });
    await expect(client.enqueue(bad, { user: "ann" })).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
      setting: "by",
    });
    expect(await count()).toBe(0);
  });
});

/** Sessions of this database that wait for another one. */
async function standingAtLocks(): Promise<number> {
  const rows = await db.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows.length;
}

describe("calls of one process at the same time", () => {
  test("two equal ones share a transaction and a job; a refused one fails alone", async () => {
    const all = await Promise.allSettled([
      client.enqueue(plain, {}),
      client.enqueue(unique, { user: "ann" }),
      client.enqueue(unique, { user: "ann" }),
      client.enqueue(refusing, { user: "ann" }),
      client.enqueue(refusing, { user: "ann" }),
      client.enqueue(plain, {}),
    ]);
    expect(all.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    const ids = all.map((each) => (each.status === "fulfilled" ? each.value.id : undefined));
    expect(ids[2]).toBe(ids[1]);
    expect((all[4] as PromiseRejectedResult).reason).toEqual(refusalOf(ids[3]));
    expect(await count()).toBe(4);
    const [made] = await db.query("select count(distinct xmin::text) as n from fairmill.job where kind <> 'plain'");
    expect(Number(made!["n"])).toBe(1);
  });

  test("one that PostgreSQL refuses does not disturb the order of those that replace each other", async () => {
    await db.query("alter table fairmill.job add constraint no_thirteen check (payload ->> 'n' is distinct from '13')");
    try {
      const all = await Promise.allSettled(
        [11, 12, 13, 14, 15].map((n) => client.enqueue(replacing, { user: "ann", n })),
      );
      expect(all.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled", "fulfilled"]);
      expect(await payloads()).toEqual([{ user: "ann", n: 15 }]);
    } finally {
      await db.query("alter table fairmill.job drop constraint no_thirteen");
    }
  });

  test("the last call wins although an earlier one is held up; jobs without a unique key do not wait with them", async () => {
    await using slow = createClient({ databaseUrl: db.url });
    const { id } = await slow.enqueue(replacing, { user: "ann", n: 0 });
    const gate = await open();
    await gate.query("begin");
    await gate.query("select from fairmill.job where id = $1 for update", [id]);
    const first = slow.enqueue(replacing, { user: "ann", n: 1 });
    await waitUntil("the first stands at the lock", async () => (await standingAtLocks()) > 0);
    const last = slow.enqueue(replacing, { user: "ann", n: 2 });
    // This one passes, so the last one could have.
    await slow.enqueue(plain, {});
    const standing = await standingAtLocks();
    await gate.query("commit");
    // The first one, or for a moment none: it comes again. Had the last one been sent, it would stand there as well.
    expect(standing).toBeLessThan(2);
    expect(await first).toEqual(await last);
    expect((await client.job(id))!.payload).toEqual({ user: "ann", n: 2 });
  });

  test("sixteen clients with one key make one job", async () => {
    const clients = Array.from({ length: 16 }, () => createClient({ databaseUrl: db.url, connectionsMax: 1 }));
    const all = await Promise.all(clients.map((each, n) => each.enqueue(unique, { user: "ann", n })));
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(all.filter(({ created }) => created)).toHaveLength(1);
    const late = await Promise.allSettled(clients.map((each, n) => each.enqueue(refusing, { user: "ann", n })));
    expect(late.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await count()).toBe(2);
    await Promise.all(clients.map((each) => each.close()));
  });
});

describe("lists and streams", () => {
  const items = (...users: string[]) => users.map((user, n) => ({ input: { user, n } }));

  test("equal jobs of a list are one; of those that replace the last one counts", async () => {
    const all = await client.enqueueMany(unique, items("ann", "bob", "ann"));
    expect(all.map(({ created }) => created)).toEqual([true, true, false]);
    expect(all[2]!.id).toBe(all[0]!.id);
    const replaced = await client.enqueueMany(replacing, items("ann", "bob", "ann"));
    expect(replaced[2]).toEqual({ id: replaced[0]!.id, created: false, replaced: true });
    expect((await client.job(replaced[0]!.id))!.payload).toEqual({ user: "ann", n: 2 });
  });

  test("a list with a job that is refused stores nothing, and the error names the job that is there", async () => {
    const first = await client.enqueue(refusing, { user: "eve" });
    await expect(client.enqueueMany(refusing, items("ann", "bob", "eve"))).rejects.toEqual(refusalOf(first.id));
    await expect(client.enqueueMany(refusing, items("ann", "bob", "ann"))).rejects.toEqual(refusalOf(undefined));
    expect(await count()).toBe(1);
  });

  test("a stream counts what it made, across its pages; one that is refused keeps the pages before", async () => {
    async function* stream() {
      for (let n = 0; n < 5_000; n++) yield { input: { user: `${n % 4_500}`, n } };
    }
    expect(await client.enqueueMany(unique, stream())).toEqual({ count: 5_000, created: 4_500 });
    expect(await count()).toBe(4_500);
    await expect(client.enqueueMany(refusing, stream())).rejects.toBeInstanceOf(DuplicateJobError);
    expect(await count()).toBe(4_500 + 4_000);
  });
});

describe("in the caller's transaction", () => {
  test("of two with the same key the second waits; after a rollback it owns the key", async () => {
    for (const outcome of ["commit", "rollback"]) {
      await db.query("delete from fairmill.job");
      const [a, b] = [await open(), await open()];
      const tx = (session: typeof a) => ({
        query: async (text: string, values?: unknown[]) => ({ rows: await session.query(text, values) }),
      });
      await a.query("begin");
      await b.query("begin");
      const first = await client.in(tx(a)).enqueue(unique, { user: "ann", n: 1 });
      const second = client.in(tx(b)).enqueue(unique, { user: "ann", n: 2 });
      await waitUntilBlocked(db, b);
      await a.query(outcome);
      expect((await second).created).toBe(outcome === "rollback");
      expect((await second).id === first.id).toBe(outcome === "commit");
      await b.query("commit");
      expect((await payloads()).map(({ n }) => n)).toEqual([outcome === "commit" ? 1 : 2]);
    }
  });

  test("a refused job and a refused list leave the transaction usable", async () => {
    const first = await client.enqueue(refusing, { user: "ann" });
    const tx = await db.pool.connect();
    try {
      await tx.query("begin");
      await expect(client.in(tx).enqueue(refusing, { user: "ann" })).rejects.toEqual(refusalOf(first.id));
      const other = await client.in(tx).enqueue(refusing, { user: "bob" });
      await tx.query("commit");
      expect(await client.job(other.id)).toBeDefined();
      await tx.query("begin");
      await expect(
        client.in(tx).enqueueMany(refusing, [{ input: { user: "cleo" } }, { input: { user: "ann" } }]),
      ).rejects.toEqual(refusalOf(first.id));
      await tx.query("commit");
      expect(await count()).toBe(2);
    } finally {
      tx.release();
    }
  });
});

describe("an answer that is lost", () => {
  test("with an idempotency key the call is repeated: the same job, and no refusal by its own first try", async () => {
    const proxy = await TcpProxy.before(db.url);
    await using far = createClient({ databaseUrl: proxy.url });
    const swallowed = proxy.swallowAnswerTo("enqueue_many_v1");
    const { id } = await far.enqueue(refusing, { user: "ann", n: 1 }, { idempotencyKey: "once" });
    await swallowed;
    expect(proxy.count("enqueue_many_v1")).toBe(2);
    expect(await payloads()).toEqual([{ user: "ann", n: 1 }]);
    expect(await client.job(id)).toBeDefined();
  });

  test("without one the outcome is unknown: a unique key alone does not make a repeat safe", async () => {
    const proxy = await TcpProxy.before(db.url);
    await using far = createClient({ databaseUrl: proxy.url });
    const swallowed = proxy.swallowAnswerTo("enqueue_many_v1");
    await expect(far.enqueue(unique, { user: "ann" })).rejects.toMatchObject({ code: "FAIRMILL_OUTCOME_UNKNOWN" });
    await swallowed;
    expect(proxy.count("enqueue_many_v1")).toBe(1);
  });
});
