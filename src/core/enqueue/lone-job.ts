// The short way of the call that is made most: one job that has nothing to it but kind, payload, tenant, queue and priority, and that no limit concerns.
// One insert on the server, a few numbers and texts on the line. The database says when a job is not one of those: then it goes the long way.

import { type Database, prepared, type Statement } from "../../db/database.js";
import type { Enqueued, NewJob } from "../job/enqueue-options.js";

const ENQUEUE_ONE = prepared("select fairmill.enqueue_one_v1($1, $2, $3, $4, $5, $6, $7, $8) as answer");

/**
 * A call that comes so long after the last one notifies in its own transaction: the worker hears of it a round trip earlier. Those in a row do not, because
 * transactions that notify cannot share a commit (docs/decisions/0005).
 */
const PAUSE_MS = 10;

/** For so long after a job that had to go the long way, others of its kind go there at once: limits come and go seldom. */
const LONG_WAY_MS = 10_000;
/** Kinds are few, unless they are made up. */
const KINDS_MAX = 1_000;

export class LoneJobs {
  readonly #db: Database;
  /** Kinds that had to go the long way, and until when that is taken for granted. */
  readonly #longWayUntilMs = new Map<string, number>();
  /** Whether a worker was left to be notified of by the last call of a row. Then the notification leaves in the round trip of the job, else behind its answer. */
  #isListening = false;
  #calledAtMs = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Undefined: it was not stored, and goes the long way. `wake`: what notifies workers of it. `nowMs`: only for measuring. */
  async store(job: NewJob, wake: Statement, nowMs: number): Promise<Enqueued | undefined> {
    if (this.#goesTheLongWay(job.kind, nowMs)) return undefined;
    const isInRow = Math.abs(nowMs - this.#calledAtMs) < PAUSE_MS;
    this.#calledAtMs = nowMs;
    const wakesAtOnce = isInRow && this.#isListening;
    const { kind, payload, tenant, queue, priority, attemptsMax, expireMs = null } = job;
    const statement: Statement = [
      ENQUEUE_ONE,
      [kind, payload, tenant, queue, priority, attemptsMax, expireMs, !isInRow],
    ];
    const rows = await this.#db.pipelineFirst(wakesAtOnce ? [statement, wake] : [statement]);
    const { answer } = rows[0] as { answer: string | null };
    if (answer === null) {
      if (this.#longWayUntilMs.size >= KINDS_MAX) this.#longWayUntilMs.clear();
      this.#longWayUntilMs.set(kind, nowMs + LONG_WAY_MS);
      return undefined;
    }
    const isLeft = answer.startsWith("-");
    // Of a call that notifies by itself the answer does not tell whether a worker listens.
    if (isInRow || isLeft) this.#isListening = isLeft;
    // One that fails costs latency only: workers poll.
    if (isLeft && !wakesAtOnce) this.#db.pipelineFirst([wake]).catch(() => {});
    return { id: isLeft ? answer.slice(1) : answer, created: true };
  }

  #goesTheLongWay(kind: string, nowMs: number): boolean {
    const untilMs = this.#longWayUntilMs.size === 0 ? undefined : this.#longWayUntilMs.get(kind);
    if (untilMs === undefined) return false;
    if (nowMs < untilMs) return true;
    this.#longWayUntilMs.delete(kind);
    return false;
  }
}
