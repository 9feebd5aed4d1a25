// What goes on beside the jobs of a tick: their progress and logs are written, and those that shall be cancelled are told. No thread, no LISTEN.
import { type Service, ServiceLoop } from "../base/service.js";
import type { ProgressKeeper } from "../core/settle/progress.js";
import { RETRY, type WorkerContext } from "../core/worker/worker-context.js";
import { cancelRequests } from "../core/worker/worker-statements.js";
import type { LogKeeper } from "../logs/log-keeper.js";
import type { Desks } from "../providers/desks.js";

/** Jobs that another session asked to cancel are looked for this often. */
const CANCELS_MS = 2_000;

/** A round asks which running jobs shall be cancelled; notifications do not reach a tick. */
class CancelWatch implements Service {
  readonly name = "asking for cancelled jobs";
  readonly retry = RETRY;
  readonly #context: WorkerContext;

  constructor(context: WorkerContext) {
    this.#context = context;
  }

  async runOnce(_: AbortSignal, isOnTime: boolean): Promise<number> {
    const { bus, db, identity } = this.#context;
    // Most ticks are over before the first look.
    if (isOnTime) bus.tell("cancel", { worker: identity.id, ids: await cancelRequests(db, identity.id) });
    return CANCELS_MS;
  }
}

export class TickServices {
  readonly #keepers: readonly (ProgressKeeper | LogKeeper)[];
  readonly #providers: Desks;
  readonly #loops: readonly ServiceLoop[];

  /** They start at once. */
  constructor(context: WorkerContext, progress: ProgressKeeper, logs: LogKeeper, providers: Desks) {
    this.#keepers = [progress, logs];
    this.#providers = providers;
    this.#loops = [...this.#keepers, providers, new CancelWatch(context)].map(
      (service) => new ServiceLoop(context.clock, service, context.trouble),
    );
    for (const loop of this.#loops) loop.start();
  }

  /** Resolves when the last progress and the last logs are written, and no permit of a provider is held any more. */
  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
    await Promise.all([...this.#keepers.map((keeper) => keeper.runOnce()), this.#providers.leave()]);
  }
}
