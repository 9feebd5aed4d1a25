// Keeps the latest progress of running jobs: gathered for a moment, written together, and never in the way of a settle.
import type { Claim } from "../model/claim.js";
import type { Clock } from "../model/clock.js";
import { serializeResult } from "../model/json-content.js";
import type { Database } from "../store/database.js";
import { storeProgress } from "../store/settle.js";

const WRITE_EVERY_MS = 500;

export class ProgressKeeper {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #onTrouble: (error: unknown) => void;
  readonly #latest = new Map<string, { claim: Claim; json: string }>();
  #forget: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, clock: Clock, onTrouble: (error: unknown) => void) {
    this.#db = db;
    this.#clock = clock;
    this.#onTrouble = onTrouble;
  }

  report(claim: Claim, value: unknown): void {
    const { json } = serializeResult(value);
    if (json === undefined) return;
    this.#latest.set(claim.id, { claim, json });
    this.#forget ??= this.#clock.after(WRITE_EVERY_MS, () => {
      this.#forget = undefined;
      this.#writing = this.#write();
    });
  }

  /** Writes what is left; call before the jobs are settled for the last time. */
  async stop(): Promise<void> {
    this.#forget?.();
    this.#forget = undefined;
    await this.#writing;
    await this.#write();
  }

  async #write(): Promise<void> {
    const byWorker = groupByWorker(this.#latest.values());
    this.#latest.clear();
    for (const [worker, progresses] of byWorker) {
      // Progress is a courtesy: a failed write is reported and not repeated, and a lost lease is the settle's to find out.
      await storeProgress(this.#db, worker, progresses).catch(this.#onTrouble);
    }
  }
}

function groupByWorker(
  progresses: Iterable<{ claim: Claim; json: string }>,
): Map<string, { claim: Claim; json: string }[]> {
  const groups = new Map<string, { claim: Claim; json: string }[]>();
  for (const progress of progresses) {
    const group = groups.get(progress.claim.worker);
    if (group) group.push(progress);
    else groups.set(progress.claim.worker, [progress]);
  }
  return groups;
}
