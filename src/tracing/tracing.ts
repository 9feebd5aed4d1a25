// Traces that go on behind a job: a span for each enqueue, and one for each run that follows from it. A middleware, so that applications without traces pay
// nothing. The application hands over its own `@opentelemetry/api`: this package depends on none, and there is no second copy of it.
import type { JobDraft } from "../core/enqueue/enqueue-middleware.js";
import type { JobContext } from "../core/run/context.js";
import { formatTraceparent, parseTraceparent, type SpanContext } from "./traceparent.js";

/** What is used of `@opentelemetry/api`: `import * as api from "@opentelemetry/api"` fits. */
export interface TraceApi {
  readonly trace: {
    getTracer(name: string, version?: string): Tracer;
    setSpan(context: unknown, span: Span): unknown;
    setSpanContext(context: unknown, spanContext: SpanContext & { readonly isRemote: true }): unknown;
  };
  readonly context: {
    active(): unknown;
    with<T>(context: unknown, work: () => T): T;
  };
  readonly SpanKind: { readonly PRODUCER: number; readonly CONSUMER: number; readonly INTERNAL?: number };
  readonly SpanStatusCode: { readonly ERROR: number };
}

interface Tracer {
  startSpan(
    name: string,
    options: { kind: number; attributes: Record<string, string | number> },
    context?: unknown,
  ): Span;
}

interface Span {
  spanContext(): SpanContext;
  recordException(error: Error | string): void;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/** A middleware for `use`, at enqueue and at run. No tenant, key or payload becomes part of a span. */
export function tracing(api: TraceApi, version?: string) {
  const tracer = api.trace.getTracer("fairmill", version);
  return {
    name: "fairmill.tracing",
    enqueue: (job: JobDraft) => {
      // The caller says which trace it belongs to.
      if (job.options.trace !== undefined) return undefined;
      const span = tracer.startSpan(`enqueue ${job.kind}`, {
        kind: api.SpanKind.PRODUCER,
        attributes: {
          "messaging.system": "fairmill",
          "messaging.operation.type": "send",
          "messaging.destination.name": job.queue,
          "fairmill.kind": job.kind,
        },
      });
      // It says that a job was handed over; what storing it comes to is the caller's own span.
      span.end();
      const trace = formatTraceparent(span.spanContext());
      return trace === undefined ? undefined : { options: { ...job.options, trace } };
    },
    run: (ctx: JobContext, next: () => unknown): unknown => {
      const from = parseTraceparent(ctx.trace);
      const active = api.context.active();
      const parent = from === undefined ? active : api.trace.setSpanContext(active, { ...from, isRemote: true });
      const span = tracer.startSpan(
        `run ${ctx.kind}`,
        {
          kind: api.SpanKind.CONSUMER,
          attributes: {
            "messaging.system": "fairmill",
            "messaging.operation.type": "process",
            "messaging.destination.name": ctx.queue,
            "messaging.message.id": ctx.id,
            "fairmill.kind": ctx.kind,
            "fairmill.attempt": ctx.attempt,
          },
        },
        parent,
      );
      traceSteps(api, tracer, ctx);
      return ended(api, span, () => api.context.with(api.trace.setSpan(parent, span), next));
    },
  };
}

/** A step that is done in this run is a child of its span; one that an earlier run did is none. */
function traceSteps(api: TraceApi, tracer: Tracer, ctx: JobContext): void {
  const { kind } = ctx;
  const plain = ctx.step;
  const step: JobContext["step"] = (name, work) =>
    plain(name, () => {
      const parent = api.context.active();
      const options = {
        kind: api.SpanKind.INTERNAL ?? 0,
        attributes: { "fairmill.kind": kind, "fairmill.step": name },
      };
      const span = tracer.startSpan(`step ${name}`, options, parent);
      return ended(api, span, () => api.context.with(api.trace.setSpan(parent, span), work)) as ReturnType<typeof work>;
    });
  Object.defineProperty(ctx, "step", { value: step, configurable: true });
}

/** Ends the span with the work, however that ends; what it came to is handed on as it is. */
function ended(api: TraceApi, span: Span, work: () => unknown): unknown {
  const failed = (error: unknown): never => {
    span.recordException(error instanceof Error ? error : String(error));
    span.setStatus({ code: api.SpanStatusCode.ERROR, message: error instanceof Error ? error.name : "NonError" });
    span.end();
    throw error;
  };
  let result: unknown;
  try {
    result = work();
  } catch (error) {
    return failed(error);
  }
  if (typeof (result as PromiseLike<unknown> | undefined)?.then !== "function") {
    span.end();
    return result;
  }
  return Promise.resolve(result as PromiseLike<unknown>).then((value) => {
    span.end();
    return value;
  }, failed);
}
