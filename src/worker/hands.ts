// The jobs in a worker's hands, from claim to settled: starts them, settles what they came to, and knows how many more fit.
//
// A job whose workers died again and again is run alone the last time before it counts as poison: if the process dies once more, it
// was this job, and no bystander is blamed. Until then nothing else is claimed, and what runs is let end first.
import type { Claim } from "../model/claim.js";
import type { LeaseLostError, ShutdownError } from "../model/errors.js";
import type { Verdict } from "../model/outcome.js";
import type { Run, Runner } from "../run/runner.js";
import type { Settler } from "../settle/settler.js";
import type { Parts } from "./parts.js";
import { Slots } from "./slots.js";
import { logVerdict } from "./verdict-log.js";

export interface HandsOptions {
  readonly runner: Runner;
  readonly settler: Settler;
  /** A job waits for another turn: something falls due in so many milliseconds. */
  readonly onDue: (ms: number) => void;
}

/** Verdicts that may wait to be written, as a multiple of the places, before nothing more is claimed. */
const UNSETTLED_MAX_FACTOR = 4;

export class Hands {
  readonly #parts: Parts;
  readonly #options: HandsOptions;
  readonly #slots: Slots;
  readonly #runs = new Map<string, Run>();
  readonly #counts = { claimed: 0, done: 0, failed: 0, refused: 0 };
  #suspect: Claim | undefined;
  /** Releases on their way: their jobs are still ours, and would be blamed if this process died. */
  #releasing = 0;

  constructor(parts: Parts, options: HandsOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#slots = new Slots(parts.settings.concurrency);
  }

  get size(): number {
    return this.#runs.size + (this.#suspect ? 1 : 0);
  }

  get stats(): object {
    return { ...this.#counts, running: this.#slots.used };
  }

  /** How many jobs each queue could take now. */
  demand(): Map<string, number> {
    const isFull = this.#runs.size - this.#slots.used > this.#slots.total * UNSETTLED_MAX_FACTOR;
    return isFull || this.#suspect ? new Map() : this.#slots.free();
  }

  /** Resolves when `demand` may have changed. */
  changed(): Promise<void> {
    return this.#slots.freed();
  }

  /** Whoever waits for a change shall look again. */
  notify(): void {
    this.#slots.notify();
  }

  take(claims: readonly Claim[]): void {
    this.#counts.claimed += claims.length;
    for (const claim of claims) {
      if (!this.#isSuspect(claim)) this.#start(claim);
      else if (this.#suspect) this.#release(claim);
      else this.#suspect = claim;
    }
    this.#startSuspect();
  }

  /** Ids of the jobs that this worker has in its hands. */
  idsOf(worker: string): string[] {
    const claims = [...this.#runs.values()].map((run) => run.claim);
    if (this.#suspect) claims.push(this.#suspect);
    return claims.filter((claim) => claim.worker === worker).map((claim) => claim.id);
  }

  abort(worker: string, ids: readonly string[], reason: Error): void {
    const wanted = new Set(ids);
    for (const run of this.#runs.values())
      if (run.claim.worker === worker && wanted.has(run.claim.id)) run.abort(reason);
  }

  abortAll(reason: LeaseLostError | ShutdownError): void {
    for (const run of this.#runs.values()) run.abort(reason);
    if (!this.#suspect) return;
    this.#release(this.#suspect);
    this.#suspect = undefined;
  }

  /** Resolves when every job that is in hand now has its verdict. */
  async decided(): Promise<void> {
    await Promise.all([...this.#runs.values()].map((run) => run.verdict));
  }

  refused(count: number): void {
    this.#counts.refused += count;
  }

  #isSuspect(claim: Claim): boolean {
    return claim.crashes > 0 && claim.crashes >= this.#parts.settings.crashesMax - 1;
  }

  #startSuspect(): void {
    const suspect = this.#suspect;
    if (!suspect || this.#runs.size > 0 || this.#releasing > 0) return;
    this.#parts.log.warn(
      { worker: suspect.worker, job: suspect.id, kind: suspect.kind, crashes: suspect.crashes },
      "Running this job alone: workers died while they ran it",
    );
    this.#start(suspect);
  }

  #start(claim: Claim): void {
    const { events, log } = this.#parts;
    const { queue } = claim;
    const run = this.#options.runner.start(claim);
    const name = `${claim.worker} ${claim.id}`;
    this.#slots.take(queue);
    this.#runs.set(name, run);
    log.debug(
      { worker: claim.worker, job: claim.id, kind: claim.kind, tenant: claim.tenant, attempt: claim.attempt },
      "Job claimed",
    );
    if (events.listenerCount("running") > 0) events.emit("running", { claim });
    run.over.then(() => this.#slots.give(queue));
    run.verdict
      .then((verdict) => this.#settle(run, verdict))
      .catch((error: unknown) => this.#parts.trouble("settling", error))
      .finally(() => {
        this.#runs.delete(name);
        if (this.#suspect === claim) this.#suspect = undefined;
        this.#startSuspect();
        this.#slots.notify();
      });
  }

  #release(claim: Claim): void {
    this.#releasing++;
    this.#options.settler
      .settle({ claim, verdict: { verdict: "release" } })
      .catch((error: unknown) => this.#parts.trouble("releasing", error))
      .finally(() => {
        this.#releasing--;
        this.#startSuspect();
      });
  }

  async #settle(run: Run, verdict: Verdict): Promise<void> {
    const { clock, events, log } = this.#parts;
    const durationMs = clock.monotonic() - run.startedAtMs;
    if (events.listenerCount("ended") > 0) events.emit("ended", { claim: run.claim, verdict, durationMs });
    const { accepted } = await this.#options.settler.settle({ claim: run.claim, verdict });
    if (!accepted) return;
    if (verdict.verdict === "done") this.#counts.done++;
    if (verdict.verdict === "dead" || verdict.verdict === "retry") this.#counts.failed++;
    if (verdict.verdict === "retry" || verdict.verdict === "snooze") this.#options.onDue(verdict.delayMs);
    logVerdict(log, run.claim, verdict, durationMs);
  }
}
