// Runs the jobs of a supervisor's worker in its children: allocates, tells them to stop, hears what runs came to, and settles as a crash what a
// child took with it when it died. To the worker it is a runner like the one that calls handlers in its own process.

import type { Clock } from "../base/clock.js";
import { LeaseLostError, ShutdownError } from "../base/errors.js";
import type { Claim } from "../core/job/claim.js";
import type { Outcome, Verdict } from "../core/job/outcome.js";
import { TimeLimit } from "../core/run/time-limit.js";
import type { WorkerAllocationStrategy } from "./allocation.js";
import type { FromChild, PortName } from "./border/messages.js";
import { receiveEffects } from "./border/sent-effects.js";
import { sendError, sendReason } from "./border/sent-errors.js";
import type { Child } from "./child.js";
import type { Exit } from "./life-cycle.js";
import { type PortsServed, RemoteRun, serve, tellLimits } from "./remote-run.js";
import { RunAllocator } from "./run-allocator.js";
import {
  type DecidedRun,
  type Run,
  type RunEnds,
  Runner,
  type RunnerOptions,
  type RunStores,
  type RunsJobs,
} from "./worker-port.js";

export interface RemoteRunnerOptions {
  readonly allocation: WorkerAllocationStrategy;
  /** Names runs, for all runners that speak with the same children. */
  readonly nextNumber: () => number;
  /** Children that are ready or working, by number. */
  readonly children: () => readonly Child[];
  /** A run of this child has ended, well or not. */
  readonly onEnded: (child: Child) => void;
  /** A handler in this child ignored its signal: its process must go, its neighbours may end first. */
  readonly onGivenUp: (child: Child, kind: string) => void;
}

/** How much longer than a run's time limit and its grace the supervisor waits before it takes the child to be hung. */
const SLACK_MS = 2_000;
/** When the worker stops: its jobs go to others a moment later. */
const LAST_SLACK_MS = 50;

/** A run on its way: under its time limit from when the child got it. */
interface Timed {
  readonly startedAtMs: number;
  readonly run: RemoteRun;
  readonly child: Child;
}

export class RemoteRunner implements RunsJobs {
  readonly #options: RemoteRunnerOptions;
  readonly #ends: RunEnds;
  readonly #clock: Clock;
  readonly #runner: RunnerOptions;
  readonly #crashesMax: number;
  readonly #served: PortsServed;
  /** Decides what becomes of runs that no child decided; it never calls a handler. */
  readonly #local: Runner;
  readonly #allocator: RunAllocator;
  #waiting: RemoteRun[] = [];
  /** Which child has a run. */
  readonly #owners = new Map<RemoteRun, Child>();
  readonly #limits = new Map<number, TimeLimit<Timed>>();
  readonly #timed = new Map<RemoteRun, Timed>();
  #isPumping = false;

  constructor(options: RemoteRunnerOptions, runner: RunnerOptions, ends: RunEnds, stores: RunStores) {
    const { clock, log, settings } = stores.context;
    this.#options = options;
    this.#ends = ends;
    this.#clock = clock;
    this.#runner = runner;
    this.#crashesMax = settings.crashesMax;
    this.#local = new Runner(runner, ends);
    this.#allocator = new RunAllocator({
      ...{ allocation: options.allocation, children: options.children },
      ...{ crashesMax: settings.crashesMax, log },
    });
    this.#served = { stores, completer: runner.completer };
  }

  /** Runs that no child could take yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  prepare(claim: Claim): RemoteRun {
    return new RemoteRun(claim, this.#clock.monotonic(), this.#options.nextNumber(), this);
  }

  begin(run: Run): void {
    this.#waiting.push(run as RemoteRun);
    this.pump();
  }

  verdictOf(claim: Claim, outcome: Outcome): Verdict {
    return this.#local.verdictOf(claim, outcome);
  }

  abort(given: Run, reason: Error): void {
    const run = given as RemoteRun;
    if (run.isDecided || run.abortedBy !== undefined) return;
    run.abortedBy = reason;
    const child = this.#owners.get(run);
    if (child === undefined) {
      this.#waiting = this.#waiting.filter((one) => one !== run);
      this.#allocator.forget(run);
      return this.#close(run, this.#abortedVerdict(run));
    }
    child.say({ type: "abort", run: run.number, reason: sendReason(reason) });
    // The child gives its handler up by itself; one that does not even do that hangs.
    const slackMs = reason instanceof ShutdownError ? LAST_SLACK_MS : SLACK_MS;
    run.forgetGrace = this.#clock.after(this.#runner.abortGraceMs + slackMs, () =>
      child.kill({ kind: "hung", reason: `its loop was blocked when a job of kind "${run.claim.kind}" was to stop` }),
    );
  }

  /** What no child has taken yet goes back. */
  abortWaiting(reason: Error): void {
    for (const run of [...this.#waiting]) this.abort(run, reason);
  }

  /** Gives waiting runs to children, as far as they can take them. */
  pump(): void {
    if (this.#isPumping || this.#waiting.length === 0) return;
    this.#isPumping = true;
    const left: RemoteRun[] = [];
    for (const run of this.#waiting) {
      const child = this.#allocator.childFor(run);
      if (child === undefined) left.push(run);
      else this.#give(child, run);
    }
    this.#waiting = left;
    this.#isPumping = false;
  }

  hear(child: Child, message: FromChild): void {
    const run: RemoteRun | undefined = "run" in message ? child.runs.get(message.run) : undefined;
    if (run !== undefined && run.home !== this) return;
    if (message.type === "call") return void this.#answer(child, run, message);
    if (run === undefined) return;
    if (message.type === "progress") return this.#runner.onProgress(run.claim, JSON.parse(message.json));
    if (message.type === "over") return this.#over(child, run);
    if (message.type === "log") return this.#served.stores.logs.keep(run.claim, message.level, message.json);
    if (message.type === "registered") return this.#registered(run, message);
    if (run.isDecided) return;
    if (message.type === "completed") {
      run.complete();
      const result = message.verdict.verdict === "done" ? message.verdict.result : undefined;
      return this.#ends.onCompleted(decided(run, message.verdict), { result, returned: message.returned });
    }
    if (message.type !== "verdict") return;
    if (message.isCompleted) run.complete();
    run.isGivenUp = message.isGivenUp;
    run.effects = receiveEffects(message.effects);
    if (message.scrubbed !== undefined) this.#served.stores.logs.hearScrubbed(run.claim, message.scrubbed);
    this.#ends.onVerdict(decided(run, message.verdict));
    if (message.isGivenUp) this.#options.onGivenUp(child, run.claim.kind);
  }

  /** The process of the child has ended: its runs did with it. */
  lost(child: Child, exit: Exit): void {
    for (const run of [...child.runs.values()]) {
      if (run.home !== this) continue;
      child.end(run);
      this.#disown(run);
      this.#served.stores.providers.forget(run.claim);
      const isWanted = exit.kind === "wanted" || run.abortedBy !== undefined;
      this.#close(
        run,
        isWanted
          ? this.#abortedVerdict(run)
          : { verdict: "crashed", reason: exit.reason, crashesMax: this.#crashesMax },
      );
    }
    child.suspect = undefined;
  }

  #abortedVerdict(run: RemoteRun): Verdict {
    const reason = run.abortedBy ?? new LeaseLostError("The process of this job was ended.");
    return this.verdictOf(run.claim, { type: "threw", error: reason, abortedBy: reason });
  }

  /** No child will say more of it. */
  #close(run: RemoteRun, verdict: Verdict): void {
    if (!run.isDecided) this.#ends.onVerdict(decided(run, verdict));
    this.#ends.onOver(run);
  }

  #over(child: Child, run: RemoteRun): void {
    child.end(run);
    this.#disown(run);
    this.#ends.onOver(run);
    this.#options.onEnded(child);
    this.pump();
  }

  #give(child: Child, run: RemoteRun): void {
    this.#owners.set(run, child);
    child.give(run);
    const { timeoutMs, kind } = run.claim;
    const limitMs = timeoutMs ?? this.#runner.handlers.get(kind)?.definition.timeoutMs ?? 0;
    if (limitMs === 0) return;
    const timed = { startedAtMs: run.sentAtMs!, run, child };
    this.#timed.set(run, timed);
    this.#limitOf(limitMs).add(timed);
  }

  /** The child keeps time limits itself, as long as its loop turns: this is for one that does not. */
  #limitOf(limitMs: number): TimeLimit<Timed> {
    const known = this.#limits.get(limitMs);
    if (known !== undefined) return known;
    const lateMs = limitMs + this.#runner.abortGraceMs + SLACK_MS;
    const limit = new TimeLimit<Timed>(this.#clock, lateMs, ({ run, child }) => {
      if (!run.isDecided)
        child.kill({ kind: "hung", reason: `its loop was blocked past the time limit of kind "${run.claim.kind}"` });
    });
    this.#limits.set(limitMs, limit);
    return limit;
  }

  /** The child is done with it. */
  #disown(run: RemoteRun): void {
    this.#owners.delete(run);
    const timed = this.#timed.get(run);
    if (timed === undefined) return;
    this.#timed.delete(run);
    for (const limit of this.#limits.values()) limit.delete(timed);
  }

  async #answer(
    child: Child,
    run: RemoteRun | undefined,
    { call, port, args }: Extract<FromChild, { type: "call" }>,
  ): Promise<void> {
    try {
      child.say({ type: "answer", call, value: await this.#serve(run, port, args) });
    } catch (error) {
      child.say({ type: "answer", call, error: sendError(error) });
    }
  }

  #serve(run: RemoteRun | undefined, port: PortName, args: readonly unknown[]): unknown {
    if (port === "tellLimits") return tellLimits(this.#served.stores, args);
    if (run === undefined) throw new LeaseLostError("The run has ended.");
    return serve(this.#served, run, port, args);
  }

  #registered({ claim: { worker } }: RemoteRun, { kind, batch }: Extract<FromChild, { type: "registered" }>): void {
    this.#served.stores.context.events.emit("registered", { worker, job: null, kind, batch });
  }
}

function decided(run: RemoteRun, verdict: Verdict): DecidedRun {
  run.decide(verdict);
  return run;
}
