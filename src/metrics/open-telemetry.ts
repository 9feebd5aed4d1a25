// The same families for OpenTelemetry: instruments of the application's own meter, observed whenever its reader collects. As with traces (0043) the
// application hands over its own API, described here by what is used of it: this package depends on none.
import { ConfigError } from "../base/errors.js";
import { readable } from "../base/settings.js";
import type { Family, Sample } from "./metric-family.js";

/** What is used of a meter of `@opentelemetry/api`: `metrics.getMeter("fairmill")` fits. */
export interface OpenTelemetryMeter {
  createObservableGauge(name: string, options: InstrumentOptions): unknown;
  createObservableCounter(name: string, options: InstrumentOptions): unknown;
  addBatchObservableCallback(observe: (result: Observations) => Promise<void>, instruments: unknown[]): void;
  removeBatchObservableCallback(observe: (result: Observations) => Promise<void>, instruments: unknown[]): void;
}

interface InstrumentOptions {
  readonly description: string;
  readonly unit?: string;
}

interface Observations {
  observe(instrument: unknown, value: number, attributes: Record<string, string>): void;
}

export interface ObservedMetrics {
  /** No more looks at the database. */
  stop(): void;
}

/** What becomes one instrument. */
interface Observed {
  readonly name: string;
  readonly help: string;
  readonly isCounter: boolean;
  readonly samples: readonly Sample[];
}

/** Every look tells all families, those without a sample too: the first one names the instruments. */
export async function observeFamilies(
  meter: OpenTelemetryMeter,
  look: () => Promise<readonly Family[]>,
): Promise<ObservedMetrics> {
  refuseOther(meter);
  const instruments = new Map<string, unknown>();
  for (const observed of (await look()).flatMap(observedOf))
    instruments.set(observed.name, instrumentOf(meter, observed));
  const observe = async (result: Observations) => {
    for (const { name, samples } of (await look()).flatMap(observedOf))
      for (const { labels, value } of samples)
        if (Number.isFinite(value)) result.observe(instruments.get(name), value, { ...labels });
  };
  const all = [...instruments.values()];
  meter.addBatchObservableCallback(observe, all);
  return { stop: () => meter.removeBatchObservableCallback(observe, all) };
}

const METHODS = [
  "createObservableGauge",
  "createObservableCounter",
  "addBatchObservableCallback",
  "removeBatchObservableCallback",
] as const satisfies readonly (keyof OpenTelemetryMeter)[];

function refuseOther(meter: OpenTelemetryMeter | null | undefined): void {
  if (readable("meter", "observe", () => METHODS.every((name) => typeof meter?.[name] === "function"))) return;
  throw new ConfigError("meter", 'observe: pass a meter of "@opentelemetry/api": metrics.getMeter("fairmill").');
}

function instrumentOf(meter: OpenTelemetryMeter, { name, help, isCounter }: Observed): unknown {
  const unit = name.endsWith("_seconds") ? "s" : name.endsWith("_bytes") ? "By" : undefined;
  const options = { description: help, ...(unit === undefined ? {} : { unit }) };
  return isCounter
    ? meter.createObservableCounter(`fairmill.${name}`, options)
    : meter.createObservableGauge(`fairmill.${name}`, options);
}

/** The API has no histogram that is observed: its buckets, sum and count are counters, named and labelled as Prometheus does. */
function observedOf(family: Family): Observed[] {
  const { name, help } = family;
  if (family.type !== "histogram")
    return [{ name, help, isCounter: family.type === "counter", samples: family.samples }];
  const counter = (part: string, samples: Sample[]) => ({ name: `${name}_${part}`, help, isCounter: true, samples });
  const buckets = family.histograms.flatMap(({ labels, counts }) => {
    let count = 0;
    return [...family.bounds, Number.POSITIVE_INFINITY].map((bound, index) => {
      count += counts[index] ?? 0;
      return { labels: { ...labels, le: bound === Number.POSITIVE_INFINITY ? "+Inf" : String(bound) }, value: count };
    });
  });
  return [
    counter("bucket", buckets),
    counter(
      "sum",
      family.histograms.map(({ labels, sum }) => ({ labels, value: sum })),
    ),
    counter(
      "count",
      family.histograms.map(({ labels, counts }) => ({ labels, value: counts.reduce((all, one) => all + one, 0) })),
    ),
  ];
}
