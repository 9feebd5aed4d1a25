// What every call of a client stands on: its settings, its connections, its middlewares, and how it begins and ends.

import { type Clock, checkClock, systemClock } from "../base/clock.js";
import { FairmillError } from "../base/errors.js";
import { refuseUnknown, wholeNumber } from "../base/settings.js";
import { SharedLook } from "../base/shared-look.js";
import type { Window } from "../batches/batch.js";
import { type Registrar, registrarIn, registrationWatcher, windowIn } from "../batches/batch-coordination.js";
import { readBatchEnds } from "../batches/batch-statements.js";
import type { BatchTools } from "../batches/batches.js";
import { usedBy } from "../batches/default-chain.js";
import { type EnqueueMiddleware, enqueueChain } from "../core/enqueue/enqueue-middleware.js";
import { Sender } from "../core/enqueue/sender.js";
import { type Codec, checkCodec } from "../core/job/codec.js";
import { Database, type Pool, type Queryable } from "../db/database.js";
import { explaining } from "../db/explain-failure.js";
import { type MigrateOptions, migrate, pendingMigrations } from "../db/migrate/migrate.js";
import { SchemaFit } from "../db/migrate/schema-fit.js";
import { KeyRules } from "../limits/key-rules.js";
import "./refusals.js";

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
  /** Middlewares: those with a part at enqueue see every job before it is stored, in this order. */
  readonly use?: Iterable<EnqueueMiddleware>;
  /** For tests. */
  readonly clock?: Clock;
}

/** What the calls of a client are made of. */
export interface ClientTools extends BatchTools {
  readonly rules: KeyRules;
  /** The database in the shape of a transaction. */
  readonly ask: Queryable;
  /** For open batches that say nothing about it. */
  readonly window: Window | undefined;
  /** Hears of jobs that were added to batches. */
  readonly registrar: Registrar | undefined;
  /** Counts a call: closing waits for it. */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether the schema fits this library: asked once, before the first call. */
  readonly fit: SchemaFit;
  /** Says of what the database threw what it means. */
  readonly explained: <T>(work: () => Promise<T>) => Promise<T>;
}

export class BaseClient {
  protected readonly tools: ClientTools;
  /** Calls that have begun and not ended. */
  #underWay = 0;
  #whenIdle: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  constructor(options: ClientOptions = {}) {
    refuseUnknown(options, ["databaseUrl", "db", "schema", "connectionsMax", "codec", "use", "clock"], "createClient");
    const codec = checkCodec(options.codec);
    const middlewares = usedBy(options.use);
    const clock = options.clock === undefined ? systemClock : checkClock(options.clock);
    const db = new Database(options, {
      connectionsMax: wholeNumber(options.connectionsMax ?? 10, 1, 10_000, "connectionsMax"),
      applicationName: "fairmill client",
    });
    const registrar = registrarIn(middlewares);
    const during = <T>(work: () => Promise<T>) => this.#during(work);
    const fit = new SchemaFit(db);
    const explained = <T>(work: () => Promise<T>) =>
      explaining(db.schema, fit.isKnown ? work : () => fit.check().then(work));
    const call = <T>(work: () => Promise<T>) => during(() => explained(work));
    this.tools = {
      db,
      fit,
      clock,
      codec,
      during,
      explained,
      rules: new KeyRules(db),
      chain: enqueueChain(middlewares),
      window: windowIn(middlewares),
      registrar,
      sender: new Sender(db, clock, registrationWatcher(registrar)),
      call,
      batchEnds: new SharedLook(clock, {
        idsMax: 1_000,
        look: (ids) => call(() => readBatchEnds(db, ids)),
        isOver: ({ isOver }) => isOver,
      }),
      ask: { query: async (text, values) => ({ rows: await db.query(text, values) }) },
    };
  }

  /** Brings the schema up to date; safe to call at every start, from several processes at once. Returns what was applied. */
  migrate(options: MigrateOptions = {}): Promise<string[]> {
    const { db, clock } = this.tools;
    return this.#during(() =>
      explaining(db.schema, async () => {
        refuseUnknown(options, ["onWait"], "migrate");
        return migrate(db, { ...options, clock });
      }),
    );
  }

  /** What `migrate` would apply or put right. */
  pendingMigrations(): Promise<string[]> {
    return this.#during(() => explaining(this.tools.db.schema, () => pendingMigrations(this.tools.db)));
  }

  /** Waits for what is under way and closes the client's own connections; a second call returns the same promise. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    await this.tools.db.close();
  }

  protected begin(): void {
    if (this.#closed) throw new FairmillError("FAIRMILL_CLOSED", "This client is closed; create another one.");
    this.#underWay++;
  }

  protected end(): void {
    this.#underWay--;
    if (this.#underWay === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  async #during<T>(work: () => Promise<T>): Promise<T> {
    this.begin();
    try {
      return await work();
    } finally {
      this.end();
    }
  }
}
