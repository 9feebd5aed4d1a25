// What a supervisor claims by: what the code of its children offers. New code is adopted when all children run it, after a restart.
import type { Logger } from "../base/log.js";
import { isSameOffer, type Offer, workerOf } from "./border/offer.js";
import type { Claiming } from "./claiming.js";
import { kindsOf, type PoolConfig, type SupervisorOptions, settingsOf } from "./supervisor-settings.js";

export interface AdoptionOptions {
  readonly claiming: Claiming;
  readonly config: PoolConfig;
  readonly options: SupervisorOptions;
  readonly log: Logger;
  readonly supervisor: string;
  /** Of the first child; undefined: as the config that was loaded at the start says. */
  readonly offer: Offer | undefined;
}

export interface Adopted {
  readonly kinds: readonly string[];
  readonly queues: readonly string[];
}

export class Adoption {
  readonly #options: AdoptionOptions;
  /** What is claimed by. */
  #offer: Offer | undefined;
  #isAwaited = false;

  constructor(options: AdoptionOptions) {
    this.#options = options;
    this.#offer = options.offer;
  }

  /** Claims by this offer from now on. Undefined: nothing has changed. */
  async adopt(offer: Offer | undefined): Promise<Adopted | undefined> {
    if (offer === undefined || (this.#offer !== undefined && isSameOffer(this.#offer, offer))) return undefined;
    const { claiming, config, options, log, supervisor } = this.#options;
    await claiming.adopt(settingsOf({ ...config, ...workerOf(offer) }, options));
    this.#offer = offer;
    const { worker, capacity } = claiming.settings;
    const adopted = { kinds: kindsOf(worker), queues: [...capacity.keys()] };
    log.info({ supervisor, ...adopted }, "Claiming by what the new code offers");
    return adopted;
  }

  /** While all children are replaced, that their code differs is what was asked for. */
  async awaiting<T>(restart: Promise<T>): Promise<T> {
    this.#isAwaited = true;
    try {
      return await restart;
    } finally {
      this.#isAwaited = false;
    }
  }

  /** A process that died may come back with other code than the rest: its kinds are claimed after a restart of all. */
  compare(offer: Offer): void {
    const { log, supervisor } = this.#options;
    if (!this.#isAwaited && this.#offer !== undefined && !isSameOffer(this.#offer, offer))
      log.warn(
        { supervisor, kinds: offer.definitions.map(({ kind }) => kind) },
        "A child runs other code than the pool began with: a restart of the children (SIGHUP) adopts its kinds and queues",
      );
  }
}
