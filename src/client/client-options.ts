// The settings of a client, checked.

import { type Clock, checkClock, systemClock } from "../base/clock.js";
import { ConfigError } from "../base/errors.js";
import { checkLogger, type Logger } from "../base/log.js";
import { refuseUnknown, wholeNumber } from "../base/settings.js";
import { type Stability, type Window, windowOf } from "../batches/batch.js";
import { type Registrar, registrarOf } from "../batches/registrations.js";
import { type EnqueueChain, type EnqueueMiddleware, enqueueChain } from "../core/enqueue/enqueue-middleware.js";
import { type Codec, checkCodec } from "../core/job/codec.js";
import { checkMiddlewares } from "../core/job/middleware-list.js";
import type { ContentStore } from "../core/job/stored-content.js";
import type { Pool } from "../db/database.js";
import type { OffloadOptions } from "../offload/content-storage.js";
import { checkOffload } from "../offload/offload-options.js";

export interface ClientOptions {
  /** PostgreSQL's address; default DATABASE_URL. */
  readonly databaseUrl?: string;
  /** Or a `pg` pool of yours. */
  readonly db?: Pool;
  /** Default "fairmill". */
  readonly schema?: string;
  /** Connections of the client's own pool; default 10. */
  readonly connectionsMax?: number;
  /** Seals what is enqueued and opens what is read; default: nothing is sealed. */
  readonly codec?: Codec;
  /** Where payloads and results lie that are too large for their rows; default: they are refused, or not kept. */
  readonly offload?: OffloadOptions;
  /** Middlewares: those with a part at enqueue see every job before it is stored, in this order. */
  readonly use?: readonly EnqueueMiddleware[];
  /** How long open batches that say nothing about it wait for registrations that are still on their way; false: not at all. */
  readonly stability?: Stability | false;
  /** Is told of every job that was added to a batch, once it is stored. */
  readonly onRegistered?: Registrar;
  /** Gets a line about each of them, at level debug. Default: no lines. */
  readonly logger?: Logger;
  /** For tests. */
  readonly clock?: Clock;
}

/** A record and not a list: a setting that the type has and this lacks does not compile. */
const KNOWN: Record<keyof ClientOptions, true> = {
  databaseUrl: true,
  db: true,
  schema: true,
  connectionsMax: true,
  codec: true,
  offload: true,
  use: true,
  stability: true,
  onRegistered: true,
  logger: true,
  clock: true,
};

export interface ClientSettings {
  readonly connectionsMax: number;
  readonly codec: Codec | undefined;
  readonly contents: ContentStore | undefined;
  readonly chain: EnqueueChain | undefined;
  /** For open batches that say nothing about it; undefined: they do not wait. */
  readonly window: Window | undefined;
  readonly registrar: Registrar | undefined;
  readonly clock: Clock;
}

export function checkClientOptions(options: ClientOptions): ClientSettings {
  refuseUnknown(options, Object.keys(KNOWN), "createClient");
  const { stability = {}, onRegistered, logger } = options;
  if (onRegistered !== undefined && typeof onRegistered !== "function")
    throw new ConfigError("onRegistered", "createClient: onRegistered: must be a function of a registration.");
  if (logger !== undefined) checkLogger(logger);
  return {
    connectionsMax: wholeNumber(options.connectionsMax ?? 10, 1, 10_000, "connectionsMax"),
    codec: checkCodec(options.codec),
    contents: checkOffload(options.offload, "createClient"),
    chain: enqueueChain(checkMiddlewares(options.use)),
    window: stability === false ? undefined : windowOf(stability, "createClient"),
    registrar: registrarOf(onRegistered, logger),
    clock: options.clock === undefined ? systemClock : checkClock(options.clock),
  };
}
