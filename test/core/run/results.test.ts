// What a handler returns, what is kept of it, and what a caller that waits for it gets: typed, checked, and told where it changed.
import {
  type Client,
  cancel,
  createClient,
  createCodec,
  defineFlow,
  defineJob,
  handle,
  handleFlow,
  JobFailedError,
  JobNotFoundError,
  ResultCancelledError,
  ResultTimeoutError,
  snooze,
} from "fairmill";
import * as v from "valibot";
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { ContentChange } from "../../../src/base/content-changes.js";
import { useDatabase } from "../../support/database.js";
import { endOf, keepingLogger, startWorker } from "../../support/jobs.js";

const db = useDatabase();
let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

const once = { retry: { attempts: 1 } } as const;

describe("what is kept otherwise than it was", () => {
  const odd = defineJob({ kind: "odd", ...once });
  const run = async (value: unknown, count = 1) => {
    const told: { what: string; changes: readonly ContentChange[] }[] = [];
    const logger = keepingLogger();
    await using worker = await startWorker(db.url, [handle(odd, () => value)], { logger });
    worker.events.on("changed", ({ what, changes }) => void told.push({ what, changes }));
    let job: Awaited<ReturnType<typeof endOf>> | undefined;
    for (let i = 0; i < count; i++) job = await endOf(client, (await client.enqueue(odd, {})).id);
    const warnings = logger.lines.filter(({ message }) => message.startsWith("What the handler returned is kept"));
    return { job: job!, told, warnings };
  };

  test.each<[string, unknown, unknown, ContentChange[]]>([
    ["NUL", { a: "x\0" }, { a: "x\ufffd" }, [{ path: "a", what: expect.stringContaining("U+FFFD") }]],
    ["half a pair", ["\ud800"], ["\ufffd"], [{ path: "[0]", what: expect.stringContaining("surrogate") }]],
    ["a Map", { seen: new Map([[1, 2]]) }, { seen: {} }, [{ path: "seen", what: "a Map became {}" }]],
    ["a Set", new Set([1]), {}, [{ path: "", what: "a Set became {}" }]],
    ["an Error", { e: new Error("x") }, { e: {} }, [{ path: "e", what: "a Error became {}" }]],
    ["NaN", { a: { b: [1, Number.NaN] } }, { a: { b: [1, null] } }, [{ path: "a.b[1]", what: "NaN became null" }]],
    ["Infinity", -Infinity, null, [{ path: "", what: "-Infinity became null" }]],
    ["undefined in a list", [undefined], [null], [{ path: "[0]", what: "undefined became null" }]],
    ["a function", { f: () => 1, g: 1 }, { g: 1 }, [{ path: "f", what: "a function was left out" }]],
    ["an invalid date", [new Date(Number.NaN)], [null], [{ path: "[0]", what: "an invalid Date became null" }]],
    ["a bigint", { n: 5n }, null, [{ path: "", what: expect.stringContaining("BigInt") }]],
  ])("%s: the job is done, and the change is told with its path", async (_, value, kept, changes) => {
    const { job, told } = await run(value);
    expect(job).toMatchObject({ state: "done", result: kept });
    expect(told).toEqual([{ what: "result", changes }]);
  });

  test("is logged once a kind, and told by events each time", async () => {
    const { told, warnings } = await run({ seen: new Map() }, 3);
    expect(told).toHaveLength(3);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.facts).toMatchObject({ kind: "odd", changes: [{ path: "seen", what: "a Map became {}" }] });
  });

  test("a Date is a text as its type says: that is no change", async () => {
    const { job, told, warnings } = await run({ at: new Date(0), left: undefined });
    expect(job.result).toEqual({ at: "1970-01-01T00:00:00.000Z" });
    expect([told, warnings]).toEqual([[], []]);
  });

  test("steps and progress tell theirs", async () => {
    const told: string[] = [];
    const stepped = defineJob({ kind: "stepped", ...once });
    await using worker = await startWorker(db.url, [
      handle(stepped, async (ctx) => {
        ctx.progress([Number.NaN]);
        return await ctx.step("look", () => ({ seen: new Set([1]) }));
      }),
    ]);
    worker.events.on("changed", ({ what }) => void told.push(what));
    expect((await endOf(client, (await client.enqueue(stepped, {})).id)).result).toEqual({ seen: {} });
    expect(told).toEqual(["progress", 'step "look"']);
  });

  test("a signal with something that would be lost is refused where it is sent", async () => {
    const { id } = await client.enqueue(odd, {});
    await expect(client.signal(id, "go", { seen: new Map() })).rejects.toThrow("seen: in JSON a Map became {}");
    await expect(client.signal(id, "go", "\0")).rejects.toMatchObject({ code: "FAIRMILL_STEP_RESULT" });
    expect(await client.signal(id, "go", { at: new Date(0) })).toBe("sent");
  });

  test("input with a Map in it is refused with the path", async () => {
    await expect(client.enqueue(odd, { a: [new Map()] })).rejects.toMatchObject({
      code: "FAIRMILL_INPUT_INVALID",
      issues: [{ path: "a[0]", message: expect.stringContaining("a Map is not JSON") }],
    });
  });
});

describe("steps", () => {
  test("give in the first run what every later one gets, and the compiler knows it", async () => {
    const seen: unknown[] = [];
    const dated = defineJob({ kind: "dated", retry: { attempts: 2, backoff: () => 0 } });
    await using _ = await startWorker(db.url, [
      handle(dated, async (ctx) => {
        const at = await ctx.step("now", () => ({
          at: new Date(0),
          missing: undefined,
          list: [undefined, Number.NaN],
        }));
        expectTypeOf(at.at).toEqualTypeOf<string>();
        // @ts-expect-error: it is a text.
        void at.at.getTime;
        const nothing = await ctx.step("nothing", () => {});
        expectTypeOf(nothing).toEqualTypeOf<undefined>();
        const answer = ctx.waitFor<{ at: Date }>;
        expectTypeOf(answer).returns.resolves.toEqualTypeOf<{ at: string }>();
        seen.push([at, nothing]);
        if (ctx.attempt === 1) throw new Error("once more");
      }),
    ]);
    await endOf(client, (await client.enqueue(dated, {})).id);
    expect(seen[0]).toStrictEqual([{ at: "1970-01-01T00:00:00.000Z", list: [null, null] }, undefined]);
    expect(seen[1]).toStrictEqual(seen[0]);
  });
});

describe("results have the type of their definition", () => {
  const named = defineJob<{ n: number }, { at: Date; n: number }>({ kind: "named", ...once });
  const schemas = defineJob({
    kind: "schemas",
    input: z.object({ n: z.number() }),
    output: z.object({ twice: z.number(), at: z.date(), word: z.string().default("none") }),
    ...once,
  });
  const other = defineJob({
    kind: "other",
    output: v.pipeAsync(
      v.string(),
      v.checkAsync(async (s) => s !== "no"),
    ),
    ...once,
  });

  test("by defineJob<In, Out>, by a schema, by what enqueue returned", async () => {
    await using _ = await startWorker(db.url, [
      handle(named, ({ input }) => ({ at: new Date(0), n: input.n })),
      handle(schemas, async ({ input }) => ({ twice: input.n * 2, at: new Date(0), left: "out" })),
      handle(other, () => "yes"),
    ]);
    const first = await client.enqueue(named, { n: 1 });
    const result = await client.result(first);
    expectTypeOf(result).toEqualTypeOf<{ at: string; n: number }>();
    expect(result).toEqual({ at: "1970-01-01T00:00:00.000Z", n: 1 });

    const { id } = await client.enqueue(schemas, { n: 2 });
    const typed = await client.result(schemas, id);
    expectTypeOf(typed).toEqualTypeOf<{ twice: number; at: string; word: string }>();
    // What is kept is what the schema made of it.
    expect(typed).toEqual({ twice: 4, at: "1970-01-01T00:00:00.000Z", word: "none" });

    const [third] = await client.enqueueMany(other, [{ input: {} }]);
    expectTypeOf(client.result(third!)).resolves.toEqualTypeOf<string>();
    expect(await client.result(other, third!, { timeout: "20s" })).toBe("yes");
    expectTypeOf(client.result(id)).resolves.toEqualTypeOf<unknown>();
    await expect(client.result(named, id)).rejects.toThrow('job 2 is of kind "schemas"'.replace("2", id));
  });

  test("handlers are held to it by the compiler", () => {
    handle(named, () => cancel("no"));
    handle(named, async () => snooze("1m"));
    handle(named, async (ctx) => ctx.complete({ query: async () => ({ rows: [] }) }, { n: 1 }));
    // @ts-expect-error: n is missing.
    handle(named, () => ({ at: new Date() }));
    // @ts-expect-error: nothing is returned.
    handle(named, async () => {});
    // @ts-expect-error: twice is no text.
    handle(schemas, () => ({ twice: "4", at: new Date() }));
    handle(schemas, () => ({ twice: 4, at: new Date() }));
    handle(defineJob({ kind: "free" }), () => 5);
    handle(defineJob<object, void>({ kind: "void" }), () => {});
    const flow = defineFlow({ name: "typed" }, (nodes) => {
      const node = nodes.job("n", named, () => ({ n: 1 }));
      nodes.run(
        "r",
        async (ctx) => {
          expectTypeOf(await ctx.flow!.result(node)).toEqualTypeOf<{ at: string; n: number } | undefined>();
        },
        { after: [node] },
      );
    });
    expect(handleFlow(flow)).toHaveLength(1);
  });

  test("with a codec they are the same", async () => {
    const codec = createCodec({ keys: { a: Buffer.alloc(32) }, current: "a" });
    await using sealed = createClient({ databaseUrl: db.url, codec });
    await using _ = await startWorker(db.url, [handle(named, () => ({ at: new Date(0), n: 1 }))], { codec });
    expect(await sealed.result(await sealed.enqueue(named, { n: 1 }))).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      n: 1,
    });
  });

  test("a result that does not fit is a failed attempt that says so, and its effects are not written", async () => {
    await using _ = await startWorker(db.url, [
      handle(schemas, async (ctx) => {
        await ctx.enqueue(named, { n: 1 });
        return { twice: "4", at: new Date(0) } as never;
      }),
      handle(other, () => "no"),
    ]);
    const job = await endOf(client, (await client.enqueue(schemas, { n: 1 })).id);
    expect(job).toMatchObject({
      state: "dead",
      error: { code: "FAIRMILL_RESULT_INVALID", message: expect.stringMatching(/"schemas".*output schema: twice: /) },
    });
    expect(await client.jobs.list({ kind: "named" })).toEqual([]);
    const asynchronous = await endOf(client, (await client.enqueue(other, {})).id);
    expect(asynchronous.error?.code).toBe("FAIRMILL_RESULT_INVALID");
  });

  test("cancel, snooze and ctx.complete need not fit; what is given to complete must", async () => {
    const pool = db.pool;
    let runs = 0;
    await using _ = await startWorker(db.url, [
      handle(schemas, async (ctx) => {
        if (ctx.input.n === 0) return cancel("none");
        if (ctx.input.n === 1) return runs++ === 0 ? snooze(0) : { twice: 2, at: new Date(0) };
        return ctx.complete(pool, ctx.input.n === 2 ? { twice: 4, at: new Date(0) } : "odd");
      }),
    ]);
    const ends = [];
    for (const n of [0, 1, 2, 3]) ends.push(await endOf(client, (await client.enqueue(schemas, { n })).id));
    expect(ends.map(({ state }) => state)).toEqual(["cancelled", "done", "done", "dead"]);
    expect(ends[2]!.result).toEqual({ twice: 4, at: "1970-01-01T00:00:00.000Z", word: "none" });
    expect(ends[3]!.error?.code).toBe("FAIRMILL_RESULT_INVALID");
  });
});

describe("a result that is not to be had", () => {
  const job = defineJob<object, string>({ kind: "fails", ...once });

  test("is an error of its own, with the id of the job", async () => {
    const waiting = await client.enqueue(job, {}, { delay: "1h" });
    const late = await client.result(waiting, { timeout: 1 }).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(ResultTimeoutError);
    expect(late).toMatchObject({ code: "FAIRMILL_RESULT_TIMEOUT", jobId: waiting.id, state: "scheduled" });

    await client.cancel(waiting.id);
    const cancelled = await client.result(waiting).catch((error: unknown) => error);
    expect(cancelled).toBeInstanceOf(ResultCancelledError);
    expect(cancelled).toMatchObject({ code: "FAIRMILL_RESULT_CANCELLED", jobId: waiting.id });

    await using _ = await startWorker(db.url, [
      handle(job, () => {
        throw Object.assign(new Error("no paper"), { code: "E_PAPER" });
      }),
    ]);
    const dead = await client.enqueue(job, {});
    const failed = await client.result(dead).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(JobFailedError);
    expect(failed).toMatchObject({
      code: "FAIRMILL_JOB_FAILED",
      jobId: dead.id,
      error: { message: "no paper", code: "E_PAPER" },
      message: expect.stringContaining("no paper"),
    });

    const missing = await client.result("999999999").catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(JobNotFoundError);
    expect(missing).toMatchObject({ jobId: "999999999" });
  });
});
