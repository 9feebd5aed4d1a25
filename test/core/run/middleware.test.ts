// Middlewares around a handler, without a worker: order, promises, and every way to break the rules of `next`.
import { describe, expect, test } from "vitest";
import { defineJob } from "../../../src/core/job/job-definition.js";
import { MiddlewareError } from "../../../src/core/job/middleware-list.js";
import type { JobContext } from "../../../src/core/run/context.js";
import { handle, handlerTable } from "../../../src/core/run/handler.js";
import { type RunMiddleware, type RunPart, surround } from "../../../src/core/run/run-middleware.js";
import { middleware } from "../../../src/worker/worker-middleware.js";
import { gate } from "../../support/jobs.js";

const ctx = () => ({ id: "1" }) as unknown as JobContext;
const run = (run: RunPart, name = "m"): RunMiddleware => ({ name, run });
const isPromise = (value: unknown) => value instanceof Promise;

describe("E4: order", () => {
  const noting = (name: string, notes: string[], isAsync: boolean) =>
    run(
      isAsync
        ? async (_, next) => {
            notes.push(`${name} in`);
            const result = await next();
            notes.push(`${name} out`);
            return result;
          }
        : (_, next) => {
            notes.push(`${name} in`);
            const result = next();
            notes.push(`${name} out`);
            return result;
          },
      name,
    );

  test.each([
    [false, false],
    [true, true],
    [true, false],
  ])("the first is outermost (async: %s, handler: %s)", async (isAsync, isHandlerAsync) => {
    const notes: string[] = [];
    const handler = () => {
      notes.push("handler");
      return isHandlerAsync ? Promise.resolve("result") : "result";
    };
    const all = surround([noting("a", notes, isAsync), noting("b", notes, isAsync)], handler);
    expect(await all(ctx())).toBe("result");
    expect(notes).toEqual(["a in", "b in", "handler", "b out", "a out"]);
  });
});

describe("cost", () => {
  test("without middlewares the handler is itself", () => {
    const handler = handle(defineJob({ kind: "j" }), () => {});
    expect(handlerTable([handler]).get("j")).toBe(handler);
    expect(handlerTable([handler], [{ name: "enqueue only" }]).get("j")).toBe(handler);
  });

  test("where nothing waits there is no promise", () => {
    const both = [run((_, next) => next(), "a"), run((_, next) => `${next()}!`, "b")];
    expect(surround(both, () => "result")(ctx())).toBe("result!");
  });

  test("a promise that is handed on is the handler's own", () => {
    const result = Promise.resolve(1);
    expect(surround([run((_, next) => next())], () => result)(ctx())).toBe(result);
  });
});

describe("results and errors", () => {
  test("a middleware may change the result, or be the result", async () => {
    expect(surround([run((_, next) => [next()])], () => 1)(ctx())).toEqual([1]);
    expect(await surround([run(async (_, next) => [await next()])], async () => 1)(ctx())).toEqual([1]);
    let isRun = false;
    const skipped = surround([run(() => "instead")], () => {
      isRun = true;
    });
    expect(skipped(ctx())).toBe("instead");
    expect(isRun).toBe(false);
  });

  test("what it throws is thrown, at once or later; what the handler throws it may catch", async () => {
    const error = new Error("no");
    const fails = () => {
      throw error;
    };
    expect(() => surround([run(fails)], () => 1)(ctx())).toThrow(error);
    await expect(surround([run(async () => fails())], () => 1)(ctx())).rejects.toBe(error);
    expect(() => surround([run((_, next) => next())], fails)(ctx())).toThrow(error);
    await expect(surround([run(async (_, next) => next())], async () => fails())(ctx())).rejects.toBe(error);
    const catching = run(async (_, next) => {
      try {
        return await next();
      } catch {
        return "caught";
      }
    });
    expect(await surround([catching], async () => fails())(ctx())).toBe("caught");
  });

  test("thenables of any make are waited for", async () => {
    // biome-ignore lint/suspicious/noThenProperty: such a promise is what is tested.
    const make = () => ({ then: (resolve: (value: number) => void) => resolve(1) });
    expect(await surround([run(async (_, next) => [await next()])], make)(ctx())).toEqual([1]);
    expect(await surround([run(() => make())], () => 2)(ctx())).toBe(1);
  });
});

describe("the rules of next", () => {
  const broken = (what: string) =>
    expect.objectContaining({
      code: "FAIRMILL_MIDDLEWARE",
      retryable: false,
      middleware: "m",
      message: `Middleware "m" ${what}.`,
    });

  test("twice is refused, and stays an error although it was caught", async () => {
    let runs = 0;
    const handler = () => ++runs;
    const twice = run((_, next) => {
      next();
      try {
        next();
      } catch {}
      return "as if nothing had happened";
    });
    expect(() => surround([twice], handler)(ctx())).toThrow(MiddlewareError);
    const later = run(async (_, next) => [await next(), await next()]);
    await expect(surround([later], async () => handler())(ctx())).rejects.toEqual(broken("called next() twice"));
    expect(runs).toBe(2);
  });

  test("not waited for: the handler ends first, then it is an error", async () => {
    const { promise, open } = gate<string>();
    let isOver = false;
    for (const careless of [run((_, next) => void next()), run(async (_, next) => void next())]) {
      const ending = surround([careless], () => promise)(ctx());
      expect(isPromise(ending)).toBe(true);
      void (ending as Promise<unknown>).then(
        () => {},
        () => {
          isOver = true;
        },
      );
    }
    await new Promise(setImmediate);
    expect(isOver).toBe(false);
    const again = surround([run((_, next) => void next())], () => promise)(ctx());
    open("done");
    await expect(again).rejects.toEqual(broken("did not wait for next(): return what it returns, or await it"));
  });

  test("not waited for, and the handler fails: its error is the job's, and none is unhandled", async () => {
    const handler = async () => {
      throw new RangeError("of the handler");
    };
    await expect(surround([run((_, next) => void next())], handler)(ctx())).rejects.toThrow(RangeError);
  });

  test("a middleware that fails while the handler runs: its error is the job's, once the handler has ended", async () => {
    const { promise, open } = gate();
    const ended: string[] = [];
    const handler = async () => {
      await promise;
      ended.push("handler");
    };
    const hasty = run((_, next) => {
      void next();
      throw new RangeError("of the middleware");
    });
    const ending = (surround([hasty], handler)(ctx()) as Promise<unknown>).catch((error: unknown) => {
      ended.push("job");
      return error;
    });
    await new Promise(setImmediate);
    open();
    expect(await ending).toBeInstanceOf(RangeError);
    expect(ended).toEqual(["handler", "job"]);
  });

  test("after its end is too late: the handler does not run", async () => {
    let kept!: () => unknown;
    let runs = 0;
    const keeps = run((_, next) => {
      kept = next as () => unknown;
      return "early";
    });
    expect(surround([keeps], () => ++runs)(ctx())).toBe("early");
    expect(() => kept()).toThrow("called next() after it had ended");
    expect(runs).toBe(0);
  });
});

describe("additions to the context", () => {
  const adds = (add: unknown, name = "m") => run((_, next) => (next as (add: unknown) => unknown)(add), name);
  const seen = (given: JobContext) => ({ ...(given as unknown as Record<string, unknown>) });

  test("are seen by what is inside, on the very same context", () => {
    const given = ctx();
    expect(
      surround([adds({ a: 1 }, "a"), adds({ b: 2 }, "b")], (inner) => [inner === given, seen(inner)])(given),
    ).toEqual([true, { id: "1", a: 1, b: 2 }]);
  });

  test("may not take the place of something", () => {
    expect(() => surround([adds({ id: 2 })], () => 1)(ctx())).toThrow(
      'adds "id" to the context, which is there already',
    );
    expect(() => surround([adds({ a: 1 }, "a"), adds({ a: 2 }, "b")], () => 1)(ctx())).toThrow(
      'Middleware "b" adds "a"',
    );
    expect(() => surround([adds(5)], () => 1)(ctx())).toThrow("what is no object");
  });
});

describe("what handlers need", () => {
  const user = middleware<{ user: string }>({ name: "user", run: (_, next) => next({ user: "ann" }) });
  const needy = handle(defineJob({ kind: "needy" }), (ctx) => ctx.user, { needs: [user] });

  test("is asked for when the worker is made", () => {
    expect(() => handlerTable([needy as never])).toThrow('the handler of job kind "needy" needs the middleware "user"');
    expect(
      handlerTable([needy as never], [user])
        .get("needy")!
        .run(ctx()),
    ).toBe("ann");
    expect(() => handle(defineJob({ kind: "j" }), () => {}, { nedes: [] } as object)).toThrow(/Did you mean "needs"/);
  });
});
