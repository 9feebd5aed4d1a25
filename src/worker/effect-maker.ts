// Makes jobs of what handlers ask for, by the rules of a client: the same checks, the same seal, and the limits of a kind told to the database before
// its first job.
import type { Registrar } from "../batches/registrations.js";
import { type EnqueueChain, type EnqueueMiddleware, enqueueChain } from "../core/enqueue/enqueue-middleware.js";
import { newJob } from "../core/enqueue/make-job.js";
import type { Claim } from "../core/job/claim.js";
import type { EffectMaker } from "../core/job/effects.js";
import type { EnqueueOptions, NewJob } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { Database } from "../db/database.js";
import { explainFailure } from "../db/explain-failure.js";
import { KeyRules } from "../limits/key-rules.js";
import type { Ruled } from "../limits/limit-statements.js";
import type { WorkerSettings } from "./worker-settings.js";

export class WorkerEffects implements EffectMaker {
  readonly effectsMax: number;
  readonly bytesMax: number;
  readonly #db: Database;
  readonly #codec: WorkerSettings["codec"];
  readonly #rules: KeyRules;
  readonly #chain: EnqueueChain | undefined;
  readonly #registrar: Registrar;

  /** Middlewares with a part at enqueue see these jobs, too. */
  constructor(
    db: Database,
    { effectsMax, effectsBytesMax, codec }: WorkerSettings,
    middlewares: Iterable<EnqueueMiddleware> | undefined,
    registrar: Registrar,
  ) {
    this.#chain = enqueueChain(middlewares);
    this.#registrar = registrar;
    this.effectsMax = effectsMax;
    this.bytesMax = effectsBytesMax;
    this.#db = db;
    this.#codec = codec;
    this.#rules = new KeyRules(db);
  }

  newJob<In>(
    { tenant }: Claim,
    definition: JobDefinition<In, unknown>,
    input: In,
    options: EnqueueOptions,
  ): NewJob | Promise<NewJob> {
    const job = newJob(definition, input, { tenant, ...options }, this.#codec, this.#chain);
    if (options.batch !== undefined) this.#registrar({ job: null, kind: definition.kind, batch: options.batch });
    return this.#rules.knows(definition) ? job : this.#told(definition, job);
  }

  async #told<In>(definition: JobDefinition<In, unknown>, job: NewJob | Promise<NewJob>): Promise<NewJob> {
    const made = await job;
    await this.tell(definition);
    return made;
  }

  /** Tells the database what the definition says of its kind, before the first job. */
  async tell(definition: Ruled): Promise<void> {
    try {
      await this.#rules.tell(definition);
    } catch (error) {
      throw explainFailure(error, this.#db.schema);
    }
  }
}
