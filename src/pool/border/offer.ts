// What a child's code offers: its kinds, and how many jobs of each queue at once. Functions do not cross the border; what the supervisor's worker
// needs of a definition is data. So code that was deployed after the supervisor began is served without starting the supervisor again.
import type { JobDefinition } from "../../core/job/job-definition.js";
import type { CheckedWindow } from "../../core/job/named-limit.js";
import { type Handler, handle } from "../../core/run/handler.js";
import type { WorkerOptions } from "../worker-port.js";

type DefinitionFacts = Pick<
  JobDefinition,
  "kind" | "queue" | "priority" | "timeoutMs" | "expireMs" | "maxAttempts" | "limits" | "redact" | "needs" | "atEnd"
> & { readonly uses: readonly { readonly name: string; readonly windows: readonly CheckedWindow[] }[] | undefined };

export interface Offer {
  readonly definitions: readonly DefinitionFacts[];
  readonly queues: WorkerOptions["queues"] | undefined;
  readonly concurrency: number | undefined;
}

export const offerOf = (
  // biome-ignore lint/suspicious/noExplicitAny: a list of definitions holds jobs of all inputs.
  definitions: readonly JobDefinition<any, any>[],
  { queues, concurrency }: Pick<WorkerOptions, "queues" | "concurrency">,
): Offer => ({
  definitions: definitions.map(
    ({
      kind,
      queue,
      priority,
      timeoutMs,
      expireMs,
      maxAttempts,
      limits,
      redact,
      uses,
      needs,
      atEnd,
    }): DefinitionFacts => ({
      ...{ kind, queue, priority, timeoutMs, expireMs, maxAttempts, limits, redact, atEnd },
      // A provider is data; its fallbacks are in the chain already.
      needs: needs.map((chain) => chain.map((provider) => ({ ...provider, fallback: undefined }))),
      uses: uses?.map(({ limit: { name, windows } }) => ({ name, windows })),
    }),
  ),
  queues,
  concurrency,
});

/** Settings for a worker whose handlers are the children's. */
export const workerOf = ({ definitions, queues, concurrency }: Offer): Partial<WorkerOptions> => ({
  handlers: definitions.map(standIn),
  channels: [],
  ...(queues !== undefined && { queues }),
  ...(concurrency !== undefined && { concurrency }),
});

/** A definition as far as the supervisor uses it: the child validates, and decides when a failed job comes again. */
function standIn({ uses: limits, ...facts }: DefinitionFacts): Handler {
  // What a job takes of a limit was computed when it was enqueued.
  const uses = limits?.map((limit) => ({ limit, by: undefined, estimates: {} }));
  const nothing = { key: undefined, credits: undefined, unique: undefined, schema: undefined, output: undefined };
  return handle({ ...facts, uses, ...nothing, backoff: () => 0 } as JobDefinition, () => {
    throw new Error("Handlers run in the children.");
  }) as Handler;
}

export const isSameOffer = (one: Offer, other: Offer): boolean => JSON.stringify(one) === JSON.stringify(other);
