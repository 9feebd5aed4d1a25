// Sends new jobs to the database: single calls of one process leave together, a bad one fails alone, and what can be repeated
// without storing a job twice is repeated.
import { Batcher } from "../model/batcher.js";
import { type Clock, sleep } from "../model/clock.js";
import { DatabaseError } from "../model/errors.js";
import { CreditsExhaustedError } from "../model/limit-errors.js";
import type { Enqueued, JobList, NewJob } from "../model/new-job.js";
import { type Database, NotSentError } from "../store/database.js";
import { countOf, type Stored, storeJobs, storeJobsOfSeveral } from "../store/enqueue.js";
import { explainFailure, isConnectionLoss, isTransient, wasRolledBack } from "../store/failures.js";
import { OUTCOME_UNKNOWN } from "./unknown-outcome.js";

const TRIES_MAX = 5;
const RETRY_MS = 100;
const ITEMS_MAX = 1_000;

const hasIdempotencyKey = (job: NewJob) => job.idempotencyKey !== undefined;

type Answer = Enqueued | { readonly error: unknown };

export class Sender {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #batcher: Batcher<NewJob, Enqueued>;
  /**
   * For jobs with a unique key, one group at a time: of those that replace each other the last call must win. Apart from the others,
   * because they may have to wait for somebody's transaction that has the key.
   */
  readonly #inTurn: Batcher<NewJob, Enqueued>;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
    const send = (jobs: readonly NewJob[]) => this.#sendEach(jobs);
    this.#batcher = new Batcher<NewJob, Enqueued>({ itemsMax: ITEMS_MAX, groupsInFlightMax: 2, send });
    this.#inTurn = new Batcher<NewJob, Enqueued>({ itemsMax: ITEMS_MAX, groupsInFlightMax: 1, send });
  }

  /** One job, together with whatever else this process enqueues at this moment. */
  one(job: NewJob): Promise<Enqueued> {
    return (job.unique === undefined ? this.#batcher : this.#inTurn).add(job);
  }

  /** Many jobs in one transaction: all of them or none. */
  async many(jobs: JobList): Promise<Enqueued[]> {
    if (countOf(jobs) === 0) return [];
    const isRepeatable = !("payloads" in jobs) && jobs.every(hasIdempotencyKey);
    return this.#repeating(isRepeatable, () => storeJobs(this.#db, jobs, this.#clock.now()));
  }

  /** Callers who were put together by chance must not share each other's errors. */
  async #sendEach(jobs: readonly NewJob[]): Promise<Answer[]> {
    try {
      return await this.#sendUnpaid(jobs, await this.#store(jobs));
    } catch (error) {
      if (jobs.length === 1) throw error;
      if (error instanceof DatabaseError) return this.#repeatKeyed(jobs, error);
      if (jobs[0]!.unique !== undefined) {
        const answers: Answer[] = [];
        for (const job of jobs) answers.push(await this.#sendAlone(job));
        return answers;
      }
      return Promise.all(jobs.map((job) => this.#sendAlone(job)));
    }
  }

  /** Who found an account empty because of a neighbour that was refused for another reason asks again, by himself. */
  async #sendUnpaid(jobs: readonly NewJob[], answers: readonly Stored[]): Promise<Answer[]> {
    const isUnpaid = (answer: Stored) => "error" in answer && answer.error instanceof CreditsExhaustedError;
    if (!answers.some(isUnpaid)) return [...answers];
    const freed = new Set(
      jobs.filter((_, i) => "error" in answers[i]! && !isUnpaid(answers[i])).map((job) => job.account),
    );
    return Promise.all(
      answers.map((answer, i) =>
        isUnpaid(answer) && freed.has(jobs[i]!.account) ? this.#sendAlone(jobs[i]!) : answer,
      ),
    );
  }

  #sendAlone(job: NewJob): Promise<Answer> {
    return this.#store([job]).then(
      ([stored]) => stored!,
      (error: unknown) => ({ error }),
    );
  }

  /** A job with a key is safe to send again, also when it shared its transaction with jobs that are not. */
  async #repeatKeyed(jobs: readonly NewJob[], error: DatabaseError): Promise<Answer[]> {
    const keyed = jobs.filter(hasIdempotencyKey);
    if (error.code !== OUTCOME_UNKNOWN || keyed.length === 0) throw error;
    const again = await this.#store(keyed).catch((own: unknown) => keyed.map(() => ({ error: own })));
    const answers = new Map(keyed.map((job, i) => [job, again[i]!]));
    return jobs.map((job) => answers.get(job) ?? { error });
  }

  #store(jobs: readonly NewJob[]): Promise<Stored[]> {
    return this.#repeating(jobs.every(hasIdempotencyKey), () => storeJobsOfSeveral(this.#db, jobs, this.#clock.now()));
  }

  /** `isRepeatable`: also when nobody knows whether it was stored. */
  async #repeating<One extends Stored>(isRepeatable: boolean, store: () => Promise<One[]>): Promise<One[]> {
    for (let tries = 1; ; tries++) {
      try {
        return await store();
      } catch (error) {
        // Nothing was sent, and it may work the next time: a wrong password will not.
        const mayConnect = error instanceof NotSentError && isTransient(error.cause);
        const maySendAgain = mayConnect || wasRolledBack(error) || (isRepeatable && isConnectionLoss(error));
        if (!maySendAgain || tries === TRIES_MAX)
          throw maySendAgain ? explainFailure(error, this.#db.schema) : this.#final(error);
        await sleep(this.#clock, RETRY_MS * 2 ** (tries - 1) * (0.5 + this.#clock.random()));
      }
    }
  }

  #final(error: unknown): unknown {
    if (error instanceof NotSentError || !isConnectionLoss(error)) return explainFailure(error, this.#db.schema);
    return new DatabaseError(
      OUTCOME_UNKNOWN,
      "The connection broke before the database answered: the jobs may be stored or not. Enqueue with an idempotencyKey, and the call is repeated safely.",
      { cause: error },
    );
  }
}
