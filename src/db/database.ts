// A database as the rest of Fairmill sees it: statements with the schema's name put in, one round trip for several of them where the
// driver can, and connections of its own for listeners. Nothing here needs session state.
import pg from "pg";
import { ConfigError } from "../base/errors.js";
import type { Queryable } from "../base/queryable.js";
import { ask, askInTransaction, BEGIN, inOnePiece, inTurn, isPipelined } from "./ask.js";
import { ANSWER_MS_MAX, plainSettings, settingsOfUrl } from "./connection-settings.js";
import { Connections } from "./connections.js";
import { CallListeners } from "./database-call.js";
import { checkDatabaseUrl } from "./database-url.js";
import { PARSED } from "./parsers.js";
import { checkSchemaName, DEFAULT_SCHEMA, qualify } from "./schema-name.js";

export { ANSWER_MS_MAX } from "./connection-settings.js";
export { NotSentError } from "./not-sent-error.js";
export { prepared } from "./prepared-statements.js";
export type { Queryable };

export interface DatabaseOptions {
  /** PostgreSQL's address; Fairmill keeps a pool of its own. */
  readonly databaseUrl?: string | undefined;
  /** Past a pooler, for connections outside the pool. */
  readonly directUrl?: string | undefined;
  /** Or a `pg` pool of yours, which stays yours to end. */
  readonly db?: Pool | undefined;
  /** Default "fairmill". */
  readonly schema?: string | undefined;
}

/** A `pg` pool, described by what is needed of it: users need not have the driver's types. */
export interface Pool extends Queryable {
  connect(): Promise<unknown>;
}

/** A connection outside the pool. */
export interface DedicatedConnection extends Queryable {
  /** The server's process, as the other end of the connection says. */
  readonly processID?: number | null;
  /** Whether its address was given for this purpose (DATABASE_DIRECT_URL). */
  readonly isDirect: boolean;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  end(): Promise<void>;
}

/** Rows are objects, or lists of "texts": what PostgreSQL sent, in the order of the columns, for callers that read thousands of them. */
export type Statement = readonly [text: string, values: readonly unknown[], rows?: "texts"];

type Answers = Promise<PromiseSettledResult<unknown[]>[]>;

const TEXTS = { rowMode: "array", types: { getTypeParser: () => (text: string) => text } } as const;

const READ_WITHIN = "select set_config('statement_timeout', $1, true), set_config('transaction_read_only', 'on', true)";

export class Database {
  readonly schema: string;
  /** Called for every statement that is sent from here: its name, duration, rows and outcome. */
  readonly calls = new CallListeners();
  readonly #pool: pg.Pool;
  readonly #connections: Connections;
  readonly #url: string | undefined;
  readonly #directUrl: string | undefined;

  constructor(
    options: DatabaseOptions,
    pool: {
      connectionsMax: number;
      /** So many stay open, however long they are idle; default none. */
      connectionsMin?: number;
      applicationName: string;
      answerMsMax?: number;
      idleMsMax?: number;
    },
  ) {
    this.schema = checkSchemaName(options.schema ?? process.env["FAIRMILL_SCHEMA"] ?? DEFAULT_SCHEMA);
    if (options.db && options.databaseUrl)
      throw new ConfigError("db", "Pass either databaseUrl or db, not both: they may be different databases.");
    this.#url = options.databaseUrl ?? (options.db ? undefined : process.env["DATABASE_URL"]);
    this.#directUrl = options.directUrl;
    if (!options.db && !this.#url)
      throw new ConfigError("databaseUrl", "Pass databaseUrl or db, or set DATABASE_URL: Fairmill needs a PostgreSQL.");
    if (this.#url) checkDatabaseUrl(this.#url, options.databaseUrl ? "databaseUrl" : "DATABASE_URL");
    this.#pool =
      (options.db as pg.Pool | undefined) ||
      new pg.Pool({
        ...settingsOfUrl(this.#url!),
        max: pool.connectionsMax,
        min: pool.connectionsMin ?? 0,
        pipeline: true,
        application_name: pool.applicationName,
        idleTimeoutMillis: pool.idleMsMax ?? 30_000,
      } as pg.PoolConfig);
    this.#connections = new Connections({
      pool: this.#pool,
      isOwned: !options.db,
      answerMsMax: pool.answerMsMax ?? ANSWER_MS_MAX,
      schema: this.schema,
    });
  }

  /** How long an answer is waited for, unless a statement says otherwise. */
  get answerMsMax(): number {
    return this.#connections.answerMsMax;
  }

  /** As many statements as can be under way at once. */
  get connectionsMax(): number {
    return (this.#pool as unknown as { options?: { max?: number } }).options?.max ?? 10;
  }

  /** `answerMsMax`: of a statement that may take longer than others, for good reasons. */
  async query<Row>(text: string, values: readonly unknown[] = [], answerMsMax?: number): Promise<Row[]> {
    const [result] = await this.#send(await this.#connections.checkOut(), [[text, values]], answerMsMax).all;
    if (result!.status === "rejected") throw result!.reason;
    return result!.value as Row[];
  }

  /**
   * Reads in a transaction that the server ends after so long, in one round trip where the driver can. The limit is the transaction's own, so it holds
   * behind a pooler and leaks to no other session.
   */
  async readWithin<Row>(msMax: number, text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const limits = [{ text: READ_WITHIN, values: [String(msMax)] }];
    const client = await this.#connections.checkOut();
    const [result] = await this.#send(client, [[text, values]], undefined, () =>
      askInTransaction(client, { text: qualify(text, this.schema), values: values as unknown[], ...PARSED }, limits),
    ).all;
    if (result!.status === "rejected") throw result!.reason;
    return result!.value as Row[];
  }

  /** Sends the statements in one round trip, each its own transaction, in order. Resolves or rejects for each of them by itself. */
  async pipeline(statements: readonly Statement[]): Answers {
    return this.#send(await this.#connections.checkOut(), statements).all;
  }

  /** The same, each answer as soon as it is there: what the first one brings need not wait for those behind it. */
  async pipelineEach(statements: readonly Statement[]): Promise<readonly Promise<unknown[]>[]> {
    return this.#send(await this.#connections.checkOut(), statements).answers;
  }

  /** The same, for statements of which only the first is awaited: those behind it, such as a wake-up, are favours to other processes. */
  async pipelineFirst(statements: readonly Statement[]): Promise<unknown[]> {
    return this.#send(await this.#connections.checkOut(), statements).answers[0]!;
  }

  /** The connection goes back when everything is answered, whether or not a caller waits for it. */
  #send(
    client: pg.PoolClient,
    statements: readonly Statement[],
    answerMsMax?: number,
    exchange = (statement: Statement, outdated: () => void) => this.#sendOne(client, statement, outdated),
  ) {
    const connections = this.#connections;
    let isOutdated = false;
    const outdated = () => {
      isOutdated = true;
    };
    const sendOne = (statement: Statement) => {
      const answer = exchange(statement, outdated).then((result) => result.rows as unknown[]);
      return this.calls.isEmpty ? answer : this.calls.watch(statement[0], answer);
    };
    const answers = isPipelined(client)
      ? inOnePiece(client, () => statements.map(sendOne))
      : inTurn(statements, sendOne);
    const answered = connections.expectAnswer(client, answerMsMax);
    const all = Promise.allSettled(answers).then((results) => {
      answered();
      let broken: Error | undefined;
      for (const result of results) {
        // An error without an SQL state is the connection's: the pool must not give it out again.
        if (result.status === "rejected" && !(result.reason instanceof pg.DatabaseError))
          broken = result.reason as Error;
      }
      connections.checkIn(client, broken ?? isOutdated);
      return results;
    });
    return { answers, all };
  }

  /** `outdated`: called when the connection has prepared what the schema no longer has. */
  #sendOne(client: pg.PoolClient, [text, values, rows]: Statement, outdated: () => void): Promise<pg.QueryResult> {
    const { names } = this.#connections;
    const sent = qualify(text, this.schema);
    const query: pg.QueryConfig = { text: sent, values: values as unknown[], ...(rows === "texts" ? TEXTS : PARSED) };
    if (!this.#connections.isReadCommitted(client)) return askInTransaction(client, query);
    const name = names.nameOf(client, text, sent);
    if (name === undefined) return ask(client, query);
    query.name = name.name;
    // Behind the others that were sent with it. Whatever discards a name discards all of them, so these come behind it again.
    return ask(client, query).catch((error: unknown) => {
      const why = names.judge(error, name);
      if (why === undefined) throw error;
      if (why === "outdated") outdated();
      const { name: _, ...unnamed } = query;
      return ask(client, unnamed);
    });
  }

  /** Runs `work` in a transaction. `waitsForLocks`: each answer is awaited for as long as it takes. */
  async transaction<T>(work: (tx: Queryable) => Promise<T>, { waitsForLocks = false } = {}): Promise<T> {
    const client = await this.#connections.checkOut();
    const query = this.#announced((text, values) => {
      const statement = { text: qualify(text, this.schema), ...PARSED, ...(values && { values }) };
      return waitsForLocks ? ask(client, statement) : this.#connections.answer(client, statement);
    });
    let broken: Error | undefined;
    try {
      await query(BEGIN);
      const value = await work({ query });
      await query("commit");
      return value;
    } catch (error) {
      await query("rollback").catch((e: Error) => {
        broken = e;
      });
      throw error;
    } finally {
      this.#connections.checkIn(client, broken);
    }
  }

  /** A connection outside the pool, for LISTEN. It must reach the server directly, not through a transaction pooler. */
  async dedicated(applicationName: string): Promise<DedicatedConnection> {
    const directUrl = this.#directUrl ?? (process.env["DATABASE_DIRECT_URL"] || undefined);
    const url = directUrl ?? this.#url;
    const options = url ? settingsOfUrl(url) : this.#poolOptions;
    const client = await this.#connections.open({ ...options, application_name: applicationName } as pg.ClientConfig);
    const send = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<pg.QueryResult>;
    return Object.assign(client, {
      isDirect: directUrl !== undefined,
      query: this.#announced(send),
    });
  }

  /** The same way to send, with listeners. */
  #announced(send: (text: string, values?: unknown[]) => Promise<pg.QueryResult>) {
    return async (text: string, values?: unknown[]) => {
      const answer = send(text, values);
      const rows = () => answer.then((result) => result.rows as unknown[]);
      if (!this.calls.isEmpty) void this.calls.watch(text, rows()).catch(ignore);
      return answer;
    };
  }

  get #poolOptions(): Record<string, unknown> {
    return (this.#pool as unknown as { options?: Record<string, unknown> }).options ?? {};
  }

  /** How to connect, for a thread that opens a connection itself. */
  get connectionSettings(): Record<string, unknown> {
    return this.#url ? settingsOfUrl(this.#url) : plainSettings(this.#poolOptions);
  }

  /** Closes the pool, unless it is the caller's; a second call returns the same promise. */
  close(): Promise<void> {
    return this.#connections.close();
  }

  /** Waits for no answer any more: what is under way fails, connections are closed without a goodbye, and nothing is sent from here on. */
  abandon(): void {
    this.#connections.abandon();
  }
}

const ignore = () => {};
