// What other rooms give this one: series from interval records, alerts, logs of jobs, scaling, providers. Where one is missing, its routes answer 501.
// Answers have the shapes of the API and go out as they are.

import type { LimitScope } from "../core/claim/closed-limit.js";

/** Part of time, checked: milliseconds since 1970. */
export interface Span {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** undefined: about 120 points. */
  readonly stepMs: number | undefined;
}

/** What a question is about; undefined: everything. A credential of one tenant always has its tenant here. */
export interface Scope {
  readonly queue: string | undefined;
  readonly kind: string | undefined;
  readonly tenant: string | undefined;
}

export type SeriesBy = "none" | "queue" | "kind" | "tenant" | "worker" | "provider" | "version";

export interface MetricsReader {
  /** Jobs in and out a second, now. */
  rates?(scope: Scope): Promise<{ inPerSecond: number | null; outPerSecond: number | null }>;
  series(span: Span, scope: Scope, names: readonly string[], by: SeriesBy): Promise<object>;
  backlog?(span: Span, scope: Scope): Promise<object>;
  fairness?(span: Span, scope: Scope, tenantsMax: number): Promise<object>;
  time?(span: Span, scope: Scope, by: "kind" | "queue" | "tenant"): Promise<object>;
  money?(span: Span, scope: Scope, by: "kind" | "tenant"): Promise<object>;
  /** A limit replayed on the last hour, before it is set. */
  tryLimit?(scope: LimitScope, name: string, settings: Readonly<Record<string, unknown>>): Promise<object>;
}

export interface AlertReader {
  list(page: {
    state: string | undefined;
    cursor: string | undefined;
    limit: number;
  }): Promise<{ items: readonly object[]; next: string | null }>;
  rules(): Promise<readonly object[]>;
  /** undefined: there is no such alert. */
  silence(id: string, forMs: number, by: string, reason: string | undefined): Promise<object | undefined>;
  /** What fires now, for "needs you". */
  firing?(): Promise<
    readonly {
      rule: string;
      /** What it is about; "" or none: all of it. */
      subject?: string;
      severity: "info" | "warning" | "critical";
      message: string;
      since: string | null;
    }[]
  >;
}

export interface LogReader {
  logs(
    jobId: string,
    page: { cursor: string | undefined; limit: number; level: string | undefined },
  ): Promise<{ items: readonly object[]; next: string | null }>;
}

export interface ScalingReader {
  decisions(
    span: Span,
    page: { pool: string | undefined; cursor: string | undefined; limit: number },
  ): Promise<{ items: readonly object[]; next: string | null }>;
  pools(): Promise<readonly object[]>;
  /** Workers that a pool should have; undefined: there is no such pool. */
  desired?(pool: string): Promise<number | undefined>;
}

export interface ProviderReader {
  providers(span: Span): Promise<readonly object[]>;
}

export interface Readers {
  readonly metrics?: MetricsReader | undefined;
  readonly alerts?: AlertReader | undefined;
  readonly logs?: LogReader | undefined;
  readonly scaling?: ScalingReader | undefined;
  readonly providers?: ProviderReader | undefined;
}
