// F9: trace context travels with a job: the span of a run is a child of the span that enqueued it.
import { describe, expect, test } from "vitest";
import { formatTraceparent, parseTraceparent } from "../../src/tracing/traceparent.js";
import { tracing } from "../../src/tracing/tracing.js";
import { recordingApi } from "./recording-api.js";

const draft = { kind: "mail.send", queue: "mails", input: { secret: "s" }, options: { tenant: "acme" } };
const context = (trace?: string | null) =>
  ({ kind: "mail.send", queue: "mails", id: "17", attempt: 2, tenant: "acme", trace }) as never;

describe("tracing", () => {
  test("an enqueue has a span, and the run that follows is its child, in one trace", async () => {
    const { api, spans, active } = recordingApi();
    const { enqueue, run } = tracing(api);
    const change = enqueue(draft)!;
    const { trace } = change.options as { trace: string };
    expect(trace).toBe(`00-${"1".repeat(32)}-${"1".repeat(16)}-01`);
    expect(change.options).toMatchObject({ tenant: "acme" });
    expect(await run(context(trace), async () => active().span?.spanId)).toBe(spans[1]!.context.spanId);
    expect(spans.map(({ name, kind, parent, ends }) => [name, kind, parent, ends])).toEqual([
      ["enqueue mail.send", 3, undefined, 1],
      ["run mail.send", 4, spans[0]!.context.spanId, 1],
    ]);
    expect(spans[1]!.context.traceId).toBe(spans[0]!.context.traceId);
    expect(JSON.stringify(spans)).not.toMatch(/acme|secret/);
  });

  test.each([
    ["returns at once", () => 7, false],
    [
      "throws at once",
      () => {
        throw new Error("no");
      },
      true,
    ],
    ["returns later", async () => 7, false],
    [
      "throws later",
      async () => {
        throw new TypeError("no");
      },
      true,
    ],
  ])("a handler that %s ends its span once, and keeps its own end", async (_, work, isFailed) => {
    const { api, spans } = recordingApi();
    const { run } = tracing(api);
    const got = await Promise.resolve()
      .then(() => run(context(null), work))
      .catch((error: Error) => error);
    expect(spans[0]).toMatchObject({ ends: 1, parent: undefined });
    if (!isFailed) expect(got).toBe(7);
    else {
      expect(got).toBeInstanceOf(Error);
      expect(spans[0]!.status).toMatchObject({ code: 2, message: (got as Error).name });
      expect(spans[0]!.errors).toEqual([got]);
    }
  });

  test("a trace that the caller gave stays; one that cannot be read keeps nothing from running", () => {
    const { api, spans } = recordingApi();
    const { enqueue, run } = tracing(api);
    expect(enqueue({ ...draft, options: { trace: "given" } as never })).toBeUndefined();
    expect(run(context("nonsense"), () => 1)).toBe(1);
    expect(spans).toMatchObject([{ parent: undefined, ends: 1 }]);
  });
});

describe("traceparent", () => {
  const good = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  test("there and back", () => {
    expect(formatTraceparent(parseTraceparent(good)!)).toBe(good);
  });
  test.each([
    [null],
    [""],
    ["x"],
    [good.toUpperCase()],
    [`ff${good.slice(2)}`],
    [`00-${"0".repeat(32)}-${"b".repeat(16)}-01`],
    [`00-${"a".repeat(32)}-${"0".repeat(16)}-01`],
    [`${good}-more`],
  ])("%j is none", (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });
  test("a span that records nothing leaves nothing in the job", () => {
    expect(formatTraceparent({ traceId: "0".repeat(32), spanId: "0".repeat(16), traceFlags: 0 })).toBeUndefined();
  });
});
