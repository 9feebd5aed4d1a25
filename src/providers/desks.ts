// The desks of a worker, one for each provider that its handlers call, and the calls that are under way. A round writes what is due.
import { LeaseLostError } from "../base/errors.js";
import type { Service } from "../base/service.js";
import type { Claim } from "../core/job/claim.js";
import { RETRY, type WorkerContext } from "../core/worker/worker-context.js";
import type { Begun, CallAsk, CallEnd, CallKeeper, NoRoom } from "./call-keeper.js";
import { Charges } from "./charges.js";
import { Desk, type Grant } from "./desk.js";
import type { ProviderSettings } from "./provider.js";
import type { ClosedProvider } from "./provider-errors.js";
import { syncProvider } from "./provider-statements.js";
import { inOrder, SoftTenants } from "./soft-tenants.js";

interface OpenCall {
  readonly claim: Claim;
  readonly desk: Desk;
  readonly grant: Grant;
  readonly isCharged: boolean;
}

const ROUND_MS = 1_000;

export class Desks implements CallKeeper, Service {
  readonly name = "speaking of providers";
  readonly retry = RETRY;
  readonly #context: WorkerContext;
  readonly #charges: Charges;
  readonly #desks = new Map<string, Desk>();
  readonly #open = new Map<string, OpenCall>();
  readonly #soft: SoftTenants;
  #calls = 0;
  #wake: (inMs?: number) => void = () => {};

  constructor(context: WorkerContext) {
    this.#context = context;
    this.#soft = new SoftTenants(context.clock);
    this.#charges = new Charges(context.db, context.clock, context.trouble);
    context.bus.on("provider", ({ name, worker }) => {
      if (worker === undefined || worker === context.identity.id) this.#desks.get(name)?.heard();
    });
  }

  connect(wake: (inMs?: number) => void): void {
    this.#wake = wake;
  }

  async begin(claim: Claim, { chain }: CallAsk, isOver: () => boolean): Promise<Begun> {
    const closed: ClosedProvider[] = [];
    const need = Math.min(...chain.map(({ cost }) => cost ?? 0));
    let spent: NoRoom | undefined;
    let order = inOrder(chain, this.#soft.has(claim));
    for (let turn = 0; turn < order.length; turn++) {
      const index = order[turn]!;
      const { settings, cost } = chain[index]!;
      const desk = this.#deskOf(settings);
      const isClosed = desk.closed;
      if (isClosed !== undefined) {
        closed.push(isClosed);
        continue;
      }
      const call = `${this.#context.identity.id}.${++this.#calls}`;
      // On record before its turn comes: afterwards there would be no time for it.
      const says = cost === undefined ? undefined : await this.#charges.begin(call, claim, settings, cost, need);
      if (says?.spent !== undefined) {
        spent = { facts: says.spent, isParked: says.is_parked === true };
        continue;
      }
      const isSoft = cost === undefined ? this.#soft.has(claim) : says?.soft === true;
      if (cost !== undefined && this.#soft.learn(claim, isSoft) && isSoft && cost > need) {
        // It has just come to the threshold: what is cheaper goes first, from this call on.
        await this.#charges.end(call, { state: "void", cost: undefined });
        closed.length = 0;
        order = inOrder(chain, true);
        turn = -1;
        continue;
      }
      const grant = await desk.take(isOver);
      if (grant !== undefined && !("provider" in grant) && isOver()) {
        // Granted in the moment in which its run ended: nothing would ever give it back.
        desk.end(grant, "cut", 0, undefined);
        if (cost !== undefined) await this.#charges.end(call, { state: "void", cost: undefined });
        throw new LeaseLostError("The run has ended: calls belong to a handler that still runs.");
      }
      if (grant !== undefined && !("provider" in grant)) {
        this.#open.set(call, { claim, desk, grant, isCharged: cost !== undefined });
        return { call, index, isProbe: grant.probeNo !== undefined, isSoft };
      }
      if (cost !== undefined) await this.#charges.end(call, { state: "void", cost: undefined });
      if (grant === undefined)
        throw new LeaseLostError("The run has ended: calls belong to a handler that still runs.");
      closed.push(grant);
    }
    return spent === undefined ? { closed } : { closed, spent };
  }

  async end(claim: Claim, { call, result, tookMs, limited, charge }: CallEnd): Promise<void> {
    const open = this.#open.get(call);
    if (open?.claim.id !== claim.id) return;
    this.#open.delete(call);
    open.desk.end(open.grant, result, tookMs, limited);
    if (open.isCharged) await this.#charges.end(call, charge ?? { state: "unknown", cost: undefined });
  }

  /** The process that ran this job is gone: what it had under way was cut. */
  forget(claim: Claim): void {
    for (const [call, open] of this.#open)
      if (open.claim === claim)
        this.end(claim, { call, result: "cut", tookMs: 0, limited: undefined, charge: undefined }).catch(
          (error: unknown) => this.#context.trouble("recording what calls cost", error),
        );
  }

  async runOnce(): Promise<number> {
    const busy = await Promise.all([...this.#desks.values()].map((desk) => desk.round()));
    return busy.includes(true) ? ROUND_MS : Number.POSITIVE_INFINITY;
  }

  /** The worker stops, and no call is under way any more: permits go back, and the last figures are written. */
  async leave(): Promise<void> {
    await Promise.all([...this.#desks.values()].map((desk) => desk.leave()));
  }

  #deskOf(settings: ProviderSettings): Desk {
    const { clock, db, identity, trouble } = this.#context;
    let desk = this.#desks.get(settings.name);
    if (desk === undefined) {
      desk = new Desk(settings, {
        clock,
        trouble,
        sync: (own, facts) => syncProvider(db, own, identity.id, facts),
      });
      this.#desks.set(settings.name, desk);
    }
    this.#wake(ROUND_MS);
    return desk;
  }
}
