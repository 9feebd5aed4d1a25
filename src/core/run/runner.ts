// Runs claimed jobs: opens and validates the stored payload, calls the handler under a time limit, and turns what happened into a verdict.
// Knows nothing of the database. A run ends when its handler does; one that ignores its signal is given up after a while, so that
// the job goes on elsewhere, but it keeps its slot: it still uses this process.

import type { Clock } from "../../base/clock.js";
import { recordError } from "../../base/error-record.js";
import { type FairmillError, InputInvalidError, NonRetryableError, TimeoutError } from "../../base/errors.js";
import type { Logger } from "../../base/log.js";
import { isThenable } from "../../base/thenable.js";
import type { NodeReader } from "../../batches/flow.js";
import type { Tick } from "../../schedules/schedule.js";
import { Steps } from "../../steps/run-steps.js";
import type { StepKeeper } from "../../steps/step.js";
import { JobPausedError } from "../../steps/step-errors.js";
import type { Claim } from "../job/claim.js";
import { type Codec, openJson } from "../job/codec.js";
import { NotCommittedError } from "../job/effect-errors.js";
import type { Completer, EffectMaker } from "../job/effects.js";
import { unspentOf } from "../job/lease-no.js";
import { decide, decideReturned, isDirective, type Outcome, type Verdict } from "../job/outcome.js";
import { PayloadOutdatedError, validateInput, validateResult } from "../job/validate-input.js";
import { RunContext, type RunTools } from "./context.js";
import type { Handler } from "./handler.js";
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
  readonly onKept?: (claim: Claim, what: string, value: unknown) => void;
  readonly steps: StepKeeper;
  readonly nodes: NodeReader;
  readonly effects: EffectMaker;
  readonly completer: Completer;
  /** Drops what was reported as progress of the job, and waits for what is being written. */
  readonly dismissProgress?: (claim: Claim) => Promise<void>;
  /** Of which tick of a schedule the job is. */
  readonly tickOf?: (claim: Claim) => Promise<Tick | undefined>;
  /** Opens payloads that are sealed. */
  readonly codec?: Codec | undefined;
}

/** What a worker needs of whatever runs its jobs: in this process, or in others. */
export type JobRunner = Pick<Runner, "prepare" | "begin" | "abort" | "verdictOf">;

export class Runner {
  readonly #options: RunnerOptions;
  readonly #ends: RunEnds;
  readonly #limits = new Map<string, TimeLimit<Run>>();
  readonly #tools: RunTools<Run>;

  constructor(options: RunnerOptions, ends: RunEnds) {
    this.#options = options;
    this.#ends = ends;
    const { logger, onProgress, nodes, tickOf } = options;
    this.#tools = {
      logger,
      report: onProgress,
      makeSteps: (run) => this.#stepsOf(run),
      makeEffects: (run) => this.#effectsOf(run),
      nodes,
      tickOf,
    };
    for (const [kind, { definition }] of options.handlers) {
      if (definition.timeoutMs > 0)
        this.#limits.set(
          kind,
          new TimeLimit(options.clock, definition.timeoutMs, (run) =>
            this.abort(run, new TimeoutError(definition.timeoutMs)),
          ),
        );
    }
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
      if (handler.deliver) return this.#deliver(run, handler.deliver);
      let payload: unknown;
      try {
        payload = openJson(this.#options.codec, claim.payload, claim, "payload");
      } catch (error) {
        return this.#over(run, { type: "unopened", error, unspent: unspentOf(claim) });
      }
      const input = checkPayload(handler, payload);
      // A handler that ends without waiting for anything is over here and now: no promise, no timer.
      const ending = isThenable(input)
        ? input.then((value) => this.#call(run, handler, value))
        : this.#call(run, handler, input);
      if (!isThenable(ending)) return this.#ended(run, { type: "returned", value: ending });
      this.#limits.get(claim.kind)?.add(run);
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
    // A run that was aborted while its payload was being validated has a context already, and it knows the reason.
    const early = run.context;
    run.context = this.#contextOf(run, input);
    if (early) run.context.abort(early.abortedBy as Error);
    const result = handler.run(run.context);
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

  /** A delivery job carries nothing that could be opened: its message lies in the outbox, and the channel opens it. */
  #deliver(run: Run, deliver: NonNullable<Handler["deliver"]>): void {
    run.context = this.#contextOf(run, undefined);
    this.#limits.get(run.claim.kind)?.add(run);
    deliver(run.claim, run.context, () => run.isDecided).then(
      ({ outcome, mark }) => {
        // Whoever was told to stop has its verdict from that, unless it knows better why it ended.
        const whole = outcome.type === "threw" ? { abortedBy: run.abortedBy, ...outcome } : outcome;
        run.delivery = mark;
        this.#ended(run, whole);
      },
      (error: unknown) => this.#ended(run, { type: "threw", error, abortedBy: run.abortedBy }),
    );
  }

  #contextOf(run: Run, input: unknown): RunContext<unknown, Run> {
    return new RunContext(run, input, this.#tools);
  }

  #effectsOf(run: Run): RunEffects {
    const { effects: maker, completer } = this.#options;
    return new RunEffects({
      claim: run.claim,
      maker,
      completer,
      isOver: () => run.isDecided,
      checkResult: (result) => this.#checkResult(run, result),
    });
  }

  #stepsOf(run: Run): Steps {
    return new Steps({
      claim: run.claim,
      clock: this.#options.clock,
      keeper: this.#options.steps,
      abortedBy: () => run.abortedBy,
      isOver: () => run.isDecided,
      onLost: (reason) => this.abort(run, reason),
      // Decided here and now, whatever the handler makes of the error that it gets; it keeps its slot until it has ended.
      onPaused: (delayMs, waits) => {
        this.#decide(run, { type: "paused", delayMs, waits });
        run.context?.abort(new JobPausedError());
      },
      onKept: (what, value) => this.#options.onKept?.(run.claim, what, value),
    });
  }

  /** Tells the handler to stop; the first reason stands. */
  abort(run: Run, reason: Error): void {
    if (run.isDecided || run.abortedBy !== undefined) return;
    run.context ??= this.#contextOf(run, undefined);
    run.context.abort(reason);
    run.forgetGrace = this.#options.clock.after(this.#options.abortGraceMs, () => {
      run.isGivenUp = true;
      this.#decide(run, { type: "threw", error: reason, abortedBy: reason });
    });
  }

  /** A step that is still being done, beside one that failed, say, has perhaps been paid for: its result is kept first. */
  #ended(run: Run, outcome: Outcome): void {
    const draining = run.context?.drain();
    if (draining === undefined) this.#over(run, outcome);
    else void draining.then(() => this.#over(run, outcome));
  }

  #over(run: Run, outcome: Outcome): void {
    this.#limits.get(run.claim.kind)?.delete(run);
    const completion = run.context?.completion;
    if (completion !== undefined) return void this.#verify(run, completion, outcome);
    const fault = run.context?.fault;
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
    run.decide(run.delivery === undefined ? verdict : { ...verdict, delivery: run.delivery });
    if (outcome.type === "unopened" && verdict.verdict === "snooze")
      this.#sayUnopened(run.claim, outcome.error, verdict);
    // Of a run that did not return nothing is written but its verdict.
    if (outcome.type === "returned") run.effects = run.context?.effects;
    this.#ends.onVerdict(run);
  }

  /** What becomes of the job. */
  verdictOf(claim: Claim, outcome: Outcome): Verdict {
    if (outcome.type === "returned") return decideReturned(outcome.value);
    const backoff = this.#options.handlers.get(claim.kind)?.definition.backoff ?? (() => 0);
    return decide(claim, outcome, backoff, this.#options.clock.random());
  }

  /** As an error, each time: nothing is lost, but nothing goes on either until somebody gives this worker the key. */
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
