// The short way of the call that is made most: one job that has nothing to it but kind, payload, tenant, queue and priority, and that no limit concerns.
// One insert on the server, a few numbers and texts on the line. The database says when a job is not one of those: then it goes the long way.

import { type Database, prepared, type Statement } from "../../db/database.js";
import type { Enqueued, NewJob } from "../job/enqueue-options.js";

/** As one text: a row of two columns would cost the server more than the job's checks. */
const ENQUEUE_ONE = prepared("select fairmill.enqueue_one_v1($1, $2, $3, $4, $5, $6, $7)::text as answer");
/** The id, none where nothing was done; and whether a worker of the queue wants to be notified. */
const ANSWER = /^\((\d*),([tf]?)\)$/;

/** For so long after a job that had to go the long way, others of its kind go there at once: limits come and go seldom. */
const LONG_WAY_MS = 10_000;
/** Kinds are few, unless they are made up. */
const KINDS_MAX = 1_000;

export class LoneJobs {
  readonly #db: Database;
  /** Kinds that had to go the long way, and until when that is taken for granted. */
  readonly #longWayUntilMs = new Map<string, number>();
  /** Whether a worker wanted to be notified of the last one. Then the notification leaves in the round trip of the job, else behind its answer. */
  #isListening = true;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Undefined: it was not stored, and goes the long way. `wake`: what notifies workers of it. `nowMs`: only for measuring. */
  async store(job: NewJob, wake: Statement, nowMs: number): Promise<Enqueued | undefined> {
    if (this.#goesTheLongWay(job.kind, nowMs)) return undefined;
    const wakesAtOnce = this.#isListening;
    const statement: Statement = [
      ENQUEUE_ONE,
      [job.kind, job.payload, job.tenant, job.queue, job.priority, job.attemptsMax, job.expireMs ?? null],
    ];
    const rows = await this.#db.pipelineFirst(wakesAtOnce ? [statement, wake] : [statement]);
    const [, id, listening] = ANSWER.exec((rows[0] as { answer: string }).answer)!;
    if (id === "") {
      if (this.#longWayUntilMs.size >= KINDS_MAX) this.#longWayUntilMs.clear();
      this.#longWayUntilMs.set(job.kind, nowMs + LONG_WAY_MS);
      return undefined;
    }
    this.#isListening = listening === "t";
    // One that fails costs latency only: workers poll.
    if (this.#isListening && !wakesAtOnce) this.#db.pipelineFirst([wake]).catch(() => {});
    return { id: id!, created: true };
  }

  #goesTheLongWay(kind: string, nowMs: number): boolean {
    const untilMs = this.#longWayUntilMs.size === 0 ? undefined : this.#longWayUntilMs.get(kind);
    if (untilMs === undefined) return false;
    if (nowMs < untilMs) return true;
    this.#longWayUntilMs.delete(kind);
    return false;
  }
}
