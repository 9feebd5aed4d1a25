// Middlewares of a worker, on a real database: what becomes of jobs whose middlewares change, skip, fail or break the rules.
import {
  cancel,
  createClient,
  createWorker,
  defineConfig,
  defineJob,
  fixed,
  type Handler,
  handle,
  type JobContext,
  type Middleware,
  middleware,
  NonRetryableError,
  silentLogger,
  snooze,
} from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { endOf, inState, startWorker } from "../../support/jobs.js";

type Use = readonly Middleware[];

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "job", retry: { attempts: 2, backoff: fixed(0) } });

/** Runs one job through these to its end. */
async function ended(use: Use, run: (ctx: JobContext<{ n: number }>) => unknown) {
  await using client = createClient({ databaseUrl: db.url, use });
  await using _ = await startWorker(db.url, [handle(job, run)], { use });
  return await endOf(client, (await client.enqueue(job, { n: 1 })).id);
}

describe("E4: middlewares around handlers", () => {
  test("in their order, around every attempt; they see the job as its handler does", async () => {
    const notes: string[] = [];
    const noting = (name: string) =>
      middleware({
        name,
        run: async (ctx, next) => {
          notes.push(`${name} ${ctx.kind} ${ctx.attempt} ${(ctx.input as { n: number }).n}`);
          try {
            return await next();
          } finally {
            notes.push(`${name} over`);
          }
        },
      });
    const done = await ended([noting("a"), noting("b")], async ({ attempt }) => {
      if (attempt === 1) throw new Error("once");
      return "fine";
    });
    expect(done).toMatchObject({ state: "done", attempt: 2, result: "fine" });
    expect(notes).toEqual(
      [1, 2].flatMap((attempt) => [`a job ${attempt} 1`, `b job ${attempt} 1`, "b over", "a over"]),
    );
  });

  test("change the result, for handlers that wait and for those that do not", async () => {
    const wrap = middleware({ name: "wrap", run: async (_, next) => ({ wrapped: await next() }) });
    const sync = middleware({ name: "sync", run: (_, next) => ({ wrapped: next() }) });
    expect(await ended([wrap], async () => 1)).toMatchObject({ state: "done", result: { wrapped: 1 } });
    expect(await ended([wrap], () => 1)).toMatchObject({ state: "done", result: { wrapped: 1 } });
    expect(await ended([sync], () => 1)).toMatchObject({ state: "done", result: { wrapped: 1 } });
  });

  test("skip the handler, with a result or by cancel", async () => {
    let runs = 0;
    const skip = (result: unknown) => middleware({ name: "skip", run: () => result });
    expect(await ended([skip("cached")], () => ++runs)).toMatchObject({ state: "done", result: "cached" });
    expect(await ended([skip(cancel("closed"))], () => ++runs)).toMatchObject({ state: "cancelled" });
    expect(runs).toBe(0);
  });

  test("put a job off", async () => {
    const busy = middleware({ name: "busy", run: () => snooze("1h") });
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(job, () => {})], { use: [busy] });
    const { id } = await client.enqueue(job, { n: 1 });
    expect(await inState(client, id, "scheduled")).toMatchObject({ attempt: 0 });
  });

  test("their errors are the job's: tried again, and dead in the end", async () => {
    const fail = (error: Error) =>
      middleware({
        name: "fail",
        run: async (_, next) => {
          await next();
          throw error;
        },
      });
    expect(await ended([fail(new RangeError("no"))], () => "fine")).toMatchObject({
      state: "dead",
      attempt: 2,
      error: { name: "RangeError", message: "no" },
      failures: [{ outcome: "failed" }, { outcome: "failed" }],
    });
    expect(await ended([fail(new NonRetryableError("never"))], () => "fine")).toMatchObject({
      state: "dead",
      attempt: 1,
    });
  });

  test("time limits count for them, too", async () => {
    const quick = defineJob({ kind: "quick", timeout: 50, retry: { attempts: 1 } });
    const waits = middleware({
      name: "waits",
      run: (ctx) => new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason))),
    });
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(quick, () => {})], { use: [waits] });
    const { id } = await client.enqueue(quick, {});
    expect(await endOf(client, id)).toMatchObject({ state: "dead", error: { code: "FAIRMILL_TIMEOUT" } });
  });

  test("steps keep their results across attempts, and a pause passes through", async () => {
    const sees: unknown[] = [];
    const watching = middleware({
      name: "watching",
      run: async (_, next) => {
        try {
          return await next();
        } catch (error) {
          sees.push((error as { code?: string }).code);
          throw error;
        }
      },
    });
    let paid = 0;
    const done = await ended([watching], async (ctx) => {
      await ctx.step("pay", () => ++paid);
      await ctx.sleep("rest", 1);
      return "rested";
    });
    expect(done).toMatchObject({ state: "done", result: "rested" });
    expect({ paid, sees }).toEqual({ paid: 1, sees: ["FAIRMILL_PAUSED"] });
  });

  test("next called twice, or not waited for, ends the job, with the name of the middleware", async () => {
    const twice = middleware({ name: "twice", run: async (_, next) => [await next(), await next()] });
    const careless = middleware({ name: "careless", run: (_, next) => void next() });
    for (const [use, what] of [
      [twice, 'Middleware "twice" called next() twice.'],
      [careless, 'Middleware "careless" did not wait for next(): return what it returns, or await it.'],
    ] as const)
      expect(await ended([use], async () => "fine")).toMatchObject({
        state: "dead",
        attempt: 1,
        error: { code: "FAIRMILL_MIDDLEWARE", message: what },
      });
  });

  test("a pair works at both ends under one name", async () => {
    const stamped = middleware({
      name: "stamped",
      enqueue: ({ input }) => ({ input: { ...(input as object), stamp: "s-1" } }),
      run: (ctx, next) => [(ctx.input as { stamp: string }).stamp, next()],
    });
    expect(await ended([stamped], ({ input }) => input.n)).toMatchObject({ state: "done", result: ["s-1", 1] });
    expect(
      await ended(
        [stamped].filter(({ name }) => name !== "stamped"),
        ({ input }) => input.n,
      ),
    ).toMatchObject({ result: 1 });
  });
});

describe("additions to the context", () => {
  const user = middleware<{ user: { name: string } }>({
    name: "user",
    run: async (ctx, next) => next({ user: { name: `of ${ctx.tenant}` } }),
  });
  const clock = middleware<{ startedAt: number }>({ name: "clock", run: (_, next) => next({ startedAt: 5 }) });
  const plain = middleware({ name: "plain", run: (_, next) => next() });

  test("reach the handler, which keeps its own members", async () => {
    const handler = handle(
      job,
      async (ctx) => {
        ctx.progress({ half: true });
        return [
          ctx.user.name,
          ctx.startedAt,
          ctx.input.n,
          ctx.attempt,
          await ctx.step("s", () => 1),
          ctx.signal.aborted,
        ];
      },
      { needs: [user, clock] },
    );
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await createWorker({
      databaseUrl: db.url,
      handlers: [handler],
      use: [plain, user, clock],
      logger: silentLogger,
    }).start();
    const { id } = await client.enqueue(job, { n: 3 }, { tenant: "acme" });
    expect(await endOf(client, id)).toMatchObject({ state: "done", result: ["of acme", 5, 3, 1, 1, false] });
  });

  test("a worker without a middleware that a handler needs is refused", () => {
    const handler = handle(job, (ctx) => ctx.user, { needs: [user] });
    const without = { databaseUrl: db.url, handlers: [handler] };
    // @ts-expect-error: no middleware adds what the handler needs.
    expect(() => createWorker(without)).toThrow('needs the middleware "user"');
    // @ts-expect-error: the same for a list that adds something else.
    expect(() => createWorker({ ...without, use: [clock] })).toThrow('needs the middleware "user"');
    // @ts-expect-error: a list from which it was removed.
    expect(() => createWorker({ ...without, use: [user, clock].filter(({ name }) => name !== "user") })).toThrow(
      /needs/,
    );
  });

  /** Compiled, never called: what the compiler accepts and what it does not. */
  function _types(anyUse: Use): void {
    const needy = handle(job, (ctx) => ctx.user.name.length + ctx.startedAt, { needs: [user, clock] });
    const easy = handle(job, (ctx) => ctx.input.n);
    createWorker({ handlers: [needy, easy], use: [user, plain, clock] });
    createWorker({ handlers: [easy] });
    createWorker({ handlers: [easy], use: anyUse });
    defineConfig({ handlers: [needy], use: [user, clock] });
    createClient({ use: [user, plain] });
    const forgotten: Handler[] = [easy];
    createWorker({ handlers: forgotten, use: [user] });

    // @ts-expect-error: a context without needs has no user.
    handle(job, (ctx) => ctx.user);
    // @ts-expect-error: of a function that needs more, the needs must be named.
    handle(job, (ctx: JobContext<{ n: number }> & { user: string }) => ctx.user);
    // @ts-expect-error: clock is missing.
    createWorker({ handlers: [needy], use: [user] });
    // @ts-expect-error: what is in a list is not known.
    createWorker({ handlers: [needy], use: anyUse });
    // @ts-expect-error: the same for configs.
    defineConfig({ handlers: [needy], use: [clock] });
    // @ts-expect-error: a handler that needs something is no handler for everybody.
    const list: Handler[] = [needy];
    void list;
    // @ts-expect-error: who promises must add.
    middleware<{ user: string }>({ name: "m", run: (_, next) => next() });
    // @ts-expect-error: and what was promised.
    middleware<{ user: string }>({ name: "m", run: (_, next) => next({ user: 5 }) });
    // @ts-expect-error: who promises needs a part at run.
    middleware<{ user: string }>({ name: "m", enqueue: () => {} });
    // @ts-expect-error: the context has an id.
    middleware<{ id: string }>({ name: "m", run: (_, next) => next({ id: "1" }) });
    // @ts-expect-error: nothing was promised.
    middleware({ name: "m", run: (_, next) => next({ user: "ann" }) });
    // @ts-expect-error: no job has such an option.
    middleware({ name: "m", enqueue: () => ({ options: { tennant: "acme" } }) });
  }

  test("the compiler checks them", () => {
    expect(_types).toBeTypeOf("function");
  });
});

test("a config has middlewares for both: they are checked when it is made", () => {
  expect(() =>
    defineConfig({
      use: [
        { name: "a", run: () => {} },
        { name: "a", run: () => {} },
      ],
    }),
  ).toThrow(/the name "a"/);
});
