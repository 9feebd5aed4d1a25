// Keeps the latest progress of running jobs: gathered for half a second, written together, and never in the way of a settle.
import { serializeResult } from "../../base/json-content.js";
import type { Service } from "../../base/service.js";
import type { Database } from "../../db/database.js";
import type { Claim } from "../job/claim.js";
import { type Codec, sealJson } from "../job/codec.js";
import { storeProgress } from "./settle-statements.js";

/** What the keeper needs of its worker. */
export interface ProgressContext {
  readonly db: Database;
  readonly settings: { readonly codec: Codec | undefined };
  readonly trouble: (doing: string, error: unknown) => void;
}

const WRITE_EVERY_MS = 500;

interface Progress {
  readonly claim: Claim;
  readonly json: string;
}

/** A round writes what was reported. */
export class ProgressKeeper implements Service {
  readonly name = "keeping progress";
  readonly retry = { firstMs: WRITE_EVERY_MS, maxMs: 10 * WRITE_EVERY_MS };
  readonly #context: ProgressContext;
  readonly #latest = new Map<string, Progress>();
  #wake: (inMs: number) => void = () => {};
  #writing: Promise<void> = Promise.resolve();

  constructor(context: ProgressContext) {
    this.#context = context;
  }

  connect(wake: (inMs: number) => void): void {
    this.#wake = wake;
  }

  report(claim: Claim, value: unknown): void {
    const { json } = serializeResult(value);
    if (json === undefined) return;
    if (this.#latest.size === 0) this.#wake(WRITE_EVERY_MS);
    this.#latest.set(claim.id, { claim, json });
  }

  /** Drops what was reported of this job, and waits for what is being written. */
  dismiss(claim: Claim): Promise<void> {
    this.#latest.delete(claim.id);
    return this.#writing;
  }

  /** Writes at once what was reported of this job, if it is not written yet. Never fails. */
  flush({ id }: Claim): Promise<void> {
    if (!this.#latest.has(id)) return this.#writing;
    this.#writing = Promise.all([this.#writing, this.#write()]).then(() => {});
    return this.#writing;
  }

  /** Called once more when the loop has stopped, before jobs are settled for the last time. */
  async runOnce(): Promise<number> {
    this.#writing = this.#write();
    await this.#writing;
    return Number.POSITIVE_INFINITY;
  }

  async #write(): Promise<void> {
    const { db, settings, trouble } = this.#context;
    const latest = [...this.#latest.values()];
    this.#latest.clear();
    const byWorker = groupByWorker(settings.codec === undefined ? latest : this.#sealed(settings.codec, latest));
    for (const [worker, progresses] of byWorker) {
      // Progress is a courtesy: a failed write is reported and not repeated, and a lost lease is the settle's to find out.
      await storeProgress(db, worker, progresses).catch((error: unknown) => trouble(this.name, error));
    }
  }

  /** Only what is written is sealed, not all that was reported. What the codec refuses is not written at all. */
  #sealed(codec: Codec, progresses: readonly Progress[]): Progress[] {
    return progresses.flatMap(({ claim, json }) => {
      try {
        return [{ claim, json: sealJson(codec, json, claim, "progress") }];
      } catch (error) {
        this.#context.trouble(this.name, error);
        return [];
      }
    });
  }
}

function groupByWorker(progresses: Iterable<Progress>): Map<string, Progress[]> {
  const groups = new Map<string, Progress[]>();
  for (const progress of progresses) {
    const group = groups.get(progress.claim.worker);
    if (group) group.push(progress);
    else groups.set(progress.claim.worker, [progress]);
  }
  return groups;
}
