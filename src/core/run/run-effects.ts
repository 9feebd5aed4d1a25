// The effects of one run: collects what its handler asks for, and lets the handler settle its job in a transaction of its own.
//
// Nothing is written here. What was collected goes with the settle of a run that returned, or with `complete`; of any other run it is
// dropped, and the next run collects it again. A call that cannot be taken fails the run, whatever the handler makes of its error:
// an effect that was asked for is written, or the attempt has failed.

import { LeaseLostError } from "../../base/errors.js";
import type { Queryable } from "../../base/queryable.js";
import { JOBS } from "../enqueue/enqueue-statements.js";
import type { Claim } from "../job/claim.js";
import { EffectsLimitError, JobCompletedError } from "../job/effect-errors.js";
import type { CompletedAnswer, Completer, Effect, EffectKind, EffectMaker, Effects } from "../job/effects.js";
import type { EnqueueOptions } from "../job/enqueue-options.js";
import type { JobDefinition } from "../job/job-definition.js";
import type { VerdictDetails } from "../job/outcome.js";

/** What the effects need of their run. */
export interface EffectsOfRun {
  readonly claim: Claim;
  readonly maker: EffectMaker;
  readonly completer: Completer;
  /** The run is decided: whatever comes now comes too late. */
  readonly isOver: () => boolean;
  /** What features write with the verdict. */
  readonly details: () => VerdictDetails | undefined;
  /** What is kept of a result, or throws when it does not fit. */
  readonly checkResult: (result: unknown) => unknown;
}

declare const COMPLETED: unique symbol;

/** What `ctx.complete` resolves with. A handler may return it in place of a result. */
export interface Completed {
  readonly [COMPLETED]?: never;
}

export const completed: Completed = Object.freeze({});

/** The job was settled in the handler's transaction; whether that committed is another question. */
export interface Completion {
  readonly result: unknown;
  readonly returned: CompletedAnswer;
}

export class RunEffects {
  readonly #run: EffectsOfRun;
  /** By kind, in the order of the calls; the position is taken before the validation has ended. */
  readonly #lists: List[] = [];
  #count = 0;
  readonly #pending = new Set<Promise<unknown>>();
  #bytes = 0;
  /** Why an effect was not taken, and why the job could not be completed. */
  #lost: unknown;
  #uncompleted: unknown;
  #completing: Promise<void> | undefined;
  #completion: Completion | undefined;

  constructor(run: EffectsOfRun) {
    this.#run = run;
  }

  /** Why the run must not succeed. */
  get fault(): unknown {
    return this.#lost ?? this.#uncompleted;
  }

  get completion(): Completion | undefined {
    return this.#completion;
  }

  /** What was collected; undefined when that is nothing. */
  get collected(): Effects | undefined {
    return this.#count === 0 ? undefined : { lists: this.#lists as Effects["lists"][number][], bytes: this.#bytes };
  }

  enqueue<In>(definition: JobDefinition<In, unknown>, input: In, options: EnqueueOptions = {}): Promise<void> {
    const { claim, maker } = this.#run;
    return this.add("ctx.enqueue", JOBS, () => maker.newJob(claim, definition, input, options));
  }

  /** Takes an effect of this kind, once `make` has checked it. `position`: how many of its kind were asked for before it. */
  add<One extends Effect>(
    what: string,
    kind: EffectKind<One>,
    make: (position: number) => One | Promise<One>,
  ): Promise<void> {
    const taking = this.#keep(what, kind, make);
    this.#pending.add(taking);
    const over = () => void this.#pending.delete(taking);
    // Also where the handler does not await it: its failure is the run's.
    taking.then(over, over);
    return taking;
  }

  /** Resolves when no call is being checked or completed any more; undefined when none is. */
  drain(): Promise<unknown> | undefined {
    return this.#completing ?? this.#checked();
  }

  complete(tx: Queryable, result: unknown): Promise<Completed> {
    const refusal = this.refusal("ctx.complete");
    if (refusal !== undefined) return rejected(refusal);
    const completing = this.#complete(tx, result);
    const over = () => {
      this.#completing = undefined;
    };
    this.#completing = completing.then(over, over);
    return completing;
  }

  async #complete(tx: Queryable, given: unknown): Promise<Completed> {
    const { claim, completer, isOver, checkResult } = this.#run;
    try {
      await this.#checked();
      if (this.#lost !== undefined) throw this.#lost;
      if (isOver()) throw new LeaseLostError("The run has ended: its job is settled or released. Roll back.");
      const result = await checkResult(given);
      const returned = await completer.complete(claim, tx, result, this.collected, this.#run.details());
      this.#completion = { result, returned };
      return completed;
    } catch (error) {
      // Unless another try succeeds: a handler that goes on after this has not done what it said.
      this.#uncompleted = error;
      throw error;
    }
  }

  /** Once the job is settled, nothing more can be said of it. */
  refusal(what: string): JobCompletedError | undefined {
    return this.#completing || this.#completion ? new JobCompletedError(what) : undefined;
  }

  #checked(): Promise<unknown> | undefined {
    return this.#pending.size === 0 ? undefined : Promise.allSettled(this.#pending);
  }

  async #keep<One extends Effect>(
    what: string,
    kind: EffectKind<One>,
    make: (position: number) => One | Promise<One>,
  ): Promise<void> {
    const refusal = this.refusal(what);
    if (refusal !== undefined) throw refusal;
    try {
      if (this.#run.isOver())
        throw new LeaseLostError("The run has ended: effects belong to a handler that still runs.");
      const { effectsMax, bytesMax } = this.#run.maker;
      if (this.#count >= effectsMax) throw new EffectsLimitError(`a run may ask for ${effectsMax} effects`);
      this.#count++;
      const { effects } = this.#listOf(kind);
      const position = effects.push(undefined) - 1;
      const one = await make(position);
      this.#bytes += Buffer.byteLength(one.payload);
      if (this.#bytes > bytesMax)
        throw new EffectsLimitError(`the payloads of a run's effects may have ${bytesMax} bytes together`);
      effects[position] = one;
    } catch (error) {
      this.#lost ??= error;
      throw error;
    }
  }

  #listOf(kind: List["kind"]): List {
    const known = this.#lists.find((list) => list.kind === kind);
    if (known) return known;
    const list: List = { kind, effects: [] };
    this.#lists.push(list);
    return list;
  }
}

/** A list that is still being collected. */
interface List {
  readonly kind: Effects["lists"][number]["kind"];
  readonly effects: (Effect | undefined)[];
}

/** A promise that may be left alone: a refusal that is not awaited must not end the process. */
export function rejected(reason: Error): Promise<never> {
  const promise = Promise.reject(reason);
  promise.catch(() => {});
  return promise;
}
