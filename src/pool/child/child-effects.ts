// Makes jobs and messages of what handlers in a child ask for: definitions have functions, so this is done where the handler runs. What a kind's
// limits are, the supervisor tells the database before the first of its jobs.
import { type Registrar, registrarIn } from "../../batches/batch-coordination.js";
import { type EnqueueChain, type EnqueueMiddleware, enqueueChain } from "../../core/enqueue/enqueue-middleware.js";
import { newJob } from "../../core/enqueue/make-job.js";
import type { Claim } from "../../core/job/claim.js";
import type { Codec } from "../../core/job/codec.js";
import type { EffectMaker } from "../../core/job/effects.js";
import type { EnqueueOptions, NewJob } from "../../core/job/enqueue-options.js";
import type { JobDefinition } from "../../core/job/job-definition.js";
import type { Ruled } from "../../limits/limit-statements.js";
import type { ChannelTarget } from "../../outbox/channel-target.js";
import { newMessage } from "../../outbox/publish.js";
import type { NewMessage, PublishOptions } from "../../outbox/publish-options.js";
import type { ChildPorts } from "./child-ports.js";

export interface ChildEffectsOptions {
  readonly effectsMax: number;
  readonly bytesMax: number;
  readonly codec: Codec | undefined;
  readonly middlewares: Iterable<EnqueueMiddleware> | undefined;
}

export class ChildEffects implements EffectMaker {
  readonly effectsMax: number;
  readonly bytesMax: number;
  readonly #ports: ChildPorts;
  readonly #codec: Codec | undefined;
  readonly #chain: EnqueueChain | undefined;
  readonly #registrar: Registrar | undefined;
  readonly #told = new WeakSet<Ruled>();

  constructor(ports: ChildPorts, { effectsMax, bytesMax, codec, middlewares }: ChildEffectsOptions) {
    this.effectsMax = effectsMax;
    this.bytesMax = bytesMax;
    this.#ports = ports;
    this.#codec = codec;
    this.#chain = enqueueChain(middlewares);
    this.#registrar = registrarIn(middlewares);
  }

  async newJob<In>(
    claim: Claim,
    definition: JobDefinition<In, unknown>,
    input: In,
    options: EnqueueOptions,
  ): Promise<NewJob> {
    const job = await newJob(definition, input, { tenant: claim.tenant, ...options }, this.#codec, this.#chain);
    if (options.batch !== undefined) this.#registrar?.({ job: null, kind: definition.kind, batch: options.batch });
    await this.#tell(claim, definition);
    return job;
  }

  /** The key belongs to the job and the position of the call, not to the attempt: whichever run is settled, the message is the same. */
  async newMessage<In>(
    claim: Claim,
    position: number,
    channel: string | ChannelTarget<In>,
    message: In,
    options: Partial<PublishOptions>,
  ): Promise<NewMessage> {
    const defaults = { tenant: claim.tenant, idempotencyKey: `job-${claim.id}-${position + 1}` };
    const made = await newMessage(channel, message, { ...defaults, ...options }, this.#codec);
    if (typeof channel !== "string") await this.#tell(claim, channel.definition);
    return made;
  }

  async #tell(claim: Claim, definition: Ruled): Promise<void> {
    if (definition.limits === undefined || this.#told.has(definition)) return;
    await this.#ports.tellLimits(claim, definition);
    this.#told.add(definition);
  }
}
