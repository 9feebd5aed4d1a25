// `client.metrics`: figures of the fleet, for Prometheus and OpenTelemetry too, lines over time, and what applications report.
import { ConfigError } from "../base/errors.js";
import { nameOf, readable, refuseUnknown } from "../base/settings.js";
import type { Database } from "../db/database.js";
import { type Figures, readFigures } from "./figures.js";
import { FleetMetrics, type FleetMetricsOptions } from "./fleet-metrics.js";
import { type ObservedMetrics, type OpenTelemetryMeter, observeFamilies } from "./open-telemetry.js";
import { renderPrometheus } from "./prometheus.js";
import { readSeries, type Series, type SeriesQuery } from "./series.js";

/** A figure that only the application knows. */
export interface Measurement {
  /** "api_latency" (seconds, labelled with the provider), "storage_size" (bytes), or a name of your own. */
  readonly name: string;
  readonly label?: string;
  readonly value: number;
}

const MEASUREMENTS_MAX = 1_000;

export class Metrics {
  readonly #db: Database;
  readonly #call: <T>(work: () => Promise<T>) => Promise<T>;
  readonly #fleets = new Map<boolean, FleetMetrics>();

  constructor(db: Database, call: <T>(work: () => Promise<T>) => Promise<T>) {
    this.#db = db;
    this.#call = call;
  }

  /** One look at the whole fleet. */
  figures(): Promise<Figures> {
    return this.#call(() => readFigures(this.#db));
  }

  /** A line over time for each queue, kind, tenant or worker. */
  series(query: SeriesQuery): Promise<Series> {
    return this.#call(async () => readSeries(this.#db, query));
  }

  /** Everything as Prometheus reads it. Totals count from the first call of this client on: ask one client each time. */
  prometheus(options: FleetMetricsOptions = {}): Promise<string> {
    return this.#call(async () => renderPrometheus(await this.#fleet(options, "prometheus").collect()));
  }

  /** The same as instruments of a meter of OpenTelemetry, looked at whenever its reader collects, until it is stopped. */
  observe(meter: OpenTelemetryMeter, options: FleetMetricsOptions = {}): Promise<ObservedMetrics> {
    return this.#call(async () => {
      const fleet = this.#fleet(options, "observe");
      return observeFamilies(meter, () => this.#call(() => fleet.collect()));
    });
  }

  #fleet(options: FleetMetricsOptions, asker: string): FleetMetrics {
    refuseUnknown(options, ["tenants"], asker);
    const withTenants = options.tenants ?? false;
    const fleet = this.#fleets.get(withTenants) ?? new FleetMetrics(this.#db, { tenants: withTenants });
    this.#fleets.set(withTenants, fleet);
    return fleet;
  }

  /** Keeps figures for metrics and alerts: how long a provider took, how much is stored. Many calls a second belong added up. */
  record(measurements: readonly Measurement[]): Promise<void> {
    return this.#call(async () => {
      const samples = addedUp(measurements);
      if (samples.length > 0) await recordSamples(this.#db, samples);
    });
  }
}

export interface NewSample {
  readonly name: string;
  readonly label: string;
  count: number;
  sum: number;
  max: number;
}

async function recordSamples(db: Database, samples: readonly NewSample[]): Promise<void> {
  await db.query("select fairmill.record_metrics_v1($1)", [JSON.stringify(samples)]);
}

/** What a round of alerts leaves: samples, and what the fleet looks like now. */
export async function recordRound(db: Database, samples: readonly NewSample[]): Promise<void> {
  await db.query("select fairmill.record_metrics_v1($1), fairmill.record_fleet_v1()", [JSON.stringify(samples)]);
}

function addedUp(measurements: readonly Measurement[]): NewSample[] {
  const given = readable("measurements", "record", () => (Array.isArray(measurements) ? [...measurements] : undefined));
  if (given === undefined || given.length > MEASUREMENTS_MAX)
    throw new ConfigError("measurements", `record: pass a list of at most ${MEASUREMENTS_MAX} measurements.`);
  const samples = new Map<string, NewSample>();
  for (const measurement of given as Measurement[]) {
    refuseUnknown(measurement, ["name", "label", "value"], "record");
    const name = nameOf(measurement.name, "name");
    const label = measurement.label === undefined ? "" : nameOf(measurement.label, "label");
    const { value } = measurement;
    if (typeof value !== "number" || !Number.isFinite(value))
      throw new ConfigError("value", `record: the value of "${name}" must be a finite number.`);
    if (name.startsWith("fleet.") || Buffer.byteLength(name) > 100)
      throw new ConfigError(
        "name",
        `record: "${name}" cannot be a name: at most 100 bytes, and names that begin with "fleet." are Fairmill's own.`,
      );
    const key = JSON.stringify([name, label]);
    const known = samples.get(key);
    if (known === undefined) samples.set(key, { name, label, count: 1, sum: value, max: value });
    else {
      known.count++;
      known.sum += value;
      known.max = Math.max(known.max, value);
    }
  }
  return [...samples.values()];
}
