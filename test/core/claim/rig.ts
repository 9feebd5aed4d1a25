// A claimer on a real database, with a clock that only the test moves.
import { onTestFinished } from "vitest";
import { Bus } from "../../../src/base/bus.js";
import { type Clock, systemClock } from "../../../src/base/clock.js";
import { Claimer, type ClaimNews } from "../../../src/core/claim/claimer.js";
import type { ClosedLimit } from "../../../src/core/claim/closed-limit.js";
import type { Claim } from "../../../src/core/job/claim.js";
import { Database } from "../../../src/db/database.js";
import type { TestDatabase } from "../../support/database.js";

export const WORKER = "claimer-1";
export const RESCAN_MS = 2_000;

/** A clock that stands still until the test moves it: no rescan happens by itself. */
export function standingClock(): Clock & { pass(ms: number): void } {
  let nowMs = 0;
  return { ...systemClock, monotonic: () => nowMs, pass: (ms) => (nowMs += ms) };
}

export const numbers = (claims: readonly Claim[]) => claims.map(({ id }) => Number(id));

interface RigOptions {
  queues?: string[];
  kinds?: string[];
  url?: string;
  jobsMax?: number;
  tenantJobsMax?: number;
  rescanMs?: number;
  /** How long the clock says that each page of a scan takes: the next scan that only makes sure is nineteen times as far away. */
  scanMs?: number;
  connectionsMax?: number;
}

/** A database on which every page of a scan takes its time. */
class SlowToScan extends Database {
  onScan: () => void = () => {};

  override async query<Row>(text: string, values?: readonly unknown[], answerMsMax?: number): Promise<Row[]> {
    if (text.includes("lanes_v1")) this.onScan();
    return super.query<Row>(text, values, answerMsMax);
  }
}

export function claimerRig(db: TestDatabase) {
  async function newClaimer(options: RigOptions = {}) {
    const database = new SlowToScan(
      { databaseUrl: options.url ?? db.url },
      { connectionsMax: options.connectionsMax ?? 4, applicationName: "claimer" },
    );
    onTestFinished(() => database.close());
    await db.query("select fairmill.register_v1($1, $2, '1 hour')", [WORKER, options.queues ?? ["default"]]);
    const clock = standingClock();
    let scans = 0;
    database.onScan = () => {
      scans++;
      clock.pass(options.scanMs ?? 0);
    };
    const claimer = new Claimer(
      { db: database, clock, bus: new Bus<ClaimNews>() },
      {
        queues: options.queues ?? ["default"],
        kinds: options.kinds ?? ["job"],
        lowerShare: 0.1,
        rescanMs: options.rescanMs ?? RESCAN_MS,
        jobsMax: options.jobsMax ?? 4_000,
        tenantJobsMax: options.tenantJobsMax,
      },
    );
    const claim = async (jobsMax: number, queue = "default"): Promise<number[]> =>
      numbers(await claimer.claim(WORKER, new Map([[queue, jobsMax]])));
    /** Claims until something comes, or until a claim more would be pointless. */
    const claimSoon = async (jobsMax: number) => [...(await claim(jobsMax)), ...(await claim(jobsMax))];
    return { claimer, clock, claim, claimSoon, database, scans: () => scans };
  }

  /** Ready jobs, in one statement; their ids. */
  async function put(count: number, lane: { queue?: string; tenant?: string; kind?: string; priority?: number } = {}) {
    const rows = await db.query<{ id: string }>(
      `insert into fairmill.job (queue, tenant, kind, priority, state, payload)
       select $2, $3, $4, $5, 'ready', '{}' from generate_series(1, $1) returning id`,
      [count, lane.queue ?? "default", lane.tenant ?? "a", lane.kind ?? "job", lane.priority ?? 0],
    );
    return rows.map(({ id }) => Number(id));
  }

  return { newClaimer, put };
}

const HOUR_MS = 3_600_000;

/** Limits, and rates whose time passes at the test's word. */
export function limitsRig(db: TestDatabase) {
  const setLimits = (scope: ClosedLimit["scope"], name: string, settings: Record<string, unknown>) =>
    db.query("select fairmill.set_limits_v1($1, $2, $3)", [scope, name, JSON.stringify(settings)]);

  /** A rate of which nothing is left for about an hour. */
  async function exhaust(scope: ClosedLimit["scope"], name: string) {
    const limit = 1_000;
    await setLimits(scope, name, { rate: { limit, per_ms: HOUR_MS } });
    await db.query(
      "update fairmill.meter set spent_at = array[clock_timestamp()], spent = array[$3::integer] where use = 'start' and scope = $1 and name = $2",
      [scope, name, limit],
    );
  }

  /** As if the hour had passed. No worker is told. */
  const refill = (scope: ClosedLimit["scope"], name: string) =>
    db.query(
      `update fairmill.meter set spent_at = array(select s - interval '2 hours' from unnest(spent_at) s)
       where use = 'start' and scope = $1 and name = $2`,
      [scope, name],
    );
  return { setLimits, exhaust, refill };
}
