// The steps of one run: hands out what earlier runs kept, keeps what this one does, and ends the run at a sleep or a wait.

import { DURATION_MS_MAX, type Duration, toMs } from "../base/duration.js";
import { ConfigError, LeaseLostError } from "../base/errors.js";
import { serializeResult } from "../base/json-content.js";
import type { Jsonify } from "../base/jsonify.js";
import { nameOf, refuseUnknown } from "../base/settings.js";
import { claimsOf } from "../core/job/lease-no.js";
import type { RunAttachment } from "../core/run/run.js";
import { type DoneStep, type KnownStep, KnownSteps, type Pause, type StepKind } from "./step.js";
import { JobPausedError, StepChangedError, StepLimitError, StepResultError, WaitTimeoutError } from "./step-errors.js";
import { StepResults } from "./step-results.js";
import type { StepsOfRun } from "./steps-of-run.js";

export interface WaitOptions {
  /** How long to wait for the signal; default: without end. */
  readonly timeout?: Duration;
}

/** While a transaction that sends the signal is open, the job asks again after so long. */
const BUSY_MS = 1_000;

export class Steps implements RunAttachment {
  readonly #run: StepsOfRun;
  readonly #names = new Set<string>();
  #calls = 0;
  #loading: Promise<KnownSteps> | undefined;
  readonly #results = new StepResults();
  #isScheduled = false;
  /** Calls that have not come to their end, pauses excepted. */
  #open = 0;
  /** Sleeps and waits that this run has come to: when each is over, by the monotonic clock. */
  readonly #pauses: { readonly name: string; readonly endMs: number; readonly isWait: boolean }[] = [];
  readonly #stuck: ((reason: unknown) => void)[] = [];
  #isPaused = false;
  /** Steps that this run has done itself. */
  #done = 0;
  #isYielding = false;
  /** Resolves when nothing is open any more; there once the handler has ended. */
  #drained: (() => void) | undefined;
  #fault: unknown;

  constructor(run: StepsOfRun) {
    this.#run = run;
  }

  /** Why the run must not succeed, whatever its handler makes of it: its code changed. */
  get fault(): unknown {
    return this.#fault;
  }

  step<T>(name: string, run: () => T | Promise<T>): Promise<Jsonify<T>> {
    return quiet(
      this.#call(name, "run", (position, known) => {
        if (typeof run !== "function")
          throw new ConfigError("step", `ctx.step("${name}"): the second argument must be a function that does it.`);
        return this.#do(name, position, known, run);
      }),
    );
  }

  sleep(name: string, duration: Duration): Promise<void> {
    return quiet(
      this.#call(name, "sleep", (position, known) => {
        const pause: Pause = { name, position, kind: "sleep", waitMs: toMs(duration, `ctx.sleep("${name}")`) };
        return this.#pause(pause, known, () => undefined);
      }),
    );
  }

  waitFor<T>(name: string, options: WaitOptions = {}): Promise<Jsonify<T>> {
    return quiet(
      this.#call(name, "wait", (position, known) => {
        const where = `ctx.waitFor("${name}")`;
        refuseUnknown(options, ["timeout"], where);
        const waitMs = options.timeout === undefined ? undefined : toMs(options.timeout, `${where}: timeout`);
        return this.#pause({ name, position, kind: "wait", waitMs }, known, (signalled, result) => {
          if (!signalled) throw new WaitTimeoutError(name);
          return result as Jsonify<T>;
        });
      }),
    );
  }

  /** The handler has ended: nothing new is begun. What is being done was perhaps paid for: resolves when it is kept. */
  drain(): Promise<void> | undefined {
    if (this.#open === 0) return undefined;
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  /** The run was asked to stop: nothing waits for a pause any more. */
  abort(reason: unknown): void {
    for (const reject of this.#stuck.splice(0)) reject(reason);
  }

  async #call<T>(
    given: string,
    kind: StepKind,
    goOn: (position: number, known: KnownStep | undefined) => Promise<T>,
  ): Promise<T> {
    this.#refuse();
    const name = nameOf(given, "step");
    // Counted here and now, in the order of the calls; what is known comes later.
    const position = this.#calls++;
    if (this.#names.has(name)) return this.#changed(new StepChangedError(name, "this run came to it twice"));
    this.#names.add(name);
    this.#open++;
    try {
      // No run before this one: nothing to read, and jobs that run once pay nothing for it.
      const known = claimsOf(this.#run.claim.leaseNo) === 1 ? undefined : await this.#known();
      this.#refuse();
      if (position >= this.#run.keeper.stepsMax)
        throw new StepLimitError(name, `a job may have ${this.#run.keeper.stepsMax} steps`);
      return await goOn(position, known?.at(position, name, kind));
    } catch (error) {
      return error instanceof StepChangedError ? this.#changed(error) : rethrow(error);
    } finally {
      this.#open--;
      if (this.#open === 0) this.#drained?.();
      this.#schedule();
    }
  }

  /** One statement for all of them, when the first is asked for. */
  #known(): Promise<KnownSteps> {
    this.#loading ??= this.#run.keeper.read(this.#run.claim, this.#run.isOver).then((steps) => {
      this.#results.learn(steps);
      return new KnownSteps(steps);
    });
    return this.#loading;
  }

  async #do<T>(
    name: string,
    position: number,
    known: KnownStep | undefined,
    run: () => T | Promise<T>,
  ): Promise<Jsonify<T>> {
    if (known) return this.#hand(name, () => known.result as Jsonify<T>);
    if (this.#run.mustYield?.(this.#done) === true) {
      this.#isYielding = true;
      return this.#stop();
    }
    const { claim, clock, keeper, isOver } = this.#run;
    const startMs = clock.monotonic();
    const value = await run();
    const { json, problem } = serializeResult(value);
    if (problem !== undefined) throw new StepResultError(name, problem);
    this.#run.onKept(`step "${name}"`, value);
    const done: DoneStep = { name, position, json, tookMs: clock.monotonic() - startMs };
    const { answer, kind, result } = await keeper.store(claim, done, isOver);
    switch (answer) {
      case "lost":
        return this.#lost();
      case "full":
        throw new StepLimitError(name, `a job may have ${keeper.stepsMax} steps, signals included`);
      case "large":
        throw new StepLimitError(name, "the results of the job's steps are larger together than they may be");
      case "known":
        // The step has a row already: a signal of this name, or this very call, whose answer was lost on the way.
        if (kind !== "run") throw new StepChangedError(name, `it was a ${kind} and is a run now`);
        return this.#hand(name, () => result as Jsonify<T>);
      case "stored":
        this.#done++;
        // As the next run will get it.
        return this.#hand(name, () => (json === undefined ? undefined : JSON.parse(json)) as Jsonify<T>);
    }
  }

  async #pause<T>(
    pause: Pause,
    known: KnownStep | undefined,
    end: (signalled: boolean, result: unknown) => T,
  ): Promise<T> {
    const { name } = pause;
    if (known?.finished) return this.#hand(name, () => end(known.signalled, known.result));
    const { claim, clock, keeper, isOver } = this.#run;
    const { answer, inMs, signalled, result, kind } = await keeper.pause(claim, pause, isOver);
    switch (answer) {
      case "lost":
        return this.#lost();
      case "full":
        throw new StepLimitError(name, `a job may have ${keeper.stepsMax} steps, signals included`);
      case "known":
        throw new StepChangedError(name, `it was a ${kind} and is a ${pause.kind} now`);
      case "over":
        return this.#hand(name, () => end(signalled, result));
      case "busy":
      case "waiting":
        this.#refuse();
        this.#pauses.push({
          name,
          endMs: clock.monotonic() + (answer === "busy" ? BUSY_MS : (inMs ?? DURATION_MS_MAX)),
          isWait: answer === "waiting" && pause.kind === "wait",
        });
        return this.#stop();
    }
  }

  /** Never resolves: rejects when the run pauses or is told to stop. Does not count as open meanwhile. */
  async #stop(): Promise<never> {
    this.#open--;
    this.#schedule();
    try {
      return await new Promise<never>((_, reject) => this.#stuck.push(reject));
    } finally {
      this.#open++;
    }
  }

  #hand<T>(name: string, make: () => T): Promise<T> {
    const result = this.#results.add(name, make);
    this.#schedule();
    return result;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#turn();
    });
  }

  #turn(): void {
    if (this.#results.handNext()) return this.#schedule();
    // What was done beside a pause is kept first.
    if ((this.#pauses.length === 0 && !this.#isYielding) || this.#open > 0 || this.#isPaused || this.#isEnded()) return;
    if (this.#run.abortedBy() !== undefined || this.#fault !== undefined)
      return this.abort(this.#fault ?? this.#run.abortedBy());
    this.#isPaused = true;
    // Sleeps and waits that this run has come to are on record: the next run finds them again.
    if (this.#isYielding) {
      this.#run.onYielded();
      return this.abort(new JobPausedError());
    }
    const nowMs = this.#run.clock.monotonic();
    // A millisecond more: a job that is due too early by a hair is claimed twice.
    const delayMs = Math.max(0, Math.min(...this.#pauses.map(({ endMs }) => endMs)) - nowMs) + 1;
    this.#run.onPaused(
      Math.min(delayMs, DURATION_MS_MAX),
      this.#pauses.filter(({ isWait }) => isWait).map(({ name }) => name),
    );
    this.abort(new JobPausedError());
  }

  /** Nothing is begun in a run that must end. */
  #refuse(): void {
    if (this.#fault !== undefined) throw this.#fault;
    if (this.#isPaused) throw new JobPausedError();
    const reason = this.#run.abortedBy();
    if (reason !== undefined) throw reason;
    if (this.#isEnded()) throw new LeaseLostError("The run has ended: steps belong to a handler that still runs.");
  }

  #isEnded(): boolean {
    return this.#drained !== undefined || this.#run.isOver();
  }

  #changed(error: StepChangedError): never {
    this.#fault ??= error;
    throw error;
  }

  #lost(): never {
    const reason = new LeaseLostError();
    this.#run.onLost(reason);
    throw reason;
  }
}

const rethrow = (error: unknown): never => {
  throw error;
};

/** A step that is not awaited must not end the process when it fails. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
