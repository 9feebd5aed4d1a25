// What a handler asks for while it runs, and how it is written: with the settle of its job, or in a transaction of the handler. The core knows one
// kind of effect, further jobs; a feature declares its own kind beside its statements.
import type { Queryable } from "../../base/queryable.js";
import type { Claim } from "./claim.js";
import type { EnqueueOptions, NewJob } from "./enqueue-options.js";
import type { JobDefinition } from "./job-definition.js";
import type { VerdictDetails } from "./outcome.js";

/** What is written of one effect. The payload is JSON, checked, and sealed where there is a codec. */
export interface Effect {
  readonly payload: string;
}

/** A kind of effect: the member of settle_v1's effects that carries it, and how a list of them is written as JSON. */
export interface EffectKind<One extends Effect> {
  readonly member: string;
  text(effects: readonly One[]): string;
}

/** The effects of one kind, in the order of the calls. */
export interface EffectList {
  // biome-ignore lint/suspicious/noExplicitAny: the list of a kind holds effects of that kind; RunEffects.add sees to it.
  readonly kind: EffectKind<any>;
  readonly effects: readonly Effect[];
}

/** All that a run asked for: checked, sealed, and bounded. */
export interface Effects {
  readonly lists: readonly EffectList[];
  /** Bytes of their payloads. */
  readonly bytes: number;
}

/** Turns what a handler enqueues into the job that is written, and bounds what a run may ask for. */
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
}

/** Settles a job inside a transaction of its handler, and asks afterwards whether that committed. */
export interface Completer {
  /** Resolves when the job is settled in the transaction; rejects when it must be rolled back. */
  complete(
    claim: Claim,
    tx: Queryable,
    result: unknown,
    effects: Effects | undefined,
    details: VerdictDetails | undefined,
  ): Promise<CompletedAnswer>;
  isSettled(claim: Claim, isOver: () => boolean): Promise<boolean>;
}

/** What became ready by it, once it has committed: for this worker only. */
export type CompletedAnswer = readonly {
  readonly queue: string;
  readonly priority: number;
  readonly tenant: string;
  readonly id: string;
}[];
