// The traceparent of W3C Trace Context, version 00: what travels with a job.

export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  /** 1: the trace is recorded. */
  readonly traceFlags: number;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);

/** Undefined where the context is none: nothing is stored then. */
export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  const text = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
  return parseTraceparent(text) === undefined ? undefined : text;
}

/** Undefined where the text is no traceparent: a trace that cannot be read must not keep a job from running. */
export function parseTraceparent(text: unknown): SpanContext | undefined {
  const [, version, traceId, spanId, flags] = (typeof text === "string" && FORM.exec(text)) || [];
  if (version === undefined || version === "ff" || traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  return { traceId: traceId!, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16) };
}
