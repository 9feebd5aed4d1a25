// What a handler is given: its input, who it is, a signal that says when to stop, and ways to report. The core brings what every job has; steps,
// messages, batches and ticks are brought by their features, which declare their members in `JobContext` (`declare module`) and implement them as
// `ContextMembers`. `src/worker/context-members.ts` puts them together.
import type { Logger } from "../../base/log.js";
import type { Queryable } from "../../base/queryable.js";
import type { Claim } from "../job/claim.js";
import type { EnqueueOptions } from "../job/enqueue-options.js";
import type { JobDefinition } from "../job/job-definition.js";
import type { Run } from "./run.js";
import type { Completed, RunEffects } from "./run-effects.js";

/** What the core brings. */
export interface CoreContext<Input = unknown> {
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
  /** Keeps a JSON value as the job's progress; cheap to call often, the latest value wins. */
  progress(value: unknown): void;
  /**
   * Asks for another job: it is stored with the settle of this one, once, if the handler returns. Nothing is stored before, so there is no
   * id yet. `tenant`: this job's own, unless given.
   */
  enqueue<In>(definition: JobDefinition<In, unknown>, input: In, options?: EnqueueOptions): Promise<void>;
  /**
   * Settles this job as done inside a transaction of yours, with what was asked for so far: they commit together. Throws when the
   * transaction must be rolled back. Commit it before the handler returns. What it resolves with may be returned in place of a result.
   */
  complete(tx: Queryable, result?: unknown): Promise<Completed>;
}

/** What a handler is given. Features add their members to it. */
export interface JobContext<Input = unknown> extends CoreContext<Input> {}

type FeatureMember = Exclude<keyof JobContext, keyof CoreContext>;

/** How features make their members: each is called when a handler reads it, so a job pays for what it uses. */
export type ContextMembers<Names extends FeatureMember = FeatureMember> = {
  readonly [Name in Names]: (run: Run) => JobContext[Name];
};

/** What a feature may do with a run. */
export interface RunControl {
  /** The effects of the run; the first call makes them. */
  effectsOf(run: Run): RunEffects;
  /** Tells the handler to stop; the first reason stands. */
  abort(run: Run, reason: Error): void;
  /** Decides that the job is run again later, or when one of these signals comes, and tells the handler to stop. */
  pause(run: Run, pause: { readonly delayMs: number; readonly waits: readonly string[] }, reason: Error): void;
  /** A value of the run is kept as JSON: what of it, and the value as it was. */
  onKept(claim: Claim, what: string, value: unknown): void;
}

/** What all contexts of a worker share: one is made for every job, so it carries little of its own. */
export interface ContextTools {
  readonly logger: Logger;
  readonly report: (claim: Claim, value: unknown) => void;
  readonly effectsOf: (run: Run) => RunEffects;
}

/** The signal is made when it is first asked for: most handlers never do. */
export class RunContext<Input = unknown> implements CoreContext<Input> {
  readonly #run: Run;
  readonly #tools: ContextTools;
  readonly input: Input;
  #controller: AbortController | undefined;
  #log: Logger | undefined;

  constructor(run: Run, input: Input, tools: ContextTools) {
    this.#run = run;
    this.#tools = tools;
    this.input = input;
  }

  /** The same class with the members of features: made once a worker. */
  static with(members: ContextMembers): typeof RunContext {
    class FeatureContext<Input> extends RunContext<Input> {}
    for (const [name, make] of Object.entries(members))
      Object.defineProperty(FeatureContext.prototype, name, {
        get(this: FeatureContext<unknown>) {
          return make(this.#run);
        },
        configurable: true,
      });
    return FeatureContext;
  }

  get id(): string {
    return this.#run.claim.id;
  }
  get kind(): string {
    return this.#run.claim.kind;
  }
  get queue(): string {
    return this.#run.claim.queue;
  }
  get tenant(): string {
    return this.#run.claim.tenant;
  }
  get key(): string | null {
    return this.#run.claim.key;
  }
  get attempt(): number {
    return this.#run.claim.attempt;
  }
  get leaseNo(): number {
    return this.#run.claim.leaseNo;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#run.abortedBy !== undefined) this.#controller.abort(this.#run.abortedBy);
    }
    return this.#controller.signal;
  }

  get log(): Logger {
    const { id, kind, tenant, attempt, worker } = this.#run.claim;
    this.#log ??= this.#tools.logger.child({ worker, job: id, kind, tenant, attempt });
    return this.#log;
  }

  // Handlers may take the context apart: `async ({ step }) => …`. So what they call are functions that know their context, made when
  // they are asked for: most jobs ask for none.

  get progress(): CoreContext["progress"] {
    return (value) => {
      const refusal = this.#run.asked?.refusal("ctx.progress");
      if (refusal !== undefined) throw refusal;
      this.#tools.report(this.#run.claim, value);
    };
  }

  get enqueue(): CoreContext["enqueue"] {
    return (definition, input, options) => this.#tools.effectsOf(this.#run).enqueue(definition, input, options);
  }

  get complete(): CoreContext["complete"] {
    return (tx, result) => this.#tools.effectsOf(this.#run).complete(tx, result);
  }

  /** The run was told to stop. */
  onAborted(reason: unknown): void {
    this.#controller?.abort(reason);
  }
}
