// Fairness lanes and where the time went, in the shapes of the API. What records do not tell apart is null, or left out.
import type { Session } from "../db/session.js";
import { stepsOf } from "../metrics/backlog.js";
import { readServed, readTimes, type ServedStep } from "../metrics/shares.js";
import type { MetricsReader } from "./readers.js";

/** A tenant whose jobs waited longer than this on average wanted more than it was given. */
const WAITED_MS = 1_000;

/** A question about one tenant is answered from its own figures alone: shares of others could be worked out from any sum. */
export const fairnessReader =
  (view: Session): NonNullable<MetricsReader["fairness"]> =>
  async (span, { queue, kind, tenant }, tenantsMax) => {
    const { stepMs, times } = stepsOf(span);
    const [since, until] = [new Date(span.sinceMs), new Date(span.untilMs)];
    // Tenants are not told apart by queue or kind.
    const isRecorded = queue === undefined && kind === undefined;
    const rows = isRecorded ? await readServed(view, since, until, stepMs, tenant) : [];
    const steps = times.map((_, step) => rows.filter((row) => row.step === step));
    const jain = steps.map(jainOf);
    return {
      ...{ since: since.toISOString(), until: until.toISOString(), stepMs, times, jain },
      jainNow: jain.at(-1) ?? null,
      lanes: lanesOf(rows, steps).slice(0, tenantsMax),
    };
  };

/** Of the tenants that waited, by weight; null where fewer than two did: then nothing was shared. */
function jainOf(rows: readonly ServedStep[]): number | null {
  const given = rows.filter(({ waitMs }) => (waitMs ?? 0) > WAITED_MS).map(({ served, weight }) => served / weight);
  const squares = sum(given.map((value) => value ** 2));
  return given.length < 2 || squares === 0 ? null : sum(given) ** 2 / (given.length * squares);
}

/** Entitled is each to its part by weight of what all were given in the steps in which it was given something. */
function lanesOf(rows: readonly ServedStep[], steps: readonly (readonly ServedStep[])[]) {
  const all = sum(rows.map(({ served }) => served));
  const totals = steps.map((of) => ({
    served: sum(of.map(({ served }) => served)),
    weight: sum(of.filter(({ served }) => served > 0).map(({ weight }) => weight)),
  }));
  const byTenant = new Map<string, ServedStep[]>();
  for (const row of rows) byTenant.set(row.tenant, [...(byTenant.get(row.tenant) ?? []), row]);
  const lanes = [...byTenant].map(([tenant, own]) => {
    const { weight } = own[0]!;
    const at = new Map(own.map((row) => [row.step, row.served]));
    // A step without any record is a gap; one without this tenant is a zero.
    const served = steps.map((of, step) => (of.length === 0 ? null : (at.get(step) ?? 0)));
    const fair = served.map((value, step) =>
      value === null ? null : value > 0 ? (totals[step]!.served * weight) / totals[step]!.weight : 0,
    );
    return {
      ...{ tenant, weight, served, fair },
      demand: steps.map(() => null),
      shareGiven: sum(served) / all,
      shareEntitled: sum(fair) / all,
      ...{ waitP95Ms: null, limitedRatio: null },
    };
  });
  return lanes.toSorted((a, b) => b.shareGiven - a.shareGiven || (a.tenant < b.tenant ? -1 : 1));
}

const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

export const timeReader =
  (view: Session): NonNullable<MetricsReader["time"]> =>
  async ({ sinceMs, untilMs }, { queue, kind, tenant }, by) => {
    const [since, until] = [new Date(sinceMs), new Date(untilMs)];
    const column = tenant !== undefined || by === "tenant" ? "tenants" : "kinds";
    // Records tell kinds apart, or tenants, but neither within the other, and no queues.
    const isRecorded =
      queue === undefined && (by !== "queue" || tenant !== undefined) && (column === "kinds" || kind === undefined);
    const rows = isRecorded ? await readTimes(view, column, since, until, tenant ?? kind) : [];
    const items = rows.map(({ name, runs, runMs, waits, waitMs }) => ({
      ...{ key: name, jobs: runs, ranMs: runMs },
      // Waits are sampled, and from due to start: what they were for is not told apart.
      waitedTurnMs: waits > 0 ? (waitMs / waits) * runs : 0,
      ...{ waitedLimitsMs: 0, waitedWorkerMs: 0, sleptMs: 0, retriedMs: 0 },
    }));
    return { items, since: since.toISOString(), until: until.toISOString() };
  };
