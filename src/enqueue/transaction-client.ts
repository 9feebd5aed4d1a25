// What a client offers inside a transaction of the caller: what it does is done when that commits, and never was when it does not.
import { type BatchOptions, checkBatchOptions } from "../model/batch.js";

import type { ChannelTarget } from "../model/channel.js";
import { ConfigError } from "../model/errors.js";
import type { FlowDefinition } from "../model/flow.js";
import type { JobDefinition } from "../model/job-definition.js";
import type { Enqueued, JobList } from "../model/new-job.js";
import type { Published } from "../model/new-message.js";
import { openBatchIn } from "../store/batches.js";
import type { Balance } from "../store/credits.js";
import type { Queryable } from "../store/database.js";
import { storeJobsIn } from "../store/enqueue.js";
import { explainFailure } from "../store/failures.js";
import { createFlowIn } from "../store/flows.js";
import type { Ruled } from "../store/limits.js";
import { publishMessages } from "../store/outbox.js";
import { qualify } from "../store/schema-name.js";
import { type SignalAnswer, sendSignalIn } from "../store/steps.js";
import { driversError } from "../store/wrapped-error.js";
import type { ClientTools } from "./base-client.js";
import { tellRegistrations } from "./batch-coordination.js";
import { type BatchAdder, BatchFiller, checkFill, newBatch, type StoredBatch } from "./batches.js";
import { Credits, type Granted, type GrantOptions } from "./credits.js";
import { newFlow, type StartFlowOptions } from "./flows.js";
import { newJobs } from "./job-list.js";
import { type EnqueueItem, type EnqueueOptions, newJob } from "./new-job.js";
import { newMessage, type PublishOptions } from "./publish.js";
import { checkSignal, sealSignal } from "./signals.js";

/** Enqueues inside a transaction of the caller: the jobs exist when it commits, and never did when it does not. */
export interface TransactionClient {
  enqueue<In>(definition: JobDefinition<In, unknown>, input: In, options?: EnqueueOptions): Promise<Enqueued>;
  enqueueMany<In>(definition: JobDefinition<In, unknown>, items: Iterable<EnqueueItem<In>>): Promise<Enqueued[]>;
  /** Stores a batch with everything that `fill` adds. */
  batch<Success, Complete, Death>(
    options: BatchOptions<Success, Complete, Death>,
    fill: (batch: BatchAdder) => unknown,
  ): Promise<StoredBatch>;
  /** Starts a flow: it begins when the transaction commits. */
  flow<In>(definition: FlowDefinition<In>, input: In, options?: StartFlowOptions): Promise<{ readonly id: string }>;
  /** Publishes a message: it is sent when the transaction has committed, and never was when it does not. */
  publish<In>(channel: string | ChannelTarget<In>, message: In, options: PublishOptions): Promise<Published>;
  /** Sends a signal: it is there when the transaction commits. */
  signal(id: string, name: string, value?: unknown): Promise<SignalAnswer>;
  grant(account: string, amount: number, options?: GrantOptions): Promise<Granted>;
  balance(account: string): Promise<Balance>;
}

export function transactionClient(
  tx: Queryable,
  {
    db: { schema },
    rules,
    codec,
    chain,
    registrar,
    during,
  }: Pick<ClientTools, "db" | "rules" | "codec" | "chain" | "registrar" | "during">,
): TransactionClient {
  if (typeof tx?.query !== "function")
    throw new ConfigError(
      "tx",
      "client.in(tx): tx must have a query(text, values) method, like a pg client inside a transaction. For transactions of other libraries there are adapters: fairmill/adapters/postgres-js, drizzle, kysely, prisma.",
    );
  // A call of the client like any other: refused once that is closed.
  const explained = <T>(work: () => Promise<T>): Promise<T> =>
    during(async () => {
      try {
        return await work();
      } catch (error) {
        throw explainFailure(error, schema, driversError(error));
      }
    });
  const makers = { rules, codec, chain };
  const credits = new Credits(tx, (text) => qualify(text, schema));
  const store = (definition: Ruled, jobs: JobList) =>
    explained(async () => {
      // Over a connection of ours: the rule stays, whatever becomes of the transaction.
      await rules.tell(definition);
      const stored = await storeJobsIn(tx, schema, jobs);
      if (!("payloads" in jobs)) tellRegistrations(registrar, jobs, stored);
      return stored;
    });
  return {
    enqueue: async (definition, input, options = {}) =>
      (await store(definition, [await newJob(definition, input, options, codec, chain)]))[0]!,
    enqueueMany: async (definition, items) => store(definition, await newJobs(definition, items, codec, chain)),
    batch: async (options, fill) => {
      checkBatchOptions(options as BatchOptions, "batch");
      checkFill(fill);
      return explained(async () => {
        const batch = await newBatch(makers, options as BatchOptions);
        const filler = new BatchFiller(makers, batch.tenant);
        await fill(filler);
        const { id } = await openBatchIn(tx, schema, batch, filler.take());
        return { id, added: filler.added };
      });
    },
    flow: async (definition, input, options = {}) =>
      explained(async () => ({
        id: await createFlowIn(tx, schema, await newFlow(makers, definition, input, options)),
      })),
    publish: async (channel, message, options) => {
      const checked = await newMessage(channel, message, options, codec);
      return explained(async () => {
        if (typeof channel !== "string") await rules.tell(channel.definition);
        return (await publishMessages(tx, (text) => qualify(text, schema), [checked]))[0]!;
      });
    },
    signal: async (id, name, value) => {
      const signal = checkSignal(id, name, value);
      return explained(async () =>
        sendSignalIn(tx, schema, signal.jobId, signal.name, await sealSignal(tx, schema, codec, signal)),
      );
    },
    grant: (account, amount, options) => explained(() => credits.grant(account, amount, options)),
    balance: (account) => explained(() => credits.balance(account)),
  };
}
