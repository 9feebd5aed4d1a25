// Makes jobs of what handlers ask for, by the rules of a client: the same checks, the same seal, and the limits of a kind told to the database before
// its first job.
import type { Registration } from "../batches/registrations.js";
import { type EnqueueChain, type EnqueueMiddleware, enqueueChain } from "../core/enqueue/enqueue-middleware.js";
import { newJob, type RuleTeller } from "../core/enqueue/make-job.js";
import type { Claim } from "../core/job/claim.js";
import type { EffectMaker } from "../core/job/effects.js";
import type { EnqueueOptions, NewJob } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { WorkerSettings } from "./worker-settings.js";

/** Hears that the handler of this claim asked for a job in a batch. */
export type EffectRegistrar = (claim: Claim, registration: Registration) => void;

export class WorkerEffects implements EffectMaker {
  readonly effectsMax: number;
  readonly bytesMax: number;
  readonly #codec: WorkerSettings["codec"];
  readonly #contents: WorkerSettings["contents"];
  readonly #rules: RuleTeller;
  readonly #chain: EnqueueChain | undefined;
  readonly #registrar: EffectRegistrar;

  /** Middlewares with a part at enqueue see these jobs, too. */
  constructor(
    rules: RuleTeller,
    {
      effectsMax,
      effectsBytesMax,
      codec,
      contents,
    }: Pick<WorkerSettings, "effectsMax" | "effectsBytesMax" | "codec" | "contents">,
    middlewares: Iterable<EnqueueMiddleware> | undefined,
    registrar: EffectRegistrar,
  ) {
    this.#chain = enqueueChain(middlewares);
    this.#registrar = registrar;
    this.effectsMax = effectsMax;
    this.bytesMax = effectsBytesMax;
    this.#codec = codec;
    this.#contents = contents;
    this.#rules = rules;
  }

  newJob<In>(
    claim: Claim,
    definition: JobDefinition<In, unknown>,
    input: In,
    options: EnqueueOptions,
  ): NewJob | Promise<NewJob> {
    const own = { tenant: claim.tenant, ...options };
    const job = newJob(definition, input, own, this.#codec, this.#chain, this.#contents);
    if (options.batch !== undefined) this.#registrar(claim, { job: null, kind: definition.kind, batch: options.batch });
    return this.#rules.knows(definition) ? job : this.#told(definition, job);
  }

  async #told<In>(definition: JobDefinition<In, unknown>, job: NewJob | Promise<NewJob>): Promise<NewJob> {
    const made = await job;
    await this.#rules.tell(definition);
    return made;
  }
}
