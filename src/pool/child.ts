// A child of the pool: its state, its process, and the runs that it was given. A process that dies is followed by another one in the same child,
// until it has failed too often in a row.
import type { Clock } from "../base/clock.js";
import type { AllocatableJob, PoolWorker } from "./allocation.js";
import type { FromChild, ToChild, Vitals } from "./border/messages.js";
import type { Offer } from "./border/offer.js";
import { ChildProcess, type ChildProcessOptions } from "./child-process.js";
import { type ChildState, type Exit, mayFollow } from "./life-cycle.js";
import type { RemoteRun } from "./remote-run.js";

export interface ChildEvents {
  readonly onState: (child: Child, before: ChildState) => void;
  readonly onOffer: (child: Child, offer: Offer) => void;
  readonly onMessage: (child: Child, message: FromChild) => void;
  readonly onVitals: (child: Child) => void;
  readonly onExit: (child: Child, exit: Exit) => void;
}

export interface ChildOptions extends ChildEvents {
  readonly number: number;
  readonly clock: Clock;
  readonly process: Pick<ChildProcessOptions, "program" | "settings" | "hangMs">;
  /** Jobs at once, by queue: as it is now. */
  readonly capacity: () => ReadonlyMap<string, number>;
}

/** Figures of a child, as they are reported. */
export interface ChildFacts {
  readonly number: number;
  readonly pid: number | null;
  readonly state: ChildState;
  readonly draining: boolean;
  readonly running: number;
  /** Processor time per time: 1 is one core, fully used. */
  readonly cpu: number;
  readonly memoryBytes: number;
  readonly uptimeMs: number;
  readonly jobsProcessed: number;
  /** In a row. */
  readonly failures: number;
  /** How its last process ended, or why it is being ended. */
  readonly reason: string | null;
  readonly startedAtMs: number;
}

export class Child implements PoolWorker {
  readonly number: number;
  readonly runs = new Map<number, RemoteRun>();
  readonly startedAtMs: number;
  readonly #options: ChildOptions;
  #state: ChildState = "idle";
  #process: ChildProcess | undefined;
  #processAtMs: number;
  #vitals: Vitals = { cpuUs: 0, memoryBytes: 0, uptimeMs: 0 };
  #cpu = 0;
  #offer: Offer | undefined;
  #kinds: ReadonlySet<string> = new Set();
  /** Runs by queue. */
  readonly #used = new Map<string, number>();
  jobsProcessed = 0;
  /** Of the process that runs now. */
  jobsOfProcess = 0;
  failures = 0;
  reason: string | null = null;
  /** It gets no more jobs, and ends when it has none. */
  isDraining = false;
  /** It runs this job alone, or will as soon as the others have ended. */
  suspect: RemoteRun | undefined;
  /** When the process said ready, by the monotonic clock. */
  readyAtMs: number | undefined;

  constructor(options: ChildOptions) {
    this.#options = options;
    this.number = options.number;
    this.startedAtMs = options.clock.now();
    this.#processAtMs = options.clock.monotonic();
    this.startProcess();
  }

  get state(): ChildState {
    return this.#state;
  }

  get running(): number {
    return this.runs.size;
  }

  runningOf(queue: string): number {
    return this.#used.get(queue) ?? 0;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get memoryBytes(): number {
    return this.#vitals.memoryBytes;
  }

  get ageMs(): number {
    return this.#options.clock.monotonic() - this.#processAtMs;
  }

  get isServing(): boolean {
    return (this.#state === "ready" || this.#state === "working") && !this.isDraining;
  }

  /** What the code of its process offers; undefined: it has not said ready. */
  get offer(): Offer | undefined {
    return this.#offer;
  }

  /** Not a kind that its code does not know: while processes are replaced, old code and new code are there at once. */
  canAccept({ kind, queue }: AllocatableJob): boolean {
    if (!this.isServing || this.suspect !== undefined || !this.#kinds.has(kind)) return false;
    return (this.#used.get(queue) ?? 0) < (this.#options.capacity().get(queue) ?? 0);
  }

  startProcess(): void {
    const { clock, process: facts } = this.#options;
    this.#processAtMs = clock.monotonic();
    this.#vitals = { cpuUs: 0, memoryBytes: 0, uptimeMs: 0 };
    this.jobsOfProcess = 0;
    this.#process = new ChildProcess({
      ...facts,
      clock,
      onReady: (offer) => {
        this.readyAtMs = clock.monotonic();
        this.#offer = offer;
        this.#kinds = new Set(offer.definitions.map(({ kind }) => kind));
        this.become("ready");
        this.#options.onOffer(this, offer);
      },
      onMessage: (message) => this.#options.onMessage(this, message),
      onVitals: (vitals) => this.#measure(vitals),
      onExit: (exit) => {
        this.#process = undefined;
        this.readyAtMs = undefined;
        this.reason = exit.reason;
        this.#options.onExit(this, exit);
      },
    });
  }

  /** Throws where the table of states does not know the step: that is a fault of this library. */
  become(state: ChildState): void {
    const before = this.#state;
    if (before === state) return;
    if (!mayFollow(before, state)) throw new Error(`Child ${this.number}: ${before} cannot become ${state}.`);
    this.#state = state;
    this.#options.onState(this, before);
  }

  give(run: RemoteRun): void {
    run.sentAtMs = this.#options.clock.monotonic();
    this.runs.set(run.number, run);
    this.#use(run, 1);
    this.become("working");
    this.say({ type: "run", run: run.number, claim: run.claim });
  }

  /** The handler has ended, or the process has. */
  end(run: RemoteRun): void {
    if (!this.runs.delete(run.number)) return;
    this.#use(run, -1);
    if (this.suspect === run) this.suspect = undefined;
    this.jobsProcessed++;
    this.jobsOfProcess++;
    if (this.runs.size === 0 && this.#state === "working" && this.#process !== undefined) this.become("ready");
  }

  say(message: ToChild): void {
    this.#process?.say(message);
  }

  leave(exit: Exit): void {
    this.reason = exit.reason;
    this.#process?.leave(exit);
  }

  kill(exit: Exit): void {
    this.#process?.kill(exit);
  }

  get hasProcess(): boolean {
    return this.#process !== undefined;
  }

  facts(): ChildFacts {
    return {
      number: this.number,
      pid: this.pid ?? null,
      state: this.#state,
      draining: this.isDraining,
      running: this.runs.size,
      cpu: this.#process ? this.#cpu : 0,
      memoryBytes: this.#process ? this.#vitals.memoryBytes : 0,
      uptimeMs: this.#process ? this.ageMs : 0,
      jobsProcessed: this.jobsProcessed,
      failures: this.failures,
      reason: this.reason,
      startedAtMs: this.startedAtMs,
    };
  }

  #use({ claim }: RemoteRun, count: 1 | -1): void {
    this.#used.set(claim.queue, (this.#used.get(claim.queue) ?? 0) + count);
  }

  #measure(vitals: Vitals): void {
    const { cpuUs, uptimeMs } = this.#vitals;
    if (vitals.uptimeMs > uptimeMs) this.#cpu = (vitals.cpuUs - cpuUs) / 1_000 / (vitals.uptimeMs - uptimeMs);
    this.#vitals = vitals;
    this.#options.onVitals(this);
  }
}
