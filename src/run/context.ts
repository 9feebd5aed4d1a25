// What a handler is given: its input, who it is, a signal that says when to stop, and ways to report.
import type { Claim } from "../model/claim.js";
import type { Duration } from "../model/duration.js";
import type { Tick } from "../model/schedule.js";
import type { Logger } from "../observe/log.js";
import type { Steps, WaitOptions } from "./steps.js";

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
   * every step of the job a name of its own.
   */
  step<T>(name: string, run: () => T | Promise<T>): Promise<T>;
  /** Ends this run; another one goes on behind this line after the time. */
  sleep(name: string, duration: Duration): Promise<void>;
  /** Ends this run until `client.signal(id, name, value)`, before or after; resolves with the value. After `timeout`: WaitTimeoutError. */
  waitFor<T = unknown>(name: string, options?: WaitOptions): Promise<T>;
}

/** The context, and the runner's handle on it. The signal is made when it is first asked for: most handlers never do. */
export class RunContext<Input> implements JobContext<Input> {
  readonly #claim: Claim;
  readonly #logger: Logger;
  readonly #report: (claim: Claim, value: unknown) => void;
  readonly #makeSteps: () => Steps;
  readonly #tickOf: ((claim: Claim) => Promise<Tick | undefined>) | undefined;
  readonly input: Input;
  #controller: AbortController | undefined;
  #log: Logger | undefined;
  /** Made when the first step is asked for. */
  #steps: Steps | undefined;
  #abortedBy: unknown;

  constructor(
    claim: Claim,
    input: Input,
    logger: Logger,
    report: (claim: Claim, value: unknown) => void,
    makeSteps: () => Steps,
    tickOf?: (claim: Claim) => Promise<Tick | undefined>,
  ) {
    this.#claim = claim;
    this.#logger = logger;
    this.#report = report;
    this.#makeSteps = makeSteps;
    this.#tickOf = tickOf;
    this.input = input;
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

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#abortedBy !== undefined) this.#controller.abort(this.#abortedBy);
    }
    return this.#controller.signal;
  }

  get log(): Logger {
    const { id, kind, tenant, attempt, worker } = this.#claim;
    this.#log ??= this.#logger.child({ worker, job: id, kind, tenant, attempt });
    return this.#log;
  }

  progress(value: unknown): void {
    this.#report(this.#claim, value);
  }

  async tick(): Promise<Tick | undefined> {
    return this.#tickOf?.(this.#claim);
  }

  step<T>(name: string, run: () => T | Promise<T>): Promise<T> {
    return this.#ownSteps().step(name, run);
  }

  sleep(name: string, duration: Duration): Promise<void> {
    return this.#ownSteps().sleep(name, duration);
  }

  waitFor<T = unknown>(name: string, options?: WaitOptions): Promise<T> {
    return this.#ownSteps().waitFor(name, options);
  }

  #ownSteps(): Steps {
    this.#steps ??= this.#makeSteps();
    return this.#steps;
  }

  /** Resolves when no step is being done any more; undefined when none is. */
  drainSteps(): Promise<void> | undefined {
    return this.#steps?.drain();
  }

  /** What the steps found that the handler may not overrule. */
  get fault(): unknown {
    return this.#steps?.fault;
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
