// What a metric is, whatever shows it: a family of samples with labels. Renderers (Prometheus text) and exporters read families and nothing else.

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Histogram {
  readonly labels: Readonly<Record<string, string>>;
  /** Counts by bucket, not added up, one more than there are bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

interface Described {
  /** Without prefix: "queue_depth". */
  readonly name: string;
  readonly help: string;
}

export type Family =
  | (Described & { readonly type: "gauge" | "counter"; readonly samples: readonly Sample[] })
  | (Described & {
      readonly type: "histogram";
      readonly bounds: readonly number[];
      readonly histograms: readonly Histogram[];
    });

export const gauge = (name: string, help: string, samples: readonly Sample[]): Family => ({
  name,
  help,
  type: "gauge",
  samples,
});
