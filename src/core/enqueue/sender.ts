// Sends new jobs to the database: single calls of one process leave together, a bad one fails alone, and what can be repeated
// without storing a job twice is repeated.
//
// A job may need what another session's open transaction has locked: a key, a rate, an account. Jobs that leave together must not wait for it together:
//  1. A group fails on a lock after 100 ms, and nothing of it is stored.
//  2. Its jobs are sent again, those that need the same locks together: most of them need not wait.
//  3. Jobs that have to wait go to the waiting lines, and so do later ones that need the same locks.
import { Batcher } from "../../base/batcher.js";
import type { Clock } from "../../base/clock.js";
import { DatabaseError } from "../../base/errors.js";
import { retrying } from "../../base/retry.js";
import { type Database, NotSentError } from "../../db/database.js";
import { explainFailure, isOfContent } from "../../db/explain-failure.js";
import { isConnectionLoss, isHeldUp, isWorthRepeating, wasRolledBack } from "../../db/failures.js";
import type { Enqueued, JobList, NewJob } from "../job/enqueue-options.js";
import {
  countOf,
  isPlain,
  type Stored,
  storeJobs,
  storeJobsOfSeveral,
  wakeLaneStatement,
} from "./enqueue-statements.js";
import { LoneJobs } from "./lone-job.js";
import { OUTCOME_UNKNOWN } from "./unknown-outcome.js";
import { WaitingLines } from "./waiting-lines.js";

const TRIES_MAX = 5;
const RETRY = { firstMs: 100, maxMs: 1_600 };
const ITEMS_MAX = 1_000;

/** Of the names in a group that had to wait, this many are sent at a time. */
const NAMES_AT_A_TIME = 3;

/** The refusal of a job whose account is empty (NewJob.account): what its neighbours in the statement took may be the reason. */
const CREDITS_EXHAUSTED = "FAIRMILL_CREDITS_EXHAUSTED";

/** What a feature wants to know of jobs that were stored. */
export interface StoredWatcher {
  /** Whether it wants to know of this one: for all others nothing more is done. */
  concerns(job: NewJob): boolean;
  /** These jobs were stored, or were known already; in the same order. */
  stored(jobs: readonly NewJob[], answers: readonly Enqueued[]): void;
}

const hasIdempotencyKey = (job: NewJob) => job.idempotencyKey !== undefined;

/** Jobs of one name need the same locks, or nearly: what they wait for, they wait for together. */
const nameOf = ({ tenant, kind, key, unique, idempotencyKey, account }: NewJob) =>
  JSON.stringify([tenant, kind, key, unique?.key, idempotencyKey, account]);

type Answer = Enqueued | { readonly error: unknown };

/** A job in the waiting lines. */
class Waits {
  constructor(readonly end: Promise<Answer>) {}
}

function enqueuedOf(answer: Answer): Enqueued {
  if ("error" in answer) throw answer.error;
  return answer;
}

export class Sender {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #watcher: StoredWatcher | undefined;
  readonly #loneJobs: LoneJobs;
  readonly #batcher: Batcher<NewJob, Enqueued>;
  /**
   * For jobs with a unique key, one group at a time: of those that replace each other the last call must win. Apart from the others,
   * because they may have to wait for another transaction that has the key.
   */
  readonly #inTurn: Batcher<NewJob, Enqueued>;
  /** Those that have to wait, by name. */
  readonly #waitingLines: WaitingLines<NewJob, Answer>;

  constructor(db: Database, clock: Clock, watcher?: StoredWatcher) {
    this.#db = db;
    this.#watcher = watcher;
    this.#clock = clock;
    this.#loneJobs = new LoneJobs(db);
    const send = async (jobs: readonly NewJob[]) =>
      (await this.#sendTogether(jobs)).map((answer) =>
        answer instanceof Waits ? answer.end.then(enqueuedOf) : answer,
      );
    const together = { itemsMax: ITEMS_MAX, groupsInFlightMax: 2, loneAtOnce: true };
    this.#batcher = new Batcher<NewJob, Enqueued>({ ...together, send });
    this.#inTurn = new Batcher<NewJob, Enqueued>({ itemsMax: ITEMS_MAX, groupsInFlightMax: 1, send });
    this.#waitingLines = new WaitingLines<NewJob, Answer>({
      linesMax: Math.max(1, Math.floor(db.connectionsMax / 3)),
      itemsMax: ITEMS_MAX,
      send: (jobs) =>
        this.#sendEach(jobs, false).catch((error: unknown) => jobs.map(() => ({ error }))) as Promise<Answer[]>,
    });
  }

  /** One job, together with whatever else this process enqueues at this time. */
  one(job: NewJob): Promise<Enqueued> {
    const stored = (job.unique === undefined ? this.#batcher : this.#inTurn).add(job);
    return this.#watcher?.concerns(job) ? this.#watched(this.#watcher, job, stored) : stored;
  }

  async #watched(watcher: StoredWatcher, job: NewJob, stored: Promise<Enqueued>): Promise<Enqueued> {
    watcher.stored([job], [await stored]);
    return stored;
  }

  /** Many jobs in one transaction: all of them or none. */
  async many(jobs: JobList): Promise<Enqueued[]> {
    if (countOf(jobs) === 0) return [];
    const isRepeatable = !("payloads" in jobs) && jobs.every(hasIdempotencyKey);
    const stored = await this.#repeating(isRepeatable, () => storeJobs(this.#db, jobs, this.#clock.now()));
    if (!("payloads" in jobs)) this.#watcher?.stored(jobs, stored);
    return stored;
  }

  async #sendTogether(jobs: readonly NewJob[]): Promise<(Answer | Waits)[]> {
    if (this.#waitingLines.size === 0) return this.#sendGroup(jobs);
    // A job that needs what others wait for goes behind them. In the order of the calls: of those that replace each other the last must win.
    const waits = jobs.map((job) => (this.#hasToWait(job) ? this.#wait(job) : undefined));
    const sent = await this.#sendGroup(jobs.filter((_, i) => waits[i] === undefined));
    let next = 0;
    return waits.map((wait) => wait ?? sent[next++]!);
  }

  async #sendGroup(jobs: readonly NewJob[]): Promise<(Answer | Waits)[]> {
    if (jobs.length === 0) return [];
    try {
      return await this.#sendEach(jobs, true);
    } catch (error) {
      if (!isHeldUp(error)) throw error;
      return jobs.length === 1 ? [this.#wait(jobs[0]!)] : this.#sendByName(jobs);
    }
  }

  /** Those of one name together, a few names at a time. */
  async #sendByName(jobs: readonly NewJob[]): Promise<(Answer | Waits)[]> {
    const indexes = new Map<string, number[]>();
    jobs.forEach((job, i) => {
      const name = nameOf(job);
      const own = indexes.get(name);
      if (own) own.push(i);
      else indexes.set(name, [i]);
    });
    const answers: (Answer | Waits)[] = [];
    const names = indexes.values();
    const sendNext = async () => {
      for (const own of names) {
        const sent = await this.#sendAlike(own.map((i) => jobs[i]!));
        own.forEach((index, i) => {
          answers[index] = sent[i]!;
        });
      }
    };
    await Promise.all(Array.from({ length: NAMES_AT_A_TIME }, sendNext));
    return answers;
  }

  async #sendAlike(jobs: readonly NewJob[]): Promise<(Answer | Waits)[]> {
    try {
      return await this.#sendEach(jobs, true);
    } catch (error) {
      return jobs.map((job) => (isHeldUp(error) ? this.#wait(job) : { error }));
    }
  }

  #hasToWait(job: NewJob): boolean {
    return this.#waitingLines.has(nameOf(job));
  }

  #wait(job: NewJob): Waits {
    return new Waits(this.#waitingLines.add(nameOf(job), job));
  }

  /** Callers that were grouped by chance must not share each other's errors. Rejects for all of them where they are held up. */
  async #sendEach(jobs: readonly NewJob[], failsOnLock: boolean): Promise<(Answer | Waits)[]> {
    try {
      return await this.#sendUnpaid(jobs, await this.#store(jobs, failsOnLock), failsOnLock);
    } catch (error) {
      if (jobs.length === 1 || (failsOnLock && isHeldUp(error))) throw error;
      if (error instanceof DatabaseError && !isOfContent(error)) return this.#repeatKeyed(jobs, error);
      if (jobs[0]!.unique !== undefined) {
        const answers: (Answer | Waits)[] = [];
        for (const job of jobs) answers.push(await this.#sendAlone(job, failsOnLock));
        return answers;
      }
      return Promise.all(jobs.map((job) => this.#sendAlone(job, failsOnLock)));
    }
  }

  /** A job that found its account empty because of a neighbour that was refused for another reason is sent again, alone. */
  async #sendUnpaid(
    jobs: readonly NewJob[],
    answers: readonly Stored[],
    failsOnLock: boolean,
  ): Promise<(Answer | Waits)[]> {
    const isUnpaid = (answer: Stored) => "error" in answer && answer.error.code === CREDITS_EXHAUSTED;
    if (!answers.some(isUnpaid)) return [...answers];
    const freed = new Set(
      jobs.filter((_, i) => "error" in answers[i]! && !isUnpaid(answers[i])).map((job) => job.account),
    );
    return Promise.all(
      answers.map((answer, i) =>
        isUnpaid(answer) && freed.has(jobs[i]!.account) ? this.#sendAlone(jobs[i]!, failsOnLock) : answer,
      ),
    );
  }
  async #sendAlone(job: NewJob, failsOnLock: boolean): Promise<Answer | Waits> {
    if (failsOnLock && this.#hasToWait(job)) return this.#wait(job);
    try {
      return (await this.#store([job], failsOnLock))[0]!;
    } catch (error) {
      return failsOnLock && isHeldUp(error) ? this.#wait(job) : { error };
    }
  }

  /** A job with a key is safe to send again, also when it shared its transaction with jobs that are not. */
  async #repeatKeyed(jobs: readonly NewJob[], error: DatabaseError): Promise<Answer[]> {
    const keyed = jobs.filter(hasIdempotencyKey);
    if (error.code !== OUTCOME_UNKNOWN || keyed.length === 0) throw error;
    const again = await this.#store(keyed, false).catch((own: unknown) => keyed.map(() => ({ error: own })));
    const answers = new Map(keyed.map((job, i) => [job, again[i]!]));
    return jobs.map((job) => answers.get(job) ?? { error });
  }

  /** `failsOnLock`: rejects where it would have to wait for another transaction. */
  #store(jobs: readonly NewJob[], failsOnLock: boolean): Promise<Stored[]> {
    const store = async () => {
      const [first] = jobs as readonly [NewJob, ...NewJob[]];
      const nowMs = this.#clock.now();
      if (jobs.length === 1 && isPlain(first)) {
        const stored = await this.#loneJobs.store(first, wakeLaneStatement(first), nowMs);
        if (stored) return [stored];
      }
      return storeJobsOfSeveral(this.#db, jobs, nowMs, failsOnLock);
    };
    return this.#repeating(jobs.every(hasIdempotencyKey), store, failsOnLock);
  }

  /** `isRepeatable`: also when it is not known whether it was stored. */
  async #repeating<One extends Stored>(
    isRepeatable: boolean,
    store: () => Promise<One[]>,
    failsOnLock = false,
  ): Promise<One[]> {
    const maySendAgain = (error: unknown) =>
      error instanceof NotSentError
        ? isWorthRepeating(error)
        : wasRolledBack(error) || (isRepeatable && isConnectionLoss(error));
    const isLocked = (error: unknown) => failsOnLock && isHeldUp(error);
    try {
      return await retrying(store, {
        ...{ clock: this.#clock, pauses: RETRY },
        mayRepeat: (error, tries) => !isLocked(error) && maySendAgain(error) && tries < TRIES_MAX,
      });
    } catch (error) {
      if (isLocked(error)) throw error;
      throw maySendAgain(error) ? explainFailure(error, this.#db.schema) : this.#final(error);
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
