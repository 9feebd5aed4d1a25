// What a worker did since the last row: counted in memory, a few additions a job, bounded whatever the number of tenants and kinds.
import type { Clock } from "../base/clock.js";
import { BUCKETS_MS, bucketOf, trimmed } from "../base/histogram-buckets.js";
import type { Throttled } from "../core/claim/closed-limit.js";
import type { Claim } from "../core/job/claim.js";
import type { Verdict } from "../core/job/outcome.js";
import { ByName } from "./largest.js";
import { Sample } from "./sample.js";

/** Names that are counted apart while an interval lasts, and of these in its row. */
const TENANTS_MAX = 1_000;
const KINDS_MAX = 500;
const LIMITS_MAX = 200;
const LISTED_MAX = 50;
const LIMITS_LISTED_MAX = 20;
/** Claims of which the row tells how long they waited. */
const SAMPLE_MAX = 200;

interface KindFigures {
  done: number;
  failed: number;
  dead: number;
  runs: number;
  run_ms: number;
  run_hist: number[];
  steps: number;
  step_ms: number;
  /** Pauses that were decided: before the next attempt, and at sleeps and snoozes. */
  retry_ms: number;
  sleep_ms: number;
}

interface TenantFigures {
  claimed: number;
  runs: number;
  failed: number;
  run_ms: number;
  retry_ms: number;
  sleep_ms: number;
  /** In the figures of the rest: how many they are, as far as they were told apart. */
  tenants: number;
}

interface LimitFigures {
  scope: string;
  name: string;
  limit: string;
  claims: number;
  jobs: number;
}

/** What `record_tick_v1` takes of it, besides mode and times. */
export interface Facts {
  readonly jobs_claimed: number;
  readonly jobs_processed: number;
  readonly jobs_succeeded: number;
  readonly jobs_failed: number;
  readonly jobs_dead: number;
  readonly jobs_throttled: number;
  readonly jobs_released: number;
  readonly jobs_yielded: number;
  readonly jobs_recovered: number;
  readonly leases_lost: number;
  readonly lock_contention_count: number;
  readonly tenant_jobs: Readonly<Record<string, number>>;
  readonly kinds: Readonly<Record<string, object>>;
  readonly tenants: Readonly<Record<string, object>>;
  readonly throttled: readonly LimitFigures[];
  readonly closed: readonly Omit<LimitFigures, "jobs">[];
  readonly sample: readonly string[];
  readonly buckets_ms: readonly number[];
}

export class Figures {
  readonly counts = {
    claimed: 0,
    processed: 0,
    succeeded: 0,
    failed: 0,
    dead: 0,
    throttled: 0,
    released: 0,
    yielded: 0,
    recovered: 0,
    lost: 0,
    contended: 0,
  };
  runMs = 0;
  readonly #kinds = new ByName<KindFigures>(newKind, KINDS_MAX);
  readonly #tenants = new ByName<TenantFigures>(newTenant, TENANTS_MAX);
  readonly #limits = new Map<string, LimitFigures>();
  readonly #sample: Sample<string>;

  constructor(clock: Pick<Clock, "random">) {
    this.#sample = new Sample(clock, SAMPLE_MAX);
  }

  /** Whether nothing has happened. */
  get isEmpty(): boolean {
    return this.#limits.size === 0 && Object.values(this.counts).every((count) => count === 0);
  }

  claimed(claims: readonly Claim[]): void {
    this.counts.claimed += claims.length;
    for (const { id, tenant } of claims) {
      this.#tenants.of(tenant).claimed++;
      this.#sample.add(id);
    }
  }

  /** A run has ended with this verdict. */
  ended({ kind, tenant }: Claim, verdict: Verdict, ms: number): void {
    const { counts } = this;
    const ofKind = this.#kinds.of(kind);
    const ofTenant = this.#tenants.of(tenant);
    counts.processed++;
    this.runMs += ms;
    ofKind.runs++;
    ofKind.run_ms += ms;
    ofKind.run_hist[bucketOf(ms)]!++;
    ofTenant.runs++;
    ofTenant.run_ms += ms;
    if (verdict.verdict === "done") {
      counts.succeeded++;
      ofKind.done++;
    } else if (verdict.verdict === "dead" || verdict.verdict === "retry") {
      counts.failed++;
      ofKind.failed++;
      ofTenant.failed++;
      if (verdict.verdict === "retry") {
        ofKind.retry_ms += verdict.delayMs;
        ofTenant.retry_ms += verdict.delayMs;
        return;
      }
      counts.dead++;
      ofKind.dead++;
    } else if (verdict.verdict === "snooze" && (verdict.waits ?? []).length === 0) {
      // How long a signal lets a job wait is not known before it comes.
      ofKind.sleep_ms += verdict.delayMs;
      ofTenant.sleep_ms += verdict.delayMs;
    } else if (verdict.verdict === "release") {
      counts.released++;
      if (verdict.yields) counts.yielded++;
    }
  }

  /** A step of a job of this kind was done. */
  stepped(kind: string, ms: number): void {
    const figures = this.#kinds.of(kind);
    figures.steps++;
    figures.step_ms += ms;
  }

  throttled({ closed, rateLimited }: Throttled): void {
    for (const { scope, name, why } of closed) this.#limit(scope, name, why, 0);
    for (const { tenant, count } of rateLimited) {
      this.counts.throttled += count;
      this.#limit("key", tenant, "rate", count);
    }
  }

  #limit(scope: string, name: string, limit: string, jobs: number): void {
    const key = `${scope} ${limit} ${name}`;
    const known = this.#limits.get(key);
    if (known) {
      known.claims++;
      known.jobs += jobs;
    } else if (this.#limits.size < LIMITS_MAX) this.#limits.set(key, { scope, name, limit, claims: 1, jobs });
  }

  facts(): Facts {
    const { counts } = this;
    const tenants = this.#tenants.largest(LISTED_MAX, ({ claimed }) => claimed, addTenant);
    const kinds = this.#kinds.largest(LISTED_MAX, ({ runs }) => runs, addKind);
    const limits = [...this.#limits.values()].sort((a, b) => b.claims - a.claims).slice(0, LIMITS_LISTED_MAX);
    return {
      jobs_claimed: counts.claimed,
      jobs_processed: counts.processed,
      jobs_succeeded: counts.succeeded,
      jobs_failed: counts.failed,
      jobs_dead: counts.dead,
      jobs_throttled: counts.throttled,
      jobs_released: counts.released,
      jobs_yielded: counts.yielded,
      jobs_recovered: counts.recovered,
      leases_lost: counts.lost,
      lock_contention_count: counts.contended,
      tenant_jobs: Object.fromEntries([...tenants].map(([name, { claimed }]) => [name, claimed])),
      kinds: Object.fromEntries([...kinds].map(([name, figures]) => [name, shown(figures)])),
      tenants: Object.fromEntries([...tenants].map(([name, figures]) => [name, shown(figures)])),
      throttled: limits.filter(({ scope }) => scope === "key"),
      // How many jobs these hold back is counted by the database as the row is written.
      closed: limits.filter(({ scope }) => scope !== "key").map(({ jobs: _, ...limit }) => limit),
      sample: this.#sample.values,
      buckets_ms: BUCKETS_MS,
    };
  }
}

const newTenant = (): TenantFigures => ({
  claimed: 0,
  runs: 0,
  failed: 0,
  run_ms: 0,
  retry_ms: 0,
  sleep_ms: 0,
  tenants: 0,
});

const newKind = (): KindFigures => ({
  done: 0,
  failed: 0,
  dead: 0,
  runs: 0,
  run_ms: 0,
  run_hist: new Array<number>(BUCKETS_MS.length + 1).fill(0),
  steps: 0,
  step_ms: 0,
  retry_ms: 0,
  sleep_ms: 0,
});

function addTenant(to: TenantFigures, from: TenantFigures): void {
  to.claimed += from.claimed;
  to.runs += from.runs;
  to.failed += from.failed;
  to.run_ms += from.run_ms;
  to.retry_ms += from.retry_ms;
  to.sleep_ms += from.sleep_ms;
  to.tenants += 1;
}

function addKind(to: KindFigures, from: KindFigures): void {
  to.done += from.done;
  to.failed += from.failed;
  to.dead += from.dead;
  to.runs += from.runs;
  to.run_ms += from.run_ms;
  to.retry_ms += from.retry_ms;
  to.sleep_ms += from.sleep_ms;
  to.steps += from.steps;
  to.step_ms += from.step_ms;
  from.run_hist.forEach((count, i) => {
    to.run_hist[i]! += count;
  });
}

/** As it is kept: members that are zero are left out, times have one decimal. */
function shown(figures: KindFigures | TenantFigures): object {
  const members = Object.entries(figures).map(([name, value]) => [
    name,
    Array.isArray(value) ? trimmed(value) : Math.round(value * 10) / 10,
  ]);
  return Object.fromEntries(members.filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value !== 0)));
}
