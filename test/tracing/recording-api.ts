// What `@opentelemetry/api` does with a context manager over AsyncLocalStorage, keeping every span.
import { AsyncLocalStorage } from "node:async_hooks";
import type { SpanContext } from "../../src/tracing/traceparent.js";
import type { TraceApi } from "../../src/tracing/tracing.js";

export interface SpanRecord {
  name: string;
  kind: number;
  attributes: Record<string, unknown>;
  context: SpanContext;
  parent: string | undefined;
  status?: { code: number; message?: string };
  errors: unknown[];
  ends: number;
}

type Context = { span?: SpanContext };

export interface RecordingApi {
  readonly api: TraceApi;
  readonly spans: SpanRecord[];
  readonly active: () => Context;
}

/** Contexts are values; the active one is what `with` was given, behind every await as well. */
export function recordingApi(): RecordingApi {
  const spans: SpanRecord[] = [];
  const storage = new AsyncLocalStorage<Context>();
  const active = () => storage.getStore() ?? {};
  const api: TraceApi = {
    SpanKind: { PRODUCER: 3, CONSUMER: 4 },
    SpanStatusCode: { ERROR: 2 },
    context: { active, with: (context, work) => storage.run(context as Context, work) },
    trace: {
      setSpan: (_, span) => ({ span: span.spanContext() }),
      setSpanContext: (_, span) => ({ span }),
      getTracer: () => ({
        startSpan: (name, { kind, attributes }, context = active()) => {
          const parent = (context as Context).span;
          const n = (spans.length + 1).toString(16);
          const own = {
            traceId: parent?.traceId ?? n.repeat(32).slice(0, 32),
            spanId: n.repeat(16).slice(0, 16),
            traceFlags: 1,
          };
          const record: SpanRecord = {
            name,
            kind,
            attributes,
            parent: parent?.spanId,
            errors: [],
            ends: 0,
            context: own,
          };
          spans.push(record);
          return {
            spanContext: () => record.context,
            recordException: (error) => void record.errors.push(error),
            setStatus: (status) => {
              record.status = status;
            },
            end: () => void record.ends++,
          };
        },
      }),
    },
  };
  return { api, spans, active };
}
