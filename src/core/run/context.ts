// What a handler is given: its input, who it is, a signal that says when to stop, and ways to report.

import type { Duration } from "../../base/duration.js";
import type { Jsonify } from "../../base/jsonify.js";
import type { Logger } from "../../base/log.js";
import type { Queryable } from "../../base/queryable.js";
import type { BatchCall } from "../../batches/batch.js";
import type { NodeReader } from "../../batches/flow.js";
import { batchOf, flowOf, type JobBatch, type JobFlow } from "../../batches/job-batch.js";
import type { ChannelTarget } from "../../outbox/channel-target.js";
import type { PublishOptions } from "../../outbox/publish-options.js";
import type { Tick } from "../../schedules/schedule.js";
import type { Steps, WaitOptions } from "../../steps/run-steps.js";
import type { Claim } from "../job/claim.js";
import type { Effects } from "../job/effects.js";
import type { EnqueueOptions } from "../job/enqueue-options.js";
import type { JobDefinition } from "../job/job-definition.js";
import { type Completed, type Completion, type RunEffects, rejected } from "./run-effects.js";

export interface JobContext<Input = unknown> {
  readonly input: Input;
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  readonly tenant: string;
  readonly key: string | null;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly leaseNo: number;
  /** Aborts on the time limit, on cancel, on a lost lease and on shutdown; `signal.reason` says which. */
  readonly signal: AbortSignal;
  /** A logger that names this job in every line. */
  readonly log: Logger;
  /** Which tick of which schedule made this job, asked of the database; undefined when it was enqueued otherwise. */
  tick(): Promise<Tick | undefined>;
  /** Keeps a JSON value as the job's progress; cheap to call often, the latest value wins. */
  progress(value: unknown): void;
  /**
   * Does something once: what `run` returns is kept before this resolves, and later runs of the job get it without calling `run`. Give
   * every step of the job a name of its own. What comes back went through JSON, in the first run as in later ones: a Date is a text.
   */
  step<T>(name: string, run: () => T | Promise<T>): Promise<Jsonify<T>>;
  /** Ends this run; another one goes on behind this line after the time. */
  sleep(name: string, duration: Duration): Promise<void>;
  /** Ends this run until `client.signal(id, name, value)`, before or after; resolves with the value. After `timeout`: WaitTimeoutError. */
  waitFor<T = unknown>(name: string, options?: WaitOptions): Promise<Jsonify<T>>;
  /**
   * Asks for another job: it is stored with the settle of this one, once, if the handler returns. Nothing is stored before, so there is no
   * id yet. `tenant`: this job's own, unless given.
   */
  enqueue<In>(definition: JobDefinition<In, unknown>, input: In, options?: EnqueueOptions): Promise<void>;
  /**
   * Asks for a message to a receiver outside: it is stored with the settle of this job, if the handler returns, and sent then. The
   * `idempotencyKey`, unless given, belongs to the job and the number of the call. `tenant`: this job's own, unless given.
   */
  publish<In>(channel: string | ChannelTarget<In>, message: In, options?: Partial<PublishOptions>): Promise<void>;
  /** The batch of which this job is a member, to add more jobs to it; null: none. */
  readonly batch: JobBatch | null;
  /** Of a callback: which batch or flow it is about, and what has happened to it; undefined for every other job. */
  calledBy(): Promise<BatchCall | undefined>;
  /** What the nodes before this one returned; null for a job that belongs to no batch. */
  readonly flow: JobFlow | null;
  /**
   * Settles this job as done inside a transaction of yours, with what was asked for so far: they commit together. Throws when the
   * transaction must be rolled back. Commit it before the handler returns. What it resolves with may be returned in place of a result.
   */
  complete(tx: Queryable, result?: unknown): Promise<Completed>;
}

/** What all contexts share: one is made for every job, so it carries little of its own. */
export interface RunTools<Run> {
  readonly logger: Logger;
  readonly report: (claim: Claim, value: unknown) => void;
  readonly makeSteps: (run: Run) => Steps;
  readonly makeEffects: (run: Run) => RunEffects;
  readonly nodes: NodeReader;
  readonly tickOf: ((claim: Claim) => Promise<Tick | undefined>) | undefined;
  /** Keeps what a run logs, and keeps secrets out of it. */
  readonly keepLog?: ((claim: Claim, logger: Logger) => Logger) | undefined;
}

/** The context, and the runner's handle on it. The signal is made when it is first asked for: most handlers never do. */
export class RunContext<Input, Run extends { readonly claim: Claim }> implements JobContext<Input> {
  readonly #run: Run;
  readonly #tools: RunTools<Run>;
  readonly input: Input;
  #controller: AbortController | undefined;
  #log: Logger | undefined;
  /** Made when the first step, or the first effect, is asked for. */
  #steps: Steps | undefined;
  #effects: RunEffects | undefined;
  #abortedBy: unknown;

  constructor(run: Run, input: Input, tools: RunTools<Run>) {
    this.#run = run;
    this.#tools = tools;
    this.input = input;
  }

  get #claim(): Claim {
    return this.#run.claim;
  }

  get id(): string {
    return this.#claim.id;
  }
  get kind(): string {
    return this.#claim.kind;
  }
  get queue(): string {
    return this.#claim.queue;
  }
  get tenant(): string {
    return this.#claim.tenant;
  }
  get key(): string | null {
    return this.#claim.key;
  }
  get attempt(): number {
    return this.#claim.attempt;
  }
  get leaseNo(): number {
    return this.#claim.leaseNo;
  }

  get batch(): JobBatch | null {
    const { batch } = this.#claim;
    return batch === null
      ? null
      : batchOf(batch, (definition, input, options) => this.enqueue(definition, input, options));
  }

  get calledBy(): JobContext["calledBy"] {
    return () => this.#tools.nodes.caller(this.#claim);
  }

  get flow(): JobFlow | null {
    return this.#claim.batch === null ? null : flowOf(this.#claim, this.#tools.nodes);
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#abortedBy !== undefined) this.#controller.abort(this.#abortedBy);
    }
    return this.#controller.signal;
  }

  get log(): Logger {
    const { id, kind, tenant, attempt, worker } = this.#claim;
    this.#log ??= this.#keptLog(this.#tools.logger.child({ worker, job: id, kind, tenant, attempt }));
    return this.#log;
  }

  #keptLog(logger: Logger): Logger {
    return this.#tools.keepLog?.(this.#claim, logger) ?? logger;
  }

  // Handlers may take the context apart: `async ({ step }) => …`. So what they call are functions that know their context, made when
  // they are asked for: most jobs ask for none.

  get progress(): JobContext["progress"] {
    return (value) => {
      const refusal = this.#effects?.refusal("ctx.progress");
      if (refusal !== undefined) throw refusal;
      this.#tools.report(this.#claim, value);
    };
  }

  get tick(): JobContext["tick"] {
    return async () => this.#tools.tickOf?.(this.#claim);
  }

  get step(): JobContext["step"] {
    return (name, run) => this.#inSteps("ctx.step", (steps) => steps.step(name, run));
  }

  get sleep(): JobContext["sleep"] {
    return (name, duration) => this.#inSteps("ctx.sleep", (steps) => steps.sleep(name, duration));
  }

  get waitFor(): JobContext["waitFor"] {
    return (name, options) => this.#inSteps("ctx.waitFor", (steps) => steps.waitFor(name, options));
  }

  get enqueue(): JobContext["enqueue"] {
    return (definition, input, options) => this.#ownEffects().enqueue(definition, input, options);
  }

  get publish(): JobContext["publish"] {
    return (channel, message, options) => this.#ownEffects().publish(channel, message, options);
  }

  get complete(): JobContext["complete"] {
    return (tx, result) => this.#ownEffects().complete(tx, result);
  }

  #inSteps<T>(what: string, call: (steps: Steps) => Promise<T>): Promise<T> {
    const refusal = this.#effects?.refusal(what);
    if (refusal !== undefined) return rejected(refusal);
    this.#steps ??= this.#tools.makeSteps(this.#run);
    return call(this.#steps);
  }

  #ownEffects(): RunEffects {
    this.#effects ??= this.#tools.makeEffects(this.#run);
    return this.#effects;
  }

  /** Resolves when no step is being done and no effect being checked any more; undefined when none is. */
  drain(): Promise<unknown> | undefined {
    const steps = this.#steps?.drain();
    const effects = this.#effects?.drain();
    return steps && effects ? Promise.all([steps, effects]) : (steps ?? effects);
  }

  /** What the handler may not overrule: of its steps, or of its effects. */
  get fault(): unknown {
    return this.#steps?.fault ?? this.#effects?.fault;
  }

  /** What the handler asked for. */
  get effects(): Effects | undefined {
    return this.#effects?.collected;
  }

  /** There when the handler has settled its job itself. */
  get completion(): Completion | undefined {
    return this.#effects?.completion;
  }

  /** Why the handler was told to stop; undefined when it was not. The first reason stands. */
  get abortedBy(): unknown {
    return this.#abortedBy;
  }

  abort(reason: Error): void {
    if (this.#abortedBy !== undefined) return;
    this.#abortedBy = reason;
    this.#controller?.abort(reason);
    this.#steps?.abort(reason);
  }
}
