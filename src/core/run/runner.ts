// Runs claimed jobs: opens and validates the stored payload, calls the handler under a time limit, and turns what happened into a verdict.
// Knows nothing of the database. A run ends when its handler does; one that ignores its signal is given up after a while, so that
// the job goes on elsewhere, but it keeps its capacity: it still uses this process.

import type { Clock } from "../../base/clock.js";
import { recordError } from "../../base/error-record.js";
import { type FairmillError, InputInvalidError, NonRetryableError, TimeoutError } from "../../base/errors.js";
import { serializeResult } from "../../base/json-content.js";
import type { Logger } from "../../base/log.js";
import { isThenable } from "../../base/thenable.js";
import type { Claim } from "../job/claim.js";
import { type Codec, openJson, sealJson } from "../job/codec.js";
import { type ContentReference, isStored } from "../job/content-reference.js";
import { NotCommittedError } from "../job/effect-errors.js";
import type { Completer, EffectMaker } from "../job/effects.js";
import { unspentOf } from "../job/lease-no.js";
import { decide, decideReturned, isDirective, type Outcome, type Verdict } from "../job/outcome.js";
import { type ContentStore, fetchContent } from "../job/stored-content.js";
import { ContentElsewhereError } from "../job/stored-content-errors.js";
import { PayloadOutdatedError, validateInput, validateResult } from "../job/validate-input.js";
import { type ContextMembers, type ContextTools, type JobContext, RunContext, type RunControl } from "./context.js";
import type { Handler, JobRunner } from "./handler.js";
import { Run, type RunEnds } from "./run.js";
import { type Completion, RunEffects } from "./run-effects.js";
import { TimeLimit } from "./time-limit.js";

export interface RunnerOptions {
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a handler may go on after its signal aborted before its job is settled without it. */
  readonly abortGraceMs: number;
  readonly onProgress: (claim: Claim, value: unknown) => void;
  /** A value of a run is kept as JSON: what of it, and the value as it was. */
  readonly onKept: (claim: Claim, what: string, value: unknown) => void;
  /** What features bring to the context of handlers. */
  readonly members: (control: RunControl) => ContextMembers;
  readonly maker: EffectMaker;
  readonly completer: Completer;
  /** Opens payloads that are sealed. */
  readonly codec?: Codec | undefined;
  /** Fetches payloads that lie in a storage, and takes results that are too large for a row. */
  readonly contents?: ContentStore | undefined;
}

/** What a worker needs of whatever runs its jobs: in this process, or in others. */
export type RunsJobs = Pick<Runner, "prepare" | "begin" | "abort" | "verdictOf">;

/** At most this many lengths of time limits are kept. */
const LIMITS_MAX = 1_000;

export class Runner implements RunControl {
  readonly #options: RunnerOptions;
  readonly #ends: RunEnds;
  /** By their length: runs with the same limit share a timer, whatever their kinds. */
  readonly #limits = new Map<number, TimeLimit<Run>>();
  readonly #Context: typeof RunContext;
  readonly #tools: ContextTools;

  constructor(options: RunnerOptions, ends: RunEnds) {
    this.#options = options;
    this.#ends = ends;
    this.#Context = RunContext.with(options.members(this));
    this.#tools = { report: options.onProgress, effectsOf: (run) => this.effectsOf(run) };
  }

  #limit(run: Run): void {
    run.timeLimit = this.#limitOf(run.claim);
    run.timeLimit?.add(run);
  }

  /** The job's own limit, or that of its kind; undefined: none. */
  #limitOf({ kind, timeoutMs: own }: Claim): TimeLimit<Run> | undefined {
    const ms = own ?? this.#options.handlers.get(kind)?.definition.timeoutMs ?? 0;
    if (ms === 0) return undefined;
    let limit = this.#limits.get(ms);
    if (limit === undefined) {
      // Those of kinds are few; of those that callers made up, some are forgotten. One that is forgotten still ends its runs.
      if (this.#limits.size >= LIMITS_MAX) this.#limits.clear();
      limit = new TimeLimit(this.#options.clock, ms, (run) => this.abort(run, new TimeoutError(ms)));
      this.#limits.set(ms, limit);
    }
    return limit;
  }

  /** Prepares a run; `begin` calls the handler. Two steps, so that the caller knows the run before it can end. */
  prepare(claim: Claim): Run {
    return new Run(claim, this.#options.clock.monotonic());
  }

  begin(run: Run): void {
    const { claim } = run;
    const handler = this.#options.handlers.get(claim.kind);
    try {
      if (!handler) throw new NonRetryableError(`This worker has no handler for job kind "${claim.kind}".`);
      if (handler.runner) return this.#runBy(run, handler.runner);
      if (isStored(claim.payload)) return void this.#fetch(run, handler, claim.payload);
      this.#open(run, handler, claim.payload);
    } catch (error) {
      this.#over(run, { type: "threw", error, abortedBy: run.abortedBy });
    }
  }

  /** Under the time limit of the run: a storage that does not answer must not hold it for ever. */
  async #fetch(run: Run, handler: Handler, reference: ContentReference): Promise<void> {
    const { claim } = run;
    this.#limit(run);
    let payload: unknown;
    try {
      payload = await fetchContent(this.#options.contents, reference, claim.tenant, "payload");
    } catch (error) {
      const isElsewhere = error instanceof ContentElsewhereError;
      const unopened = { type: "unopened", error, unspent: unspentOf(claim) } as const;
      return this.#over(run, isElsewhere ? unopened : { type: "threw", error, abortedBy: run.abortedBy });
    }
    // It was told to stop meanwhile.
    if (run.abortedBy !== undefined)
      return this.#over(run, { type: "threw", error: run.abortedBy, abortedBy: run.abortedBy });
    // What features look for in the payload, such as what must not be logged, they find there.
    (claim as { payload: unknown }).payload = payload;
    this.#open(run, handler, payload);
  }

  #open(run: Run, handler: Handler, stored: unknown): void {
    const { claim } = run;
    try {
      let payload: unknown;
      try {
        payload = openJson(this.#options.codec, stored, claim, "payload");
      } catch (error) {
        return this.#over(run, { type: "unopened", error, unspent: unspentOf(claim) });
      }
      const input = checkPayload(handler, payload);
      // A handler that ends without waiting for anything is over here and now: no promise, no timer.
      const ending = isThenable(input)
        ? input.then((value) => this.#call(run, handler, value))
        : this.#call(run, handler, input);
      if (!isThenable(ending)) return this.#ended(run, { type: "returned", value: ending });
      if (run.timeLimit === undefined) this.#limit(run);
      // A promise stays as it is. A thenable of another make may answer twice, and throw besides: a run ends once.
      Promise.resolve(ending).then(
        (value) => this.#ended(run, { type: "returned", value }),
        (error: unknown) => this.#ended(run, { type: "threw", error, abortedBy: run.abortedBy }),
      );
    } catch (error) {
      this.#over(run, { type: "threw", error, abortedBy: run.abortedBy });
    }
  }

  #call(run: Run, handler: Handler, input: unknown): unknown {
    const result = handler.run(this.#contextOf(run, input));
    if (handler.definition.output === undefined) return result;
    return isThenable(result)
      ? Promise.resolve(result).then((value) => this.#checkReturned(run, value))
      : this.#checkReturned(run, result);
  }

  /** What a handler says instead of a result needs no schema; nor does what it returns after ctx.complete. */
  #checkReturned(run: Run, value: unknown): unknown {
    return run.isCompleted || isDirective(value) ? value : this.#checkResult(run, value);
  }

  #checkResult(run: Run, value: unknown): unknown {
    const definition = this.#options.handlers.get(run.claim.kind)?.definition;
    return definition?.output === undefined ? value : validateResult(definition, value);
  }

  /** A feature runs the job in a way of its own: it opens what there is to open. */
  #runBy(run: Run, runner: JobRunner): void {
    const context = this.#contextOf(run, undefined);
    this.#limit(run);
    runner(run.claim, context, () => run.isDecided).then(
      ({ outcome, details }) => {
        // A run that was told to stop has its verdict from that, unless the runner knows better why it ended.
        const whole = outcome.type === "threw" ? { abortedBy: run.abortedBy, ...outcome } : outcome;
        run.details = details;
        this.#ended(run, whole);
      },
      (error: unknown) => this.#ended(run, { type: "threw", error, abortedBy: run.abortedBy }),
    );
  }

  /** The class has the members of all features, which the compiler cannot see. */
  #contextOf(run: Run, input: unknown): JobContext {
    const context = new this.#Context(run, input, this.#tools);
    run.context = context;
    return context as unknown as JobContext;
  }

  effectsOf(run: Run): RunEffects {
    run.asked ??= this.#newEffects(run);
    return run.asked;
  }

  #newEffects(run: Run): RunEffects {
    const { maker, completer } = this.#options;
    return new RunEffects({
      claim: run.claim,
      maker,
      completer,
      isOver: () => run.isDecided,
      details: () => run.details,
      checkResult: async (result) => {
        const checked = await this.#checkResult(run, result);
        const json = this.#largeResult(run, checked);
        return json === undefined ? checked : this.#putResult(run, json);
      },
    });
  }

  onKept(claim: Claim, what: string, value: unknown): void {
    this.#options.onKept(claim, what, value);
  }

  /** Decided here and now, whatever the handler makes of the error that it gets; it keeps its capacity until it has ended. */
  pause(run: Run, { delayMs, waits }: { delayMs: number; waits: readonly string[] }, reason: Error): void {
    this.#decide(run, { type: "paused", delayMs, waits });
    run.abort(reason);
  }

  /** As a pause that is over at once, with the job's slot and place kept. */
  yield(run: Run, reason: Error): void {
    this.#decide(run, { type: "yielded" });
    run.abort(reason);
  }

  /** Tells the handler to stop; the first reason stands. */
  abort(run: Run, reason: Error): void {
    if (run.isDecided || run.abortedBy !== undefined) return;
    run.abort(reason);
    run.forgetGrace = this.#options.clock.after(this.#options.abortGraceMs, () => {
      run.isGivenUp = true;
      this.#decide(run, { type: "threw", error: reason, abortedBy: reason });
    });
  }

  /** A step that is still being done, beside one that failed, say, has perhaps been paid for: its result is kept first. */
  #ended(run: Run, outcome: Outcome): void {
    const draining = run.drain();
    if (draining === undefined) this.#keep(run, outcome);
    else void draining.then(() => this.#keep(run, outcome));
  }

  /** A result that is too large for its row goes to the storage before the job is settled. */
  #keep(run: Run, outcome: Outcome): void {
    const json = outcome.type === "returned" && !run.isCompleted ? this.#largeResult(run, outcome.value) : undefined;
    if (json === undefined) return this.#over(run, outcome);
    this.#putResult(run, json).then(
      (value) => this.#over(run, { type: "returned", value }),
      (error: unknown) => this.#over(run, { type: "threw", error, abortedBy: run.abortedBy }),
    );
  }

  /** Its JSON as it is stored; undefined: it fits its row, or is none. */
  #largeResult({ claim, isDecided, fault }: Run, value: unknown): string | undefined {
    const { contents, codec } = this.#options;
    if (contents === undefined || value === undefined || isDecided || fault !== undefined || isDirective(value)) return;
    const { json } = serializeResult(value, contents.bytesMax);
    if (json === undefined || !contents.isLarge(json)) return;
    try {
      return sealJson(codec, json, claim, "result", Number.POSITIVE_INFINITY);
    } catch {
      // As it is settled it is found again that it cannot be sealed, and said.
      return;
    }
  }

  async #putResult(run: Run, json: string): Promise<ContentReference> {
    const reference = await this.#options.contents!.putResult(run.claim, json);
    run.details = { ...run.details, content: { storage: reference.storage, key: reference.key } };
    return reference;
  }

  #over(run: Run, outcome: Outcome): void {
    run.timeLimit?.delete(run);
    const completion = run.asked?.completion;
    if (completion !== undefined) return void this.#verify(run, completion, outcome);
    const { fault } = run;
    this.#decide(run, fault === undefined ? outcome : { type: "threw", error: fault, abortedBy: run.abortedBy });
    this.#ends.onOver(run);
  }

  /** The handler has settled its job itself: that counts if its transaction committed, and then nothing else does. */
  async #verify(run: Run, completion: Completion, outcome: Outcome): Promise<void> {
    const { completer, logger } = this.#options;
    let failed: Outcome = outcome.type === "threw" ? outcome : { type: "threw", error: new NotCommittedError() };
    let isSettled = false;
    try {
      isSettled = run.isDecided || (await completer.isSettled(run.claim, () => run.isDecided));
    } catch (error) {
      failed = { type: "threw", error };
    }
    if (!isSettled) this.#decide(run, failed);
    else if (!run.isDecided) {
      run.decide({ verdict: "done", result: completion.result });
      if (outcome.type === "threw") {
        const { worker, id: job, kind, tenant } = run.claim;
        const error = recordError(outcome.error).message;
        logger.warn(
          { worker, job, kind, tenant, error },
          "The handler failed after it had completed its job: it is done",
        );
      }
      this.#ends.onCompleted(run, completion);
    }
    this.#ends.onOver(run);
  }

  #decide(run: Run, outcome: Outcome): void {
    if (run.isDecided) return;
    const verdict = this.verdictOf(run.claim, outcome);
    run.decide(run.details === undefined ? verdict : { ...verdict, ...run.details });
    if (outcome.type === "unopened" && verdict.verdict === "snooze")
      this.#sayUnopened(run.claim, outcome.error, verdict);
    // Of a run that did not return nothing is written but its verdict.
    if (outcome.type === "returned") run.effects = run.asked?.collected;
    this.#ends.onVerdict(run);
  }

  /** What becomes of the job. */
  verdictOf(claim: Claim, outcome: Outcome): Verdict {
    if (outcome.type === "returned") return decideReturned(outcome.value);
    const backoff = this.#options.handlers.get(claim.kind)?.definition.backoff ?? (() => 0);
    return decide(claim, outcome, backoff, this.#options.clock.random());
  }

  /** As an error, each time: nothing is lost, but nothing goes on either until this worker gets the key. */
  #sayUnopened(claim: Claim, error: unknown, { delayMs }: { delayMs: number }): void {
    const { worker, id: job, kind, tenant } = claim;
    const { code, message } = error as FairmillError;
    this.#options.logger.error(
      { worker, job, kind, tenant, code, error: message, againInMs: delayMs },
      "This worker cannot open the job's payload: put back",
    );
  }
}

/** A payload that today's schema refuses gets its own error; anything else a validator throws is an ordinary failure. */
function checkPayload(handler: Handler, payload: unknown): unknown {
  if (handler.definition.schema === undefined) return payload;
  const outdated = (error: unknown): never => {
    throw error instanceof InputInvalidError ? new PayloadOutdatedError(error) : error;
  };
  try {
    const value = validateInput(handler.definition, payload);
    return value instanceof Promise ? value.catch(outdated) : value;
  } catch (error) {
    return outdated(error);
  }
}
