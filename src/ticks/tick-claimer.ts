// Claims for one tick: reads all lanes once, in a random order, because a tick remembers nothing of the ones before it, and claims along
// them within what one tick may take of a tenant. Lanes that limits hold back are left alone for the rest of the tick.
import { byLane, lateOf } from "../core/claim/by-lane.js";
import { claimExceptions } from "../core/claim/claim-exceptions.js";
import { ClaimListNumbers } from "../core/claim/claim-list-numbers.js";
import { claimAlong, readLanes, type WaitingLane } from "../core/claim/claim-statements.js";
import { type Closing, isPartial } from "../core/claim/closed-limits.js";
import { interleave } from "../core/claim/interleave.js";
import { LaneRing } from "../core/claim/lane-ring.js";
import type { Claim } from "../core/job/claim.js";
import type { WorkerContext } from "../core/worker/worker-context.js";

/** What the claimer needs of its worker. */
export type TickClaimContext = Pick<WorkerContext, "db" | "clock" | "bus" | "identity">;

export interface TickClaimerOptions {
  readonly queues: readonly string[];
  readonly lowerShare: number;
  /** Jobs of one tenant in the whole tick. */
  readonly tenantJobsMax: number;
  /** What was read of queues' lanes already: their first page. */
  readonly lanes: ReadonlyMap<string, readonly WaitingLane[]>;
  /** A claim got nothing of lanes in which jobs were ready a moment ago: other workers were faster. */
  readonly onContended: () => void;
}

/** Lanes of a queue that a tick looks at: their size a page, and pages. */
export const PAGE_LANES = 5_000;
const PAGES_MAX = 20;

interface QueueRing {
  readonly ring: LaneRing;
  /** Its lanes were read, and no claim has used them yet. */
  isFresh: boolean;
  isClosed: boolean;
}

export class TickClaimer {
  readonly #context: TickClaimContext;
  readonly #options: TickClaimerOptions;
  readonly #rings = new Map<string, QueueRing>();
  readonly #numbers = new ClaimListNumbers();
  readonly #taken = new Map<string, number>();
  #firstPages: ReadonlyMap<string, readonly WaitingLane[]>;

  constructor(context: TickClaimContext, options: TickClaimerOptions) {
    this.#context = context;
    this.#options = options;
    this.#firstPages = options.lanes;
    // A job has ended: its number in the worker's lists may be used again.
    context.bus.on("freed", (claims) => {
      for (const { listNo } of claims) this.#numbers.settled(listNo);
    });
  }

  /** Claims for the demand of each queue, at most `jobsMax` in all and of these kinds. */
  async claim(demand: ReadonlyMap<string, number>, jobsMax: number, kinds: readonly string[]): Promise<Claim[]> {
    const claims: Claim[] = [];
    // One queue after the other: a tenant's share is that of all queues together.
    for (const queue of this.#shuffled([...demand.keys()])) {
      const wanted = Math.min(demand.get(queue)!, jobsMax - claims.length);
      if (wanted > 0) claims.push(...(await this.#claimFrom(queue, wanted, kinds)));
    }
    return claims;
  }

  /** Looks at all lanes again at the next claim. */
  forget(): void {
    this.#firstPages = new Map();
    this.#rings.clear();
  }

  async #claimFrom(queue: string, jobsMax: number, kinds: readonly string[]): Promise<Claim[]> {
    const known = this.#rings.get(queue) ?? (await this.#read(queue));
    const probes = known.isClosed ? [] : known.ring.take(jobsMax);
    if (probes.length === 0) return [];
    const { bus, db, identity } = this.#context;
    const worker = identity.id;
    const listNo = this.#numbers.take();
    // No news: what comes in during a tick is the next one's, unless all lanes are read again.
    const answer = await claimAlong(db, worker, queue, probes, kinds, jobsMax, listNo, undefined);
    const { claims, cut, held } = answer;
    this.#numbers.fill(listNo, claims.length);
    const closings = held.map(
      ({ scope, name, why }): Closing => ({
        ...{ scope, name, untilMs: Number.POSITIVE_INFINITY, isFreeable: false },
        isPartial: isPartial({ scope, why }),
      }),
    );
    const lanes = byLane(probes, claims);
    const late = lateOf(probes, answer.late);
    const lateCount = late.reduce((sum, count) => sum + count, 0);
    known.ring.report(
      probes,
      lanes.map((lane) => lane.length),
      lanes.map((lane) => lane.at(-1)?.id),
      claims.length + cut + lateCount >= jobsMax,
      closings,
      late,
    );
    known.isClosed = held.some(({ scope }) => scope === "queue");
    const limits = held.filter(({ why }) => why !== "paused");
    if (limits.length + lateCount > 0)
      bus.tell("throttled", { worker, queue, closed: limits, rateLimited: answer.late });
    if (known.isFresh && claims.length + lateCount + held.length === 0) this.#options.onContended();
    known.isFresh = false;
    for (const { tenant } of claims) this.#taken.set(tenant, (this.#taken.get(tenant) ?? 0) + 1);
    // Where something came, the next call asks again.
    if (answer.hasExceptions && claims.length === 0) return this.#claimExceptions(queue, jobsMax, kinds);
    return interleave(lanes.filter((lane) => lane.length > 0));
  }

  /** Jobs that may start although something of theirs is paused. */
  async #claimExceptions(queue: string, jobsMax: number, kinds: readonly string[]): Promise<Claim[]> {
    const { db, identity } = this.#context;
    const listNo = this.#numbers.take();
    const claims = await claimExceptions(db, identity.id, queue, kinds, jobsMax, listNo);
    this.#numbers.fill(listNo, claims.length);
    return claims;
  }

  async #read(queue: string): Promise<QueueRing> {
    const { lowerShare, tenantJobsMax } = this.#options;
    const lanes: WaitingLane[] = [];
    for (let page = 0; page < PAGES_MAX; page++) {
      const known = page === 0 ? this.#firstPages.get(queue) : undefined;
      const more = known ?? (await readLanes(this.#context.db, queue, lanes.at(-1), PAGE_LANES));
      for (const lane of more) lanes.push(lane);
      if (more.length < PAGE_LANES) break;
    }
    const ring = new LaneRing(lowerShare, tenantJobsMax, this.#taken);
    for (const lane of this.#shuffled(lanes)) ring.add(lane, true);
    const known: QueueRing = { ring, isFresh: lanes.length > 0, isClosed: false };
    this.#rings.set(queue, known);
    return known;
  }

  /** Each order is as likely as any other. */
  #shuffled<T>(values: T[]): T[] {
    for (let i = values.length - 1; i > 0; i--) {
      const j = Math.floor(this.#context.clock.random() * (i + 1));
      [values[i], values[j]] = [values[j]!, values[i]!];
    }
    return values;
  }
}
