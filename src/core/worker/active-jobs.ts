// The jobs of a worker from claim to settled: starts them, settles what they came to, and knows how many more fit.
//
// A job whose workers died again and again is run alone the last time before it counts as poison: if the process dies once more, it
// was this job, and no bystander is blamed. Until then nothing else is claimed, and what runs may end first.

import { type FairmillError, JobCancelledError, LeaseLostError, type ShutdownError } from "../../base/errors.js";
import type { Claim } from "../job/claim.js";
import type { Effects } from "../job/effects.js";
import type { Verdict } from "../job/outcome.js";
import { type DecidedRun, Run, type RunEnds } from "../run/run.js";
import type { Completion } from "../run/run-effects.js";
import { Runner, type RunnerOptions, type RunsJobs } from "../run/runner.js";
import { isSettled, JobCompleter } from "../settle/completer.js";
import type { ProgressKeeper } from "../settle/progress.js";
import type { Returned } from "../settle/settle-statements.js";
import type { SettleEnds } from "../settle/settler.js";
import { Settlers } from "../settle/settlers.js";
import type { SettleFormat } from "../settle/verdict-details.js";
import { Capacity } from "./capacity.js";
import { ContentReports } from "./content-reports.js";
import { Reclaims } from "./reclaims.js";
import { SettleReports } from "./settle-reports.js";
import type { WorkerContext } from "./worker-context.js";

/** Makes what runs the jobs of a worker, when that is not this process. It sees to it that suspects run alone. */
export type MakeRunner = (options: RunnerOptions, ends: RunEnds) => RunsJobs;

export interface ActiveJobsOptions extends Pick<RunnerOptions, "handlers" | "members" | "maker"> {
  readonly progress: ProgressKeeper;
  readonly format: SettleFormat;
  /** Default: handlers run in this process. */
  readonly makeRunner?: MakeRunner | undefined;
  /** Keeps secrets of a job out of a text that is logged. */
  readonly scrub?: (claim: Claim, text: string) => string;
}

/** A job with its verdict, on its way to the database: a run that is decided, or a job that was never started. */
interface Settling {
  readonly claim: Claim;
  verdict: Verdict;
  effects?: Effects | undefined;
  readonly durationMs: number;
}

/** So long jobs that were claimed ahead without a setting wait for capacity, up to twice that, before they are given back. */
const LINE_MS_MAX = 250;
/** Verdicts that may wait to be written, as a multiple of the capacity, before nothing more is claimed. */
const UNSETTLED_MAX_FACTOR = 4;

export class ActiveJobs implements RunEnds, SettleEnds<Settling> {
  readonly #context: WorkerContext;
  readonly #reports: SettleReports;
  readonly #runner: RunsJobs;
  readonly #runsHere: boolean;
  readonly #settlers: Settlers<Settling>;
  readonly #capacity: Capacity;
  /** Started and not yet settled. */
  readonly #runs = new Set<Run>();
  readonly #reclaims = new Reclaims();
  #undecided = 0;
  #isScheduled = false;
  #isWatchingLine = false;
  #decided: (() => void)[] = [];
  #suspect: Claim | undefined;
  /** Releases on their way: their jobs are still ours, and would be blamed if this process died. */
  #releasing = 0;

  constructor(context: WorkerContext, { progress, format, scrub, makeRunner, ...options }: ActiveJobsOptions) {
    const { bus, clock, log, events, settings } = context;
    this.#context = context;
    const contents = new ContentReports(log, events);
    this.#reports = new SettleReports(context, contents, scrub);
    this.#capacity = new Capacity(settings.concurrency, settings.prefetch);
    const runnerOptions: RunnerOptions = {
      ...options,
      clock,
      logger: log,
      abortGraceMs: settings.abortGraceMs,
      codec: settings.codec,
      contents: settings.contents,
      completer: new JobCompleter(
        {
          dismissProgress: (claim) => progress.dismiss(claim),
          isSettled: (claim, isOver) => isSettled(context, claim, isOver),
        },
        context.db.schema,
        format,
      ),
      onKept: (claim, what, value) => contents.look(claim, what, value),
      onProgress: (claim, value) => {
        contents.look(claim, "progress", value);
        progress.report(claim, value);
      },
    };
    this.#runner = makeRunner?.(runnerOptions, this) ?? new Runner(runnerOptions, this);
    this.#runsHere = makeRunner === undefined;
    this.#settlers = new Settlers(context, format, this);
    bus.on("cancel", ({ worker, ids }) => this.#cancel(worker, ids));
    bus.on("lost", () => this.abortAll(new LeaseLostError()));
  }

  /** Jobs that were claimed and are not settled. */
  get size(): number {
    return this.#runs.size + this.#capacity.waiting + this.#reclaims.waiting.length + (this.#suspect ? 1 : 0);
  }

  get stats(): object {
    return { ...this.#reports.counts, running: this.#capacity.used };
  }

  /** How many jobs each queue could take now. */
  demand(): Map<string, number> {
    const isFull = this.#runs.size - this.#capacity.used > this.#capacity.total * UNSETTLED_MAX_FACTOR;
    return isFull || this.#suspect ? new Map() : this.#capacity.demand(this.#context.clock.monotonic());
  }

  /** From now on each queue may run this many times the jobs at once that the settings say. */
  resize(times: number): void {
    this.#capacity.resize(times);
    this.#schedule();
  }

  /** Resolves when `demand` may have changed. */
  changed(): Promise<void> {
    return this.#capacity.freed();
  }

  /** Ends every wait for a change. */
  notify(): void {
    this.#capacity.notify();
  }

  take(claims: readonly Claim[]): void {
    this.#reports.counts.claimed += claims.length;
    this.#dropOutdated(claims);
    for (const claim of claims) {
      const outdated = this.#reclaims.outdatedBy(claim);
      if (outdated) this.#takeAgain(claim, outdated);
      else this.#admit(claim);
    }
    this.#schedule();
  }

  /** Puts a claim in line for capacity, a suspect for the time when nothing else is active. */
  #admit(claim: Claim): void {
    if (!this.#isSuspect(claim)) this.#capacity.add(claim);
    else if (this.#suspect) this.#release(claim);
    else this.#suspect = claim;
  }

  /** What was claimed before, has not begun and comes again now is not ours any more under its old number. */
  #dropOutdated(claims: readonly Claim[]): void {
    if (this.#capacity.waiting === 0 && !this.#suspect) return;
    const ids = new Set(claims.map(({ id }) => id));
    for (const old of this.#withdrawWaiting(({ id }) => ids.has(id))) this.#release(old);
  }

  /** The job is still being run under a claim that the database does not know any more. */
  #takeAgain(claim: Claim, outdated: Run): void {
    const { worker, id: job, kind, tenant } = claim;
    this.#context.log.warn(
      { worker, job, kind, tenant },
      "The database has given out a job again that still runs here: its lease was lost. The first run is aborted, the second one waits for its end",
    );
    const before = this.#reclaims.wait(claim);
    if (before) this.#release(before);
    this.#runner.abort(
      outdated,
      new LeaseLostError("The lease on this job was lost: it was claimed again. Nothing was written."),
    );
  }

  /** Ids of the active jobs of this worker. */
  idsOf(worker: string): string[] {
    const claims = [...[...this.#runs].map((run) => run.claim), ...this.#capacity.line, ...this.#reclaims.waiting];
    if (this.#suspect) claims.push(this.#suspect);
    return claims.filter((claim) => claim.worker === worker).map((claim) => claim.id);
  }

  /** These shall be cancelled: what runs is told, what waits for capacity does not start. */
  #cancel(worker: string, ids: readonly string[]): void {
    const wanted = new Set(ids);
    const isWanted = (claim: Claim) => claim.worker === worker && wanted.has(claim.id);
    for (const run of this.#runs) if (isWanted(run.claim)) this.#runner.abort(run, new JobCancelledError());
    for (const claim of this.#withdrawWaiting(isWanted)) this.#settleUnstarted(claim, { verdict: "cancelled" });
  }

  abortAll(reason: LeaseLostError | ShutdownError): void {
    this.releaseWaiting();
    for (const run of this.#runs) this.#runner.abort(run, reason);
  }

  /** Gives back what was claimed and not started. */
  releaseWaiting(): void {
    for (const claim of this.#withdrawWaiting(() => true)) this.#release(claim);
  }

  /** Takes out what was claimed and not started, as far as it is wanted. */
  #withdrawWaiting(isWanted: (claim: Claim) => boolean): Claim[] {
    const claims = this.#capacity.withdraw(isWanted);
    for (const claim of this.#reclaims.waiting.filter(isWanted)) claims.push(this.#reclaims.withdraw(claim.id)!);
    const suspect = this.#suspect;
    if (suspect && isWanted(suspect) && ![...this.#runs].some((run) => run.claim === suspect)) {
      this.#suspect = undefined;
      claims.push(suspect);
    }
    return claims;
  }

  /** Resolves when no started job is without a verdict. */
  decided(): Promise<void> {
    return this.#undecided === 0 ? Promise.resolve() : new Promise((resolve) => this.#decided.push(resolve));
  }

  /** Resolves when every verdict is written. */
  settled(): Promise<void> {
    return this.#settlers.drained();
  }

  /** Stops trying to write what the database does not take. */
  abandon(): void {
    this.#settlers.abandon();
  }

  onVerdict(run: DecidedRun): void {
    this.#noteEnd(run);
    // Its handler may go on for ever: the claim that waits for its end goes to other workers.
    const again = run.isGivenUp ? this.#reclaims.withdraw(run.claim.id) : undefined;
    if (again) this.#release(again);
    this.#settlers.add(run, run.effects !== undefined || run.isCompleted);
  }

  onCompleted(run: DecidedRun, { returned }: Completion): void {
    this.#noteEnd(run);
    if (returned.length > 0) this.onReturned(returned);
    this.onSettled(run.claim.worker, [run], []);
  }

  #noteEnd(run: DecidedRun): void {
    const { clock, events } = this.#context;
    run.durationMs = clock.monotonic() - run.startedAtMs;
    this.#undecided--;
    if (this.#undecided === 0 && this.#decided.length > 0) for (const resolve of this.#decided.splice(0)) resolve();
    if (events.listenerCount("ended") === 0) return;
    const { claim, verdict, durationMs } = run;
    events.emit("ended", { claim, verdict, durationMs });
  }

  /** What the handler asked for was not taken: as if it had thrown this. */
  onEffectsRefused(item: Settling, error: FairmillError): void {
    item.verdict = this.#runner.verdictOf(item.claim, { type: "threw", error });
    item.effects = undefined;
    this.#settlers.add(item, false);
  }

  onOver(run: Run): void {
    run.isOver = true;
    const again = this.#reclaims.over(run);
    if (again) this.#admit(again);
    this.#capacity.give(run.claim.queue, run.durationMs, this.#context.clock.monotonic());
    if (this.#capacity.waiting > 0) this.#schedule();
  }

  /** Starts at the end of this turn of the loop: first the next claim is sent, then the handlers run while it is under way. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#startWaiting);
  }

  /** One function for all turns: `#schedule` is called for every job, and would make one each time. */
  readonly #startWaiting = (): void => {
    this.#isScheduled = false;
    for (const claim of this.#capacity.fill()) this.#start(claim);
    this.#startSuspect();
    if (this.#capacity.waiting > 0 && !this.#isWatchingLine) this.#watchLine();
  };

  /** What was claimed ahead because jobs were short, and has waited for long because they are not any more, goes to other workers. */
  #watchLine(): void {
    const before = new Set(this.#capacity.unasked);
    if (before.size === 0) return;
    this.#isWatchingLine = true;
    this.#context.clock.after(LINE_MS_MAX, () => {
      this.#isWatchingLine = false;
      for (const claim of this.#capacity.withdraw((claim) => before.has(claim))) this.#release(claim);
      if (this.#capacity.waiting > 0) this.#watchLine();
    });
  }

  #isSuspect(claim: Claim): boolean {
    return this.#runsHere && claim.crashes > 0 && claim.crashes >= this.#context.settings.crashesMax - 1;
  }

  #startSuspect(): void {
    const suspect = this.#suspect;
    if (!suspect || this.#runs.size + this.#capacity.waiting + this.#releasing > 0) return;
    const { worker, id, kind, crashes } = suspect;
    this.#context.log.warn(
      { worker, job: id, kind, crashes },
      "Running this job alone: workers died while they ran it",
    );
    this.#capacity.take(suspect.queue);
    this.#start(suspect);
  }

  #start(claim: Claim): void {
    const { events } = this.#context;
    const run = this.#runner.prepare(claim);
    this.#runs.add(run);
    this.#undecided++;
    if (events.listenerCount("running") > 0) events.emit("running", { claim });
    this.#runner.begin(run);
    if (!run.isOver) this.#reclaims.begun(run);
  }

  #release(claim: Claim): void {
    this.#settleUnstarted(claim, { verdict: "release" });
  }

  #settleUnstarted(claim: Claim, verdict: Verdict): void {
    this.#releasing++;
    this.#settlers.add({ claim, verdict, durationMs: 0 }, false);
  }

  onReturned(jobs: readonly Returned[]): void {
    this.#context.bus.tell("returned", jobs);
  }

  onAbandoned(items: readonly Settling[]): void {
    for (const item of items) this.#letGo(item);
  }

  onSettled(worker: string, accepted: readonly Settling[], refused: readonly Settling[]): void {
    for (const item of accepted) {
      this.#letGo(item);
      this.#reports.accepted(item);
    }
    for (const item of refused) this.#letGo(item);
    this.#reports.settled(worker, accepted, refused);
    this.#startSuspect();
    this.#capacity.notify();
  }

  #letGo(item: Settling): void {
    if (item instanceof Run) this.#runs.delete(item);
    else this.#releasing--;
    if (this.#suspect === item.claim) this.#suspect = undefined;
  }
}
