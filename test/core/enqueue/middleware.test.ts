// Middlewares at enqueue, on a real database: one job, many, a stream, a transaction, a rerun.
import {
  type Client,
  ConfigError,
  createClient,
  createCodec,
  defineFlow,
  defineJob,
  type JobDraft,
  middleware,
} from "fairmill";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { enqueueChain } from "../../../src/core/enqueue/enqueue-middleware.js";
import { newJob } from "../../../src/core/enqueue/make-job.js";
import { useDatabase } from "../../support/database.js";

const db = useDatabase();
const mail = defineJob({ kind: "mail", input: z.object({ to: z.string(), trace: z.string().optional() }) });

const tenant = middleware({ name: "tenant", enqueue: ({ options }) => ({ options: { tenant: "acme", ...options } }) });
const trace = middleware({
  name: "trace",
  enqueue: ({ input }) => ({ input: { ...(input as object), trace: "t-1" } }),
});
const later = middleware({
  name: "later",
  enqueue: async ({ options }) => {
    await new Promise(setImmediate);
    return { options: { ...options, priority: 7 } };
  },
});
const refuse = middleware({
  name: "refuse",
  enqueue: ({ input }) => {
    if ((input as { to: string }).to === "nobody") throw new RangeError("nobody is nobody");
  },
});

const using = (use: Parameters<typeof createClient>[0] & object) => createClient({ databaseUrl: db.url, ...use });
const jobOf = async (client: Client, id: string) => {
  const { payload, tenant, priority } = (await client.job(id))!;
  return { payload, tenant, priority };
};
const stored = async () =>
  (await db.query<{ count: number }>("select count(*)::int as count from fairmill.job"))[0]!.count;

describe("E4: middlewares at enqueue", () => {
  test("change input and options before the job is stored, in their order", async () => {
    await using client = using({ use: [tenant, trace, later] });
    const { id } = await client.enqueue(mail, { to: "ann" });
    expect(await jobOf(client, id)).toEqual({ payload: { to: "ann", trace: "t-1" }, tenant: "acme", priority: 7 });
    const own = await client.enqueue(mail, { to: "ann" }, { tenant: "own" });
    expect(await jobOf(client, own.id)).toMatchObject({ tenant: "own" });
  });

  test("each sees what those before it made of the job", async () => {
    const seen: JobDraft[] = [];
    const look = (name: string) => middleware({ name, enqueue: (job) => void seen.push(job) });
    await using client = using({ use: [look("before"), tenant, trace, look("behind")] });
    await client.enqueue(mail, { to: "ann" }, { delay: "1h" });
    expect(seen).toEqual([
      { kind: "mail", queue: "default", input: { to: "ann" }, options: { delay: "1h" } },
      { kind: "mail", queue: "default", input: { to: "ann", trace: "t-1" }, options: { delay: "1h", tenant: "acme" } },
    ]);
  });

  test("of a list, job by job; what one refuses, none is stored of", async () => {
    await using client = using({ use: [tenant, trace, later, refuse] });
    const [a, b] = await client.enqueueMany(mail, [{ input: { to: "ann" } }, { input: { to: "ben" }, tenant: "own" }]);
    expect(await jobOf(client, a!.id)).toMatchObject({ tenant: "acme", payload: { to: "ann", trace: "t-1" } });
    expect(await jobOf(client, b!.id)).toMatchObject({ tenant: "own", payload: { to: "ben", trace: "t-1" } });
    const items = [{ input: { to: "ann" } }, { input: { to: "nobody" } }];
    await expect(client.enqueueMany(mail, items)).rejects.toThrow(RangeError);
    expect(await stored()).toBe(2);
  });

  test("of a stream, job by job", async () => {
    await using client = using({ use: [trace, refuse, later] });
    async function* items(last: string) {
      for (const to of ["ann", "ben", last]) yield { input: { to } };
    }
    expect(await client.enqueueMany(mail, items("cal"))).toEqual({ count: 3, created: 3 });
    const traces = await db.query<{ trace: string }>("select payload ->> 'trace' as trace from fairmill.job");
    expect(traces).toEqual([{ trace: "t-1" }, { trace: "t-1" }, { trace: "t-1" }]);
    await expect(client.enqueueMany(mail, items("nobody"))).rejects.toThrow(RangeError);
  });

  test("in a transaction of the caller, one and many", async () => {
    await using client = using({ use: [tenant, trace, refuse] });
    const tx = await db.pool.connect();
    await tx.query("begin");
    const one = await client.in(tx).enqueue(mail, { to: "ann" });
    const [two] = await client.in(tx).enqueueMany(mail, [{ input: { to: "ben" } }]);
    await expect(client.in(tx).enqueue(mail, { to: "nobody" })).rejects.toThrow(RangeError);
    await tx.query("commit");
    tx.release();
    for (const id of [one.id, two!.id])
      expect(await jobOf(client, id)).toMatchObject({ tenant: "acme", payload: { trace: "t-1" } });
  });

  test("an error is the caller's as it is, and nothing is stored: not even one that looks like a lost database", async () => {
    const down = Object.assign(new Error("redis"), { code: "ECONNREFUSED" });
    const fails = middleware({
      name: "fails",
      enqueue: () => {
        throw down;
      },
    });
    await using client = using({ use: [fails] });
    await expect(client.enqueue(mail, { to: "ann" })).rejects.toBe(down);
    await expect(client.enqueueMany(mail, [{ input: { to: "ann" } }])).rejects.toBe(down);
    await expect(
      client.enqueueMany(
        mail,
        (async function* () {
          yield { input: { to: "ann" } };
        })(),
      ),
    ).rejects.toBe(down);
    expect(await stored()).toBe(0);
  });

  test("what they make of an input must fit the schema, and is what unique keys and seals are made of", async () => {
    const spoil = middleware({ name: "spoil", enqueue: () => ({ input: { to: 5 } }) });
    await using spoilt = using({ use: [spoil] });
    await expect(spoilt.enqueue(mail, { to: "ann" })).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });

    const once = defineJob<{ to: string }>({ kind: "once", unique: {} });
    const same = middleware({ name: "same", enqueue: () => ({ input: { to: "same" } }) });
    const codec = createCodec({ keys: { k: Buffer.alloc(32, "k") }, current: "k" });
    await using client = using({ use: [same, tenant], codec });
    const first = await client.enqueue(once, { to: "ann" });
    expect(await client.enqueue(once, { to: "ben" })).toEqual({ id: first.id, created: false });
    expect(await jobOf(client, first.id)).toMatchObject({ tenant: "acme", payload: { to: "same" } });
  });

  test("a rerun passes them with other input, and not with what is stored", async () => {
    const seen: unknown[] = [];
    const count = middleware({
      name: "count",
      enqueue: ({ input }) => {
        seen.push(input);
        return { input: { n: (input as { n: number }).n + 1 } };
      },
    });
    const counted = defineJob<{ n: number }>({ kind: "counted" });
    await using client = using({ use: [count] });
    const { id } = await client.enqueue(counted, { n: 1 });
    await client.cancel(id);
    const same = await client.jobs.rerun(id);
    const other = await client.jobs.rerun(id, { input: { n: 10 } });
    expect(await jobOf(client, same.id)).toMatchObject({ payload: { n: 2 } });
    expect(await jobOf(client, other.id)).toMatchObject({ payload: { n: 11 } });
    expect(seen).toEqual([{ n: 1 }, { n: 10 }]);
    await using moving = using({ use: [middleware({ name: "move", enqueue: () => ({ options: { tenant: "x" } }) })] });
    await expect(moving.jobs.rerun(id, { input: { n: 1 } })).rejects.toThrow(ConfigError);
  });
});

describe("what a middleware may not do", () => {
  const broken = async (enqueue: (job: JobDraft) => unknown, message: RegExp) => {
    await using client = using({ use: [{ name: "m", enqueue: enqueue as () => undefined }] });
    await expect(client.enqueue(mail, { to: "ann" }, { tenant: "own" })).rejects.toThrow(message);
    expect(await stored()).toBe(0);
  };

  test("another kind or queue", async () => {
    await broken(() => ({ kind: "other" }), /cannot give a job another kind or queue/);
    await broken((job) => ({ ...job, queue: "other" }), /cannot give a job another kind or queue/);
  });

  test("what is no change", async () => {
    await broken(() => 5, /what is no change/);
    await broken(() => null, /what is no change/);
    await broken(() => ({ tenant: "acme" }), /returned "tenant", which no job has/);
    await broken(() => ({ options: null }), /options that are none/);
    await broken(() => ({ options: undefined }), /options that are none/);
    await broken(() => ({ options: { tennant: "acme" } }), /Did you mean "tenant"/);
  });

  test("write into what it is given", async () => {
    await broken((job) => {
      (job.options as { tenant: string }).tenant = "changed";
    }, /read only/);
    await broken((job) => {
      (job as { input: unknown }).input = {};
    }, /read only/);
  });
});

describe("cost", () => {
  const draft = { kind: "mail", queue: "default", input: {}, options: {} };

  test("synchronous middlewares make no promise", () => {
    const chain = enqueueChain([tenant, trace, refuse])!;
    expect(chain(draft)).not.toBeInstanceOf(Promise);
    expect(newJob(mail, { to: "ann" }, {}, undefined, chain)).toMatchObject({ tenant: "acme" });
    expect(enqueueChain([tenant, later, trace])!(draft)).toBeInstanceOf(Promise);
  });

  test("without a part at enqueue there is no chain", () => {
    expect(enqueueChain(undefined)).toBeUndefined();
    expect(enqueueChain([{ name: "run only", run: () => {} }])).toBeUndefined();
  });
});

test("batches, flows, their callbacks and schedules pass every job through as well", async () => {
  const asTenant = middleware({
    name: "tenant",
    enqueue: ({ options }) => ({ options: { ...options, tenant: "acme" } }),
  });
  const page = defineJob<{ n: number }>({ kind: "page" });
  await using client = createClient({ databaseUrl: db.url, use: [asTenant] });
  const call = { job: page, input: { n: 1 } };
  await client.batches.create({ onComplete: call }, (batch) => batch.add(page, { n: 2 }));
  await (await client.batches.open({ stability: false })).add(page, { n: 3 });
  const flow = defineFlow<{ n: number }>({ name: "f", callbacks: () => ({ onSuccess: call }) }, (f) => {
    const a = f.job("a", page, (input) => input);
    f.job("b", page, (input) => input, { after: [a] });
  });
  await client.flows.start(flow, { n: 4 });
  await client.schedules.set("nightly", { cron: "0 3 * * *", job: page, input: { n: 5 } });
  const tenants = await db.query<{ tenant: string; n: number }>(`
    select tenant, count(*)::integer as n from (
      select tenant from fairmill.job
      union all select c.value ->> 'tenant' from fairmill.batch b cross join lateral jsonb_each(b.callbacks) c
      union all select j.value ->> 'tenant' from fairmill.batch b cross join lateral jsonb_array_elements(b.jobs) j
      union all select job ->> 'tenant' from fairmill.schedule) made group by 1`);
  expect(tenants).toEqual([{ tenant: "acme", n: 8 }]);
});
