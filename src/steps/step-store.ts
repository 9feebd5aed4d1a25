// Keeps steps of running jobs, durably. Steps that end together share a round trip, each in a transaction of its own. Every statement is
// fenced and safe to repeat, so a connection that broke does no harm: it is sent again until the database has answered or the run is over.
import { Batcher } from "../base/batcher.js";
import type { Clock } from "../base/clock.js";
import { retrying } from "../base/retry.js";
import type { Claim } from "../core/job/claim.js";
import { type Codec, openJson, sealJson } from "../core/job/codec.js";
import type { Database, Statement } from "../db/database.js";
import { explainFailure } from "../db/explain-failure.js";
import { isTransient } from "../db/failures.js";
import type { DoneStep, KnownStep, Pause, PauseAnswer, StepAnswer, StepKeeper } from "./step.js";
import { pauseStep, readKnownSteps, storeAnswer, storeStatement } from "./step-statements.js";

/** What the store needs of its worker. */
export interface StepStoreContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly trouble: (doing: string, error: unknown) => void;
}

export interface StepStoreOptions {
  /** Steps that a job may have. */
  readonly stepsMax: number;
  /** Bytes that their results may have together. */
  readonly bytesMax: number;
  /** Seals what is kept, and opens it. */
  readonly codec?: Codec | undefined;
}

/** Steps of one job go the same way, one after the other: so they are finished in the order in which their handler is told. */
const WAYS = 3;
const GROUP_STEPS_MAX = 50;
const RETRY = { firstMs: 100, maxMs: 3_000 };

interface Rows {
  readonly rows: readonly unknown[];
}

export class StepStore implements StepKeeper {
  readonly #context: StepStoreContext;
  readonly #options: StepStoreOptions;
  readonly #ways: readonly Batcher<Statement, Rows>[];

  constructor(context: StepStoreContext, options: StepStoreOptions) {
    this.#context = context;
    this.#options = options;
    this.#ways = Array.from(
      { length: WAYS },
      () =>
        new Batcher<Statement, Rows>({
          itemsMax: GROUP_STEPS_MAX,
          groupsInFlightMax: 1,
          send: async (statements) =>
            (await context.db.pipeline(statements)).map((result) =>
              result.status === "fulfilled" ? { rows: result.value } : { error: result.reason },
            ),
        }),
    );
  }

  get stepsMax(): number {
    return this.#options.stepsMax;
  }

  read(claim: Claim, isOver: () => boolean): Promise<readonly KnownStep[]> {
    return this.#repeatedly(isOver, async () =>
      (await readKnownSteps(this.#context.db, claim.id)).map((step) => this.#opened(claim, step)),
    );
  }

  async store(claim: Claim, step: DoneStep, isOver: () => boolean): Promise<StepAnswer> {
    const { stepsMax, bytesMax } = this.#options;
    const way = this.#ways[Number(claim.id) % WAYS]!;
    const json = step.json === undefined ? undefined : sealJson(this.#options.codec, step.json, claim, "step");
    const statement = storeStatement(claim, { ...step, json }, stepsMax, bytesMax);
    const { rows } = await this.#repeatedly(isOver, () => way.add(statement));
    return this.#opened(claim, storeAnswer(rows));
  }

  /** Alone: it may wait for a lock, and no other step shall. */
  pause(claim: Claim, pause: Pause, isOver: () => boolean): Promise<PauseAnswer> {
    return this.#repeatedly(isOver, async () =>
      this.#opened(claim, await pauseStep(this.#context.db, claim, pause, this.#options.stepsMax)),
    );
  }

  #opened<Kept extends { readonly result: unknown }>(claim: Claim, kept: Kept): Kept {
    if (kept.result === undefined) return kept;
    return { ...kept, result: openJson(this.#options.codec, kept.result, claim, "step") };
  }

  async #repeatedly<T>(isOver: () => boolean, send: () => Promise<T>): Promise<T> {
    const { clock, db, trouble } = this.#context;
    try {
      return await retrying(send, {
        ...{ clock, pauses: RETRY },
        mayRepeat: (error) => isTransient(error) && !isOver(),
        onTrouble: (error) => trouble("keeping steps", error),
      });
    } catch (error) {
      throw explainFailure(error, db.schema);
    }
  }
}
