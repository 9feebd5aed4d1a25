// What a client offers inside a transaction of the caller: what it does is done when that commits, and never was when it does not. All of
// it goes over the caller's connection: the client's pool may be the caller's, and all its connections may be in such transactions.
import { type BatchOptions, checkBatchOptions } from "../model/batch.js";
import type { ChannelTarget } from "../model/channel.js";
import type { FlowDefinition } from "../model/flow.js";
import type { JobDefinition } from "../model/job-definition.js";
import type { Enqueued, JobList } from "../model/new-job.js";
import type { Published } from "../model/new-message.js";
import { openBatchIn } from "../store/batches.js";
import { explainedTransaction } from "../store/callers-transaction.js";
import type { Balance } from "../store/credits.js";
import type { Queryable } from "../store/database.js";
import { storeJobsIn } from "../store/enqueue.js";
import { createFlowIn } from "../store/flows.js";
import type { Ruled } from "../store/limits.js";
import { publishMessages } from "../store/outbox.js";
import { qualify } from "../store/schema-name.js";
import { type SignalAnswer, sendSignalIn } from "../store/steps.js";
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
  enqueue<In, Result>(
    definition: JobDefinition<In, unknown, Result>,
    input: In,
    options?: EnqueueOptions,
  ): Promise<Enqueued<Result>>;
  enqueueMany<In, Result>(
    definition: JobDefinition<In, unknown, Result>,
    items: Iterable<EnqueueItem<In>>,
  ): Promise<Enqueued<Result>[]>;
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
  given: Queryable,
  tools: Pick<ClientTools, "db" | "fit" | "rules" | "codec" | "chain" | "registrar" | "during">,
): TransactionClient {
  const { codec, chain, during } = tools;
  const { schema } = tools.db;
  const tx = explainedTransaction(given, schema, "client.in(tx)");
  const rules = tools.rules.within(tx);
  // A call of the client like any other: refused once that is closed. What does not fit is asked beside it, over no connection of the caller's.
  const call = <T>(work: () => Promise<T>): Promise<T> =>
    during(async () => {
      tools.fit.checkBeside();
      return work();
    });
  const makers = { rules, codec, chain };
  const credits = new Credits(tx, (text) => qualify(text, schema));
  const store = <Result>(definition: Ruled, jobs: JobList): Promise<Enqueued<Result>[]> =>
    call(async () => {
      await rules.tell(definition);
      const stored = await storeJobsIn(tx, schema, jobs);
      if (!("payloads" in jobs)) tellRegistrations(tools.registrar, jobs, stored);
      return stored as Enqueued<Result>[];
    });
  return {
    enqueue: async <In, Result>(
      definition: JobDefinition<In, unknown, Result>,
      input: In,
      options: EnqueueOptions = {},
    ) => (await store<Result>(definition, [await newJob(definition, input, options, codec, chain)]))[0]!,
    enqueueMany: async (definition, items) => store(definition, await newJobs(definition, items, codec, chain)),
    batch: async (options, fill) => {
      checkBatchOptions(options as BatchOptions, "batch");
      checkFill(fill);
      return call(async () => {
        const batch = await newBatch(makers, options as BatchOptions);
        const filler = new BatchFiller(makers, batch.tenant);
        await fill(filler);
        const { id } = await openBatchIn(tx, schema, batch, filler.take());
        return { id, added: filler.added };
      });
    },
    flow: async (definition, input, options = {}) =>
      call(async () => ({
        id: await createFlowIn(tx, schema, await newFlow(makers, definition, input, options)),
      })),
    publish: async (channel, message, options) => {
      const checked = await newMessage(channel, message, options, codec);
      return call(async () => {
        if (typeof channel !== "string") await rules.tell(channel.definition);
        return (await publishMessages(tx, (text) => qualify(text, schema), [checked]))[0]!;
      });
    },
    signal: async (id, name, value) => {
      const signal = checkSignal(id, name, value);
      return call(async () =>
        sendSignalIn(tx, schema, signal.jobId, signal.name, await sealSignal(tx, schema, codec, signal)),
      );
    },
    grant: (account, amount, options) => call(() => credits.grant(account, amount, options)),
    balance: (account) => call(() => credits.balance(account)),
  };
}
