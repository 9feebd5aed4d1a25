// The two contexts that the parts of a client work with: over the client's own connections, and inside a transaction of the caller.

import type { Queryable } from "../base/queryable.js";
import { registrationWatcher, tellRegistrations } from "../batches/registrations.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { storeJobsIn } from "../core/enqueue/enqueue-statements.js";
import { Sender } from "../core/enqueue/sender.js";
import type { JobList } from "../core/job/enqueue-options.js";
import { explainedTransaction } from "../db/callers-transaction.js";
import type { Database } from "../db/database.js";
import { explaining } from "../db/explain-failure.js";
import { SchemaFit } from "../db/migrate/schema-fit.js";
import { transactionSession } from "../db/session.js";
import { KeyRules } from "../limits/key-rules.js";
import type { CallsUnderWay } from "./calls-under-way.js";
import type { ClientSettings } from "./client-options.js";
import "./refusals.js";

export interface Contexts {
  readonly own: ClientContext;
  /** For one transaction. */
  readonly inside: (tx: Queryable) => ClientContext;
}

export function contextsOf(db: Database, settings: ClientSettings, calls: CallsUnderWay): Contexts {
  const { clock, codec, contents, chain, registrar } = settings;
  const { schema } = db;
  const rules = new KeyRules(db);
  const fit = new SchemaFit(db);
  const sender = new Sender(db, clock, registrationWatcher(registrar));
  const begin = () => calls.begin();
  const end = () => calls.end();
  const during = <T>(work: () => Promise<T>) => calls.during(work);

  const explained = <T>(work: () => Promise<T>) =>
    explaining(schema, fit.isKnown ? work : () => fit.check().then(work));
  const own: ClientContext = {
    schema,
    clock,
    codec,
    contents,
    chain,
    begin,
    end,
    during,
    isAlone: true,
    rules,
    explained,
    call: (work) => calls.during(() => explained(work)),
    fits: () => (fit.isKnown ? undefined : fit.check()),
    query: (text, values) => db.query(text, values),
    atomically: (work) => db.transaction(work),
    storeOne: (job) => sender.one(job),
    storeMany: (jobs) => sender.many(jobs),
  };

  // Whether the schema fits is asked beside the call: the caller's pool may have no connection left for it.
  const beside = async <T>(work: () => Promise<T>) => {
    fit.checkBeside();
    return work();
  };
  const fitsBeside = () => void fit.checkBeside();
  const callBeside = <T>(work: () => Promise<T>) => calls.during(() => beside(work));
  const inside = (given: Queryable): ClientContext => {
    const tx = explainedTransaction(given, schema, "client.in(tx)", db.calls);
    const storeMany = async (jobs: JobList) => {
      const stored = await storeJobsIn(tx, schema, jobs);
      if (!("payloads" in jobs)) tellRegistrations(registrar, jobs, stored);
      return stored;
    };
    return {
      schema,
      clock,
      codec,
      contents,
      chain,
      begin,
      end,
      during,
      isAlone: false,
      rules: rules.within(tx),
      explained: beside,
      call: callBeside,
      fits: fitsBeside,
      query: transactionSession(tx, schema).query,
      atomically: (work) => work(tx),
      storeOne: async (job) => (await storeMany([job]))[0]!,
      storeMany,
    };
  };
  return { own, inside };
}
