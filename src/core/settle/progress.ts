// Keeps the latest progress of running jobs: gathered for a moment, written together, and never in the way of a settle.

import type { Clock } from "../../base/clock.js";
import { serializeResult } from "../../base/json-content.js";
import type { Database } from "../../db/database.js";
import type { Claim } from "../job/claim.js";
import { type Codec, sealJson } from "../job/codec.js";
import { storeProgress } from "./settle-statements.js";

const WRITE_EVERY_MS = 500;

interface Progress {
  readonly claim: Claim;
  readonly json: string;
}

export class ProgressKeeper {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #onTrouble: (error: unknown) => void;
  readonly #codec: Codec | undefined;
  readonly #latest = new Map<string, Progress>();
  #forget: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, clock: Clock, onTrouble: (error: unknown) => void, codec?: Codec) {
    this.#db = db;
    this.#clock = clock;
    this.#onTrouble = onTrouble;
    this.#codec = codec;
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

  /** Drops what was reported of this job, and waits for what is being written. */
  dismiss(claim: Claim): Promise<void> {
    this.#latest.delete(claim.id);
    return this.#writing;
  }

  /** Writes what is left; call before the jobs are settled for the last time. */
  async stop(): Promise<void> {
    this.#forget?.();
    this.#forget = undefined;
    await this.#writing;
    await this.#write();
  }

  async #write(): Promise<void> {
    const latest = [...this.#latest.values()];
    this.#latest.clear();
    const byWorker = groupByWorker(this.#codec === undefined ? latest : this.#sealed(this.#codec, latest));
    for (const [worker, progresses] of byWorker) {
      // Progress is a courtesy: a failed write is reported and not repeated, and a lost lease is the settle's to find out.
      await storeProgress(this.#db, worker, progresses).catch(this.#onTrouble);
    }
  }

  /** Only what is written is sealed, not all that was reported. What the codec refuses is not written at all. */
  #sealed(codec: Codec, progresses: readonly Progress[]): Progress[] {
    return progresses.flatMap(({ claim, json }) => {
      try {
        return [{ claim, json: sealJson(codec, json, claim, "progress") }];
      } catch (error) {
        this.#onTrouble(error);
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
