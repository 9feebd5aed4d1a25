// A10 B15 F9: the figures that Prometheus reads are instruments of OpenTelemetry, too, under the same names.
import { createClient } from "fairmill";
import type { OpenTelemetryMeter } from "fairmill/observe";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { record } from "./rows.js";

const db = useDatabase();
const client = () => createClient({ databaseUrl: db.url });

type Observe = Parameters<OpenTelemetryMeter["addBatchObservableCallback"]>[0];

/** What a meter of the SDK does with these calls: it refuses a name that comes twice, and takes values of the instruments of a callback alone. */
function recordingMeter() {
  const made = new Map<string, { type: string; unit: string | undefined }>();
  const callbacks = new Map<Observe, ReadonlySet<unknown>>();
  const create = (type: string) => (name: string, options: { description: string; unit?: string }) => {
    if (made.has(name)) throw new Error(`${name} was made before`);
    if (!/^[a-z][a-z0-9_./-]{0,254}$/i.test(name)) throw new Error(`${name} is no name of an instrument`);
    made.set(name, { type, unit: options.unit });
    return { name };
  };
  const meter: OpenTelemetryMeter = {
    createObservableGauge: create("gauge"),
    createObservableCounter: create("counter"),
    addBatchObservableCallback: (observe, instruments) => void callbacks.set(observe, new Set(instruments)),
    removeBatchObservableCallback: (observe) => void callbacks.delete(observe),
  };
  const collect = async () => {
    const values = new Map<string, number>();
    for (const [observe, instruments] of callbacks)
      await observe({
        observe: (instrument, value, attributes) => {
          if (!instruments.has(instrument)) throw new Error("a value of an instrument that the callback did not name");
          const labels = Object.entries(attributes).map(([label, text]) => `${label}=${text}`);
          values.set([(instrument as { name: string }).name, ...labels].join(" "), value);
        },
      });
    return values;
  };
  return { meter, made, callbacks, collect };
}

test("gauges, totals and histograms are observed at each collection, with units, and without tenants unless asked for", async () => {
  await using c = client();
  const { meter, made, collect } = recordingMeter();
  await c.metrics.observe(meter);
  await db.query("select fairmill.register_v1('w1', '{mails}', interval '1 minute', null, 5, 'host', 1, '0.1.0')");
  await record(db, {
    processed: 7,
    agoMs: 0,
    kinds: { mail: { runs: 10, failed: 1, run_ms: 5_000, run_hist: [2, 0, 5] } },
    tenants: { acme: { claimed: 10 } },
  });
  const values = await collect();
  expect(Object.fromEntries(values)).toMatchObject({
    "fairmill.queue_workers queue=mails": 1,
    "fairmill.error_rate kind=mail": 0.1,
    "fairmill.jobs_processed_total": 7,
    "fairmill.run_seconds_bucket kind=mail le=0.005": 2,
    "fairmill.run_seconds_bucket kind=mail le=+Inf": 7,
    "fairmill.run_seconds_count kind=mail": 7,
    "fairmill.run_seconds_sum kind=mail": 5,
    "fairmill.capacity": 5,
  });
  expect(made.get("fairmill.jobs_processed_total")).toEqual({ type: "counter", unit: undefined });
  expect(made.get("fairmill.queue_oldest_seconds")).toEqual({ type: "gauge", unit: "s" });
  expect(made.get("fairmill.database_size_bytes")).toEqual({ type: "gauge", unit: "By" });
  expect([...values.keys()].join()).not.toContain("acme");
  // The same look: what Prometheus reads afterwards has counted the record once.
  expect(await c.metrics.prometheus()).toContain("\nfairmill_jobs_processed_total 7\n");
});

test("every family that Prometheus reads has its instrument, those of pools that come later too", async () => {
  await using c = client();
  const { meter, made, collect } = recordingMeter();
  await c.metrics.observe(meter, { tenants: true });
  await db.query("insert into fairmill.pool (name) values ('later')");
  const names = (await c.metrics.prometheus({ tenants: true })).matchAll(/^# TYPE fairmill_(\w+) (\w+)$/gm);
  for (const [, name, type] of names)
    for (const part of type === "histogram" ? ["_bucket", "_sum", "_count"] : [""])
      expect(made.has(`fairmill.${name}${part}`), name).toBe(true);
  expect([...(await collect()).keys()]).toContain("fairmill.pool_desired pool=later");
});

test("stopped, it looks no more; what is no meter is refused", async () => {
  await using c = client();
  const { meter, callbacks } = recordingMeter();
  const observed = await c.metrics.observe(meter);
  expect(callbacks.size).toBe(1);
  observed.stop();
  expect(callbacks.size).toBe(0);
  for (const other of [undefined, null, {}, "meter"])
    await expect(c.metrics.observe(other as unknown as OpenTelemetryMeter)).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
      message: 'observe: pass a meter of "@opentelemetry/api": metrics.getMeter("fairmill").',
    });
  await expect(c.metrics.observe(meter, { tenant: true } as object)).rejects.toThrow("tenants");
});
