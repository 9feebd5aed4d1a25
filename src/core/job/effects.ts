// What a handler asks for while it runs, and how it is written: by the settle of its job, or inside a transaction of its own. The ports
// are implemented where the database is known.

import type { Queryable } from "../../base/queryable.js";
import type { ChannelTarget } from "../../outbox/channel-target.js";
import type { NewMessage, PublishOptions } from "../../outbox/publish-options.js";
import type { Claim } from "./claim.js";
import type { EnqueueOptions, NewJob } from "./enqueue-options.js";
import type { JobDefinition } from "./job-definition.js";

/** Checked, sealed, and bounded. */
export interface Effects {
  readonly jobs: readonly NewJob[];
  readonly messages: readonly NewMessage[];
  /** Bytes of their payloads. */
  readonly bytes: number;
}

/** Turns what a handler says into what is written. */
export interface EffectMaker {
  /** Effects that one run may collect, and bytes of their payloads. */
  readonly effectsMax: number;
  readonly bytesMax: number;
  newJob<In>(
    claim: Claim,
    definition: JobDefinition<In, unknown>,
    input: In,
    options: EnqueueOptions,
  ): NewJob | Promise<NewJob>;
  /** `position`: how many messages the run asked for before this one. */
  newMessage<In>(
    claim: Claim,
    position: number,
    channel: string | ChannelTarget<In>,
    message: In,
    options: Partial<PublishOptions>,
  ): Promise<NewMessage>;
}

/** Settles a job inside a transaction of its handler, and asks afterwards whether that committed. */
export interface Completer {
  /** Resolves when the job is settled in the transaction; rejects when it must be rolled back. */
  complete(claim: Claim, tx: Queryable, result: unknown, effects: Effects | undefined): Promise<CompletedAnswer>;
  isSettled(claim: Claim, isOver: () => boolean): Promise<boolean>;
}

/** What became ready by it, once it has committed: for the worker's eyes only. */
export type CompletedAnswer = readonly {
  readonly queue: string;
  readonly priority: number;
  readonly tenant: string;
  readonly id: string;
}[];
