// F1: typed jobs, with any Standard Schema library.
import { type Client, defineJob, exponential, fixed, handle, type JobDefinition, type Queryable } from "fairmill";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";

describe("a definition", () => {
  test("has the defaults that the documentation names, and cannot be changed", () => {
    const job = defineJob({ kind: "mail.send" });
    expect(job).toMatchObject({
      kind: "mail.send",
      queue: "default",
      priority: 0,
      timeoutMs: 300_000,
      expireMs: undefined,
      maxAttempts: 3,
      key: undefined,
      schema: undefined,
    });
    expect(job.backoff(1, 0.5)).toBe(exponential()(1, 0.5));
    expect(Object.isFrozen(job)).toBe(true);
  });

  test('of a kind that begins with "fairmill." is refused: those are Fairmill\'s own', () => {
    expect(() => defineJob({ kind: "fairmill.deliver.mail" })).toThrow(/"fairmill\." are Fairmill's own/);
    expect(defineJob({ kind: "fairmill" }).kind).toBe("fairmill");
  });

  test("takes every setting", () => {
    const backoff = fixed("1s");
    const job = defineJob<{ user: string }>({
      kind: "a",
      queue: "slow",
      priority: -1000,
      timeout: "90s",
      expire: "1h",
      retry: { attempts: 7, backoff },
      key: (input) => input.user,
    });
    expect(job).toMatchObject({
      queue: "slow",
      priority: -1000,
      timeoutMs: 90_000,
      expireMs: 3_600_000,
      maxAttempts: 7,
      backoff,
    });
    expect(job.key?.({ user: "ann" })).toBe("ann");
    expect(defineJob({ kind: "a", timeout: 0 }).timeoutMs).toBe(0);
  });

  test.each<[string, object, RegExp]>([
    ["no kind", {}, /^kind: /],
    ["an empty kind", { kind: "" }, /^kind: /],
    [
      "an unknown setting",
      { kind: "a", timout: 5 },
      /defineJob\("a"\): unknown setting "timout"\. Did you mean "timeout"\?/,
    ],
    [
      "an unknown setting of retry",
      { kind: "a", retry: { atempts: 5 } },
      /defineJob\("a"\)\.retry.*Did you mean "attempts"\?/,
    ],
    ["a retry that is false", { kind: "a", retry: false }, /defineJob\("a"\)\.retry: false is no object of settings/],
    ["a retry that is a number", { kind: "a", retry: 1 }, /defineJob\("a"\)\.retry: 1 is no object.*Known: attempts/],
    ["a retry that is null", { kind: "a", retry: null }, /defineJob\("a"\)\.retry: null/],
    ["no attempts", { kind: "a", retry: { attempts: 0 } }, /^retry\.attempts: 0/],
    ["half an attempt", { kind: "a", retry: { attempts: 1.5 } }, /^retry\.attempts/],
    ["a priority out of bounds", { kind: "a", priority: 1001 }, /^priority: 1001/],
    ["a time limit that is none", { kind: "a", timeout: "soon" }, /^timeout: "soon"/],
    ["a time to live that is none", { kind: "a", expire: -1 }, /^expire: -1/],
    ["an input that is no schema", { kind: "a", input: { user: "string" } }, /input is not a Standard Schema/],
    ["an input that is null", { kind: "a", input: null }, /input is not a Standard Schema/],
    ["a key that is no function", { kind: "a", key: "user" }, /key/],
    ["a backoff that is no function", { kind: "a", retry: { backoff: 5 } }, /retry\.backoff/],
  ])("is refused with %s", (_, options, message) => {
    expect(() => defineJob(options as { kind: string })).toThrow(message);
    expect(() => defineJob(options as { kind: string })).toThrow(expect.objectContaining({ code: "FAIRMILL_CONFIG" }));
  });

  test("that is no object at all is refused, too", () => {
    expect(() => defineJob(undefined as never)).toThrow(expect.objectContaining({ code: "FAIRMILL_CONFIG" }));
    expect(() => defineJob("a" as never)).toThrow(expect.objectContaining({ code: "FAIRMILL_CONFIG" }));
  });
});

describe("types", () => {
  test("of zod: enqueue takes what goes in, the handler gets what comes out", () => {
    const job = defineJob({
      kind: "zod",
      input: z.object({ at: z.string().transform((text) => new Date(text)), count: z.number().default(1) }),
      key: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ at: string; count?: number | undefined }>();
        return input.at;
      },
    });
    expectTypeOf(job).toEqualTypeOf<
      JobDefinition<{ at: string; count?: number | undefined }, { at: Date; count: number }>
    >();
    handle(job, ({ input }) => {
      expectTypeOf(input).toEqualTypeOf<{ at: Date; count: number }>();
    });
  });

  test("of valibot: enqueue takes what goes in, the handler gets what comes out", () => {
    const job = defineJob({
      kind: "valibot",
      input: v.object({ n: v.pipe(v.string(), v.transform(Number)) }),
      key: (input) => input.n,
    });
    expectTypeOf(job).toEqualTypeOf<JobDefinition<{ n: string }, { n: number }>>();
    handle(job, ({ input }) => {
      expectTypeOf(input.n).toEqualTypeOf<number>();
    });
  });

  test("without a schema: the named type, or unknown", () => {
    expectTypeOf(defineJob<{ id: number }>({ kind: "a" })).toEqualTypeOf<
      JobDefinition<{ id: number }, { id: number }>
    >();
    expectTypeOf(defineJob({ kind: "a" })).toEqualTypeOf<JobDefinition<unknown, unknown>>();
  });

  test("an input of the wrong type does not compile", () => {
    const job = defineJob<{ id: number }>({ kind: "a" });
    const dated = defineJob({ kind: "b", input: z.object({ at: z.string().transform((text) => new Date(text)) }) });
    // Only compiled, never called.
    const neverCalled = (client: Client, tx: Queryable) => [
      client.enqueue(job, { id: 1 }),
      client.enqueue(dated, { at: "1999-12-31" }),
      client.enqueueMany(job, [{ input: { id: 1 }, tenant: "acme" }]),
      // @ts-expect-error: a text is no number.
      client.enqueue(job, { id: "1" }),
      // @ts-expect-error: the member is missing.
      client.enqueue(job, {}),
      // @ts-expect-error: what goes in is the text, not what comes out.
      client.enqueue(dated, { at: new Date() }),
      // @ts-expect-error: in lists, too.
      client.enqueueMany(job, [{ input: { id: "1" } }]),
      // @ts-expect-error: in transactions, too.
      client.in(tx).enqueue(job, { id: "1" }),
      // @ts-expect-error: an option that does not exist.
      client.enqueue(job, { id: 1 }, { dealy: 5 }),
    ];
    expect(neverCalled).toBeTypeOf("function");
    // @ts-expect-error: the handler gets a number.
    handle(job, ({ input }) => input.id.toUpperCase());
    // @ts-expect-error: the key is made of the input.
    defineJob<{ id: number }>({ kind: "a", key: (input) => input.name });
    // @ts-expect-error: a unit that does not exist.
    expect(() => defineJob({ kind: "a", timeout: "5 minutes" })).toThrow(/timeout/);
  });
});

test("a handler without a function, or without a job, is refused", () => {
  for (const job of [undefined, null, "a", {}])
    expect(() => handle(job as never, () => 1)).toThrow(
      expect.objectContaining({ code: "FAIRMILL_CONFIG", message: expect.stringContaining("defineJob(…)") }),
    );
  expect(() => handle(defineJob({ kind: "a" }), undefined as never)).toThrow(/handle\("a"\): the second argument/);
});
