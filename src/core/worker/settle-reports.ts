// What is told of jobs whose verdicts are written: counted, logged, announced; when the next of them falls due; and whose lease was lost.
import type { Claim } from "../job/claim.js";
import type { Verdict } from "../job/outcome.js";
import { logVerdict } from "../settle/verdict-log.js";
import type { ContentReports } from "./content-reports.js";
import type { WorkerContext } from "./worker-context.js";

/** A job with the verdict that was written, or was not. */
export interface Written {
  readonly claim: Claim;
  readonly verdict: Verdict;
  readonly durationMs: number;
}

/** After a job has gone to wait for a signal, look once more for what is due. */
const SIGNAL_LOOK_MS = 1_000;

export class SettleReports {
  readonly counts = { claimed: 0, done: 0, failed: 0, refused: 0 };
  readonly #context: WorkerContext;
  readonly #contents: ContentReports;
  readonly #scrub: ((claim: Claim, text: string) => string) | undefined;

  constructor(
    context: WorkerContext,
    contents: ContentReports,
    scrub: ((claim: Claim, text: string) => string) | undefined,
  ) {
    this.#context = context;
    this.#contents = contents;
    this.#scrub = scrub;
  }

  accepted({ claim, verdict, durationMs }: Written): void {
    this.#count(verdict);
    if (verdict.verdict === "done") this.#contents.look(claim, "result", verdict.result);
    logVerdict(this.#context.log, claim, verdict, durationMs, this.#scrub);
  }

  /** A group was written: whose jobs are free, and whose lease was lost. */
  settled(worker: string, accepted: readonly Written[], refused: readonly Written[]): void {
    const { bus, events } = this.#context;
    if (accepted.length > 0)
      bus.tell(
        "freed",
        accepted.map(({ claim }) => claim),
      );
    if (events.listenerCount("settled") > 0)
      events.emit("settled", { worker, ids: accepted.map(({ claim }) => claim.id) });
    if (refused.length > 0) this.#refused(worker, refused);
  }

  #count(verdict: Verdict): void {
    const { bus } = this.#context;
    if (verdict.verdict === "done") this.counts.done++;
    if (verdict.verdict === "dead" || verdict.verdict === "retry") this.counts.failed++;
    if (verdict.verdict === "retry") bus.tell("due", verdict.delayMs);
    // A signal may be on its way in a transaction: the job is due when that commits, and no notification may tell.
    if (verdict.verdict === "snooze")
      bus.tell("due", verdict.waits ? Math.min(verdict.delayMs, SIGNAL_LOOK_MS) : verdict.delayMs);
  }

  #refused(worker: string, refused: readonly Written[]): void {
    const ids = refused.map(({ claim }) => claim.id);
    this.counts.refused += ids.length;
    this.#context.log.warn(
      { worker, jobs: ids.slice(0, 20), count: ids.length },
      "Settle refused: the lease was lost, another worker has the job",
    );
    this.#context.events.emit("refused", { worker, ids });
  }
}
