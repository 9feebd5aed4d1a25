// The client: what an application calls. Its parts come from core and features; here they are put together, with how a client begins and ends.

import { Alerts } from "../alerts/alerts-client.js";
import type { Queryable } from "../base/queryable.js";
import { batchEndsOf } from "../batches/batch-ends.js";
import type { Batches } from "../batches/batches-client.js";
import type { Flows } from "../batches/flows-client.js";
import { Caches } from "../cache/cache-client.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { Database } from "../db/database.js";
import { type MigrateCalls, migrateCalls } from "../db/migrate/migrate-calls.js";
import { type ResultCalls, resultCalls } from "../jobs/result-calls.js";
import { Metrics } from "../metrics/metrics-client.js";
import type { TenantsWithErase } from "../retention/tenants-client.js";
import { CallsUnderWay } from "./calls-under-way.js";
import { type ClientOptions, checkClientOptions } from "./client-options.js";
import { contextsOf } from "./contexts.js";
import { composed, type TransactionClient } from "./transaction-client.js";

export interface Client extends TransactionClient, ResultCalls, MigrateCalls {
  readonly batches: Batches;
  readonly flows: Flows;
  readonly tenants: TenantsWithErase;
  readonly metrics: Metrics;
  readonly alerts: Alerts;
  readonly cache: Caches;
  /** The same calls inside the caller's transaction: `await client.in(tx).enqueue(job, input)`. */
  in(tx: Queryable): TransactionClient;
  /** Waits for what is under way and closes the client's own connections; a second call returns the same promise. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A client, and what its parts work with: for rooms that stand on one and add parts of their own. */
export interface OpenedClient {
  readonly client: Client;
  readonly context: ClientContext;
  readonly db: Database;
}

/** Opens no connection yet. */
export const createClient = (options: ClientOptions = {}): Client => openClient(options).client;

export function openClient(options: ClientOptions): OpenedClient {
  const settings = checkClientOptions(options);
  const { connectionsMax, clock, window } = settings;
  const db = new Database(options, { connectionsMax, applicationName: "fairmill client" });
  const calls = new CallsUnderWay();
  const { own, inside } = contextsOf(db, settings, calls);
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= calls.close().then(() => db.close());
    return closed;
  };
  const client = Object.freeze({
    ...composed(own, window, batchEndsOf(own)),
    ...resultCalls(own),
    metrics: new Metrics(db, own.call),
    alerts: new Alerts(db, own.call),
    cache: new Caches(own),
    ...migrateCalls(db, clock, own.during),
    in: (tx: Queryable) => composed(inside(tx), window, undefined),
    close,
    [Symbol.asyncDispose]: close,
  });
  return { client, context: own, db };
}
