// What a client offers inside a transaction of the caller: what it does is done when that commits, and never was when it does not. All of
// it goes over the caller's connection: the client's pool may be the caller's, and all its connections may be in such transactions.
import { type BatchOptions, checkBatchOptions } from "../batches/batch.js";
import { tellRegistrations } from "../batches/batch-coordination.js";
import { openBatchIn } from "../batches/batch-statements.js";
import { type BatchAdder, BatchFiller, checkFill, newBatch, type StoredBatch } from "../batches/batches.js";
import type { FlowDefinition } from "../batches/flow.js";
import { createFlowIn } from "../batches/flow-statements.js";
import { newFlow, type StartFlowOptions } from "../batches/flows.js";
import { storeJobsIn } from "../core/enqueue/enqueue-statements.js";
import { newJobs } from "../core/enqueue/job-list.js";
import { type EnqueueItem, type EnqueueOptions, newJob } from "../core/enqueue/make-job.js";
import type { Enqueued, JobList } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { Balance } from "../credits/credit-statements.js";
import { Credits, type Granted, type GrantOptions } from "../credits/credits.js";
import { explainedTransaction } from "../db/callers-transaction.js";
import type { Queryable } from "../db/database.js";
import { qualify } from "../db/schema-name.js";
import type { Ruled } from "../limits/limit-statements.js";
import type { ChannelTarget } from "../outbox/channel-target.js";
import { publishMessages } from "../outbox/outbox-statements.js";
import { newMessage, type PublishOptions } from "../outbox/publish.js";
import type { Published } from "../outbox/publish-options.js";
import { checkSignal, sealSignal } from "../steps/signals.js";
import { type SignalAnswer, sendSignalIn } from "../steps/step-statements.js";
import type { ClientTools } from "./base-client.js";

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
