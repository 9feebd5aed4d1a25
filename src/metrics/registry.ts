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

/** Whatever has metrics to show: asked for each scrape. */
export interface MetricSource {
  collect(): Promise<readonly Family[]>;
}

/** The families of several sources, by name; of equal names the samples of all. */
export class Registry implements MetricSource {
  readonly #sources = new Set<MetricSource>();

  add(source: MetricSource): void {
    this.#sources.add(source);
  }

  async collect(): Promise<readonly Family[]> {
    const all = await Promise.all([...this.#sources].map((source) => source.collect()));
    const byName = new Map<string, Family>();
    for (const family of all.flat()) byName.set(family.name, joined(byName.get(family.name), family));
    return [...byName.values()];
  }
}

function joined(known: Family | undefined, more: Family): Family {
  if (known?.type === "histogram" && more.type === "histogram")
    return { ...known, histograms: [...known.histograms, ...more.histograms] };
  if (known === undefined || known.type === "histogram" || more.type === "histogram") return more;
  return { ...known, samples: [...known.samples, ...more.samples] };
}
