// A claimer on a real database, with a clock that only the test moves.
import { onTestFinished } from "vitest";
import { Claimer } from "../../src/claim/claimer.js";
import type { Claim } from "../../src/model/claim.js";
import { type Clock, systemClock } from "../../src/model/clock.js";
import { Database } from "../../src/store/database.js";
import type { TestDatabase } from "../support/database.js";

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
}

export function claimerRig(db: TestDatabase) {
  async function newClaimer(options: RigOptions = {}) {
    const database = new Database(
      { databaseUrl: options.url ?? db.url },
      { connectionsMax: 4, applicationName: "claimer" },
    );
    onTestFinished(() => database.close());
    await db.query("select fairmill.register_v1($1, '{default}', '1 hour')", [WORKER]);
    const clock = standingClock();
    const claimer = new Claimer(database, clock, {
      queues: options.queues ?? ["default"],
      kinds: options.kinds ?? ["job"],
      lowerShare: 0.1,
      rescanMs: RESCAN_MS,
      jobsMax: options.jobsMax ?? 4_000,
      tenantJobsMax: options.tenantJobsMax,
      onDue: () => {},
    });
    const claim = async (jobsMax: number, queue = "default"): Promise<number[]> =>
      numbers(await claimer.claim(WORKER, new Map([[queue, jobsMax]])));
    /** Claims until something comes, or until a claim more would be pointless. */
    const claimSoon = async (jobsMax: number) => [...(await claim(jobsMax)), ...(await claim(jobsMax))];
    return { claimer, clock, claim, claimSoon };
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
