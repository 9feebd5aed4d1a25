// Says of values that JSON or PostgreSQL changed what became of them: as an event each time, in the log once a kind, because a handler that returns a
// Map does so in every job.

import { changesIn } from "../../base/content-changes.js";
import { serializeResult } from "../../base/json-content.js";
import type { Logger } from "../../base/log.js";
import type { Claim } from "../job/claim.js";
import type { WorkerEmitter } from "./worker-events.js";

/** Kinds that are remembered; those beyond are told of by events alone. */
const TOLD_MAX = 1_000;

export class ContentReports {
  readonly #log: Logger;
  readonly #events: WorkerEmitter;
  readonly #told = new Set<string>();

  constructor(log: Logger, events: WorkerEmitter) {
    this.#log = log;
    this.#events = events;
  }

  /** `what` is "result", "progress", or the step's name. Never throws, whatever the value is. */
  look(claim: Claim, what: string, value: unknown): void {
    const { worker, id: job, kind, tenant, attempt } = claim;
    const isTold = this.#told.size >= TOLD_MAX || this.#told.has(kind);
    if (value === undefined || (isTold && this.#events.listenerCount("changed") === 0)) return;
    // Of a result that is not kept at all there is a line in the log each time.
    const { problem } = serializeResult(value);
    const changes = problem === undefined ? changesIn(value) : [{ path: "", what: `it was not kept: ${problem}` }];
    if (changes.length === 0) return;
    this.#events.emit("changed", { claim, what, changes });
    if (isTold || problem !== undefined) return;
    this.#told.add(kind);
    this.#log.warn(
      { worker, job, kind, tenant, attempt, what, changes },
      "What the handler returned is kept otherwise than it was. This is said once a kind",
    );
  }
}
