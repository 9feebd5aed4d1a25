// A database as the rest of Fairmill sees it: statements with the schema's name put in, one round trip for several of them where the
// driver can, and connections of its own for those who listen. Nothing here needs session state.
import pg from "pg";
import { systemClock } from "../base/clock.js";
import { ConfigError } from "../base/errors.js";
import type { Queryable } from "../base/queryable.js";
import { CallListeners } from "./database-call.js";
import { markAsOurs, notSent } from "./explain-failure.js";
import { PARSED } from "./parsers.js";
import { checkSchemaName, DEFAULT_SCHEMA, qualify } from "./schema-name.js";

export { NotSentError } from "./not-sent-error.js";
export type { Queryable };

export interface DatabaseOptions {
  /** PostgreSQL's address; Fairmill keeps a pool of its own. */
  readonly databaseUrl?: string | undefined;
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
  /** The server's process, as whoever answered the connection says. */
  readonly processID?: number | null;
  /** Whether its address was given for this purpose (DATABASE_DIRECT_URL). */
  readonly isDirect: boolean;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  end(): Promise<void>;
}

/** Rows are objects, or lists of "texts": what PostgreSQL sent, in the order of the columns, for whoever reads thousands of them. */
export type Statement = readonly [text: string, values: readonly unknown[], rows?: "texts"];

const TEXTS = { rowMode: "array", types: { getTypeParser: () => (text: string) => text } } as const;

/** Statements that got no answer in this time have lost their connection: a half-open one would otherwise hold their caller for ever. */
export const ANSWER_MS_MAX = 60_000;
const CONNECT_MS_MAX = 10_000;
/**
 * Has the server's process take two megabytes and give them back. The C library of Linux learns from that: from then on it keeps as much
 * between two statements, where it would return memory to the system after each list of jobs, and take it page by page for the next. That
 * was a sixth of the time of a bulk enqueue. Of no effect with other libraries.
 */
const MAKE_ROOM = `select length(repeat(' ', ${2 * 1024 * 1024}))`;

/**
 * Statements here count under locks, and need to see what was committed while they waited: READ COMMITTED. Where the database, the role or a
 * pool of the caller's says otherwise, each statement has a transaction of its own that says so. To change the session's setting would be
 * to change it for others, behind a pooler and in a pool of the caller's.
 */
const LEVEL = "select current_setting('default_transaction_isolation') as level";
const BEGIN = "begin isolation level read committed";
const READ_COMMITTED = ["read committed", "read uncommitted"];

export class Database {
  readonly schema: string;
  /** Told of every statement that is sent from here: its name, duration, rows and outcome. */
  readonly calls = new CallListeners();
  readonly #pool: pg.Pool;
  readonly #owned: boolean;
  readonly #url: string | undefined;
  readonly #answerMsMax: number;
  /** Connections that keep their memory between large statements. */
  readonly #roomy = new WeakSet<pg.PoolClient>();
  /** By connection: whether a transaction that says nothing of its level is READ COMMITTED. */
  readonly #isReadCommitted = new WeakMap<pg.PoolClient, boolean>();
  /** Raised when a connection has gone silent. What took that one has often taken those that are idle as well. */
  #silences = 0;
  /** Connections whose statement may take longer than others, and does. */
  readonly #overdue = new Set<pg.PoolClient>();
  /** How many silences there had been when the connection last answered. */
  readonly #answeredAfter = new WeakMap<pg.PoolClient, number>();
  /** Connections to hang up on when nobody waits for answers any more. Of a pool of the caller's only those that are checked out. */
  readonly #open = new Set<Line>();
  #closed: Promise<void> | undefined;
  #isAbandoned = false;

  constructor(
    options: DatabaseOptions,
    pool: { connectionsMax: number; applicationName: string; answerMsMax?: number },
  ) {
    this.#answerMsMax = pool.answerMsMax ?? ANSWER_MS_MAX;
    this.schema = checkSchemaName(options.schema ?? process.env["FAIRMILL_SCHEMA"] ?? DEFAULT_SCHEMA);
    if (options.db && options.databaseUrl)
      throw new ConfigError("db", "Pass either databaseUrl or db, not both: they may be different databases.");
    this.#url = options.databaseUrl ?? (options.db ? undefined : process.env["DATABASE_URL"]);
    if (options.db) {
      this.#pool = options.db as pg.Pool;
      this.#owned = false;
      this.#surviveBreaks();
      return;
    }
    if (!this.#url)
      throw new ConfigError("databaseUrl", "Pass databaseUrl or db, or set DATABASE_URL: Fairmill needs a PostgreSQL.");
    this.#owned = true;
    this.#pool = new pg.Pool({
      ...connection(this.#url),
      max: pool.connectionsMax,
      pipeline: true,
      application_name: pool.applicationName,
      idleTimeoutMillis: 30_000,
    } as pg.PoolConfig);
    this.#surviveBreaks();
    this.#pool.on("remove", (client) => void this.#open.delete(client));
  }

  /** An idle connection that breaks is no news: the next statement opens another one. Unheard, it would end the process. */
  #surviveBreaks(): void {
    const { on, listeners } = this.#pool as Partial<pg.Pool>;
    if (on && !listeners?.call(this.#pool, "error").includes(ignore)) on.call(this.#pool, "error", ignore);
  }

  /** How long an answer is waited for, unless a statement says otherwise. */
  get answerMsMax(): number {
    return this.#answerMsMax;
  }

  /** As many statements as can be under way at once. */
  get connectionsMax(): number {
    return (this.#pool as unknown as { options?: { max?: number } }).options?.max ?? 10;
  }

  /** `answerMsMax`: of a statement that may take longer than others, for good reasons. */
  async query<Row>(text: string, values: readonly unknown[] = [], answerMsMax?: number): Promise<Row[]> {
    const [result] = await this.#send(await this.#checkOut(), [[text, values]], answerMsMax).all;
    if (result!.status === "rejected") throw result!.reason;
    return result!.value as Row[];
  }

  /** Sends the statements in one round trip, each its own transaction, in order. Resolves or rejects for each of them by itself. */
  async pipeline(statements: readonly Statement[]): Promise<PromiseSettledResult<unknown[]>[]> {
    return this.#send(await this.#checkOut(), statements).all;
  }

  /** The same for statements that are large, such as lists of jobs. */
  async pipelineLarge(statements: readonly Statement[]): Promise<PromiseSettledResult<unknown[]>[]> {
    const client = await this.#checkOut();
    if (!this.#roomy.has(client)) {
      this.#roomy.add(client);
      // A favour to the statements behind it: whether it works out is theirs to notice.
      await this.#answer(client, { text: MAKE_ROOM }).catch(ignore);
    }
    return this.#send(client, statements).all;
  }

  /** The same, for statements of which only the first is awaited: those behind it, such as a wake-up, are favours to other processes. */
  async pipelineFirst(statements: readonly Statement[]): Promise<unknown[]> {
    return this.#send(await this.#checkOut(), statements).first;
  }

  /** The connection goes back when everything is answered, whoever waits for it. */
  #send(client: pg.PoolClient, statements: readonly Statement[], answerMsMax = this.#answerMsMax) {
    const ask = this.#isReadCommitted.get(client) === false ? askReadCommitted : askAsItIs;
    const sendOne = ([text, values, rows]: Statement) => {
      const query = { text: qualify(text, this.schema), values: values as unknown[] };
      const rules = rows === "texts" ? TEXTS : PARSED;
      const answer = ask(client, { ...query, ...rules }).then((result) => result.rows as unknown[]);
      return this.calls.isEmpty ? answer : this.calls.watch(text, answer);
    };
    const answers = isPipelined(client) ? statements.map(sendOne) : inTurn(statements, sendOne);
    const answered = this.#expectAnswer(client, answerMsMax);
    const all = Promise.allSettled(answers).then((results) => {
      answered();
      let broken: Error | undefined;
      for (const result of results) {
        // An error without an SQL state is the connection's: the pool must not hand it out again.
        if (result.status === "rejected" && !(result.reason instanceof pg.DatabaseError))
          broken = result.reason as Error;
      }
      this.#checkIn(client, broken);
      return results;
    });
    return { first: answers[0]!, all };
  }

  async #answer(client: pg.PoolClient, query: pg.QueryConfig): Promise<pg.QueryResult> {
    return askAsItIs(client, query).finally(this.#expectAnswer(client));
  }

  /** By the machine's clock, whatever the worker's is: it is the line that is timed, not the work. */
  #expectAnswer(client: pg.PoolClient, answerMsMax = this.#answerMsMax): () => void {
    const quickMs = Math.min(answerMsMax, this.#answerMsMax);
    const sentAfter = this.#silences;
    let forget = systemClock.after(quickMs, () => {
      // One that may take longer is given its time, unless others have gone silent since it was sent.
      if (quickMs === answerMsMax || this.#silences !== sentAfter) return this.#giveUp(client);
      this.#overdue.add(client);
      forget = systemClock.after(answerMsMax - quickMs, () => this.#giveUp(client));
    });
    return () => {
      forget();
      this.#overdue.delete(client);
    };
  }

  #giveUp(client: pg.PoolClient): void {
    this.#silences++;
    for (const silent of [client, ...this.#overdue]) hangUp(silent, unanswered());
    this.#overdue.clear();
  }

  /** A failure here is a failure before anything was sent: whoever asked may ask again. */
  async #checkOut(): Promise<pg.PoolClient> {
    try {
      if (this.#isAbandoned) throw abandoned();
      const client = await this.#connectTrusted();
      if (this.#isAbandoned) {
        client.release(true);
        throw abandoned();
      }
      this.#open.add(client);
      // A connection that breaks while it is checked out fails its statements; without a listener it would also end the process.
      client.on("error", ignore);
      if (!this.#isReadCommitted.has(client)) await this.#learnLevel(client);
      return client;
    } catch (error) {
      throw notSent(error, this.schema);
    }
  }

  /** Once for each connection, when it is first used. */
  async #learnLevel(client: pg.PoolClient): Promise<void> {
    try {
      const { rows } = await this.#answer(client, { text: LEVEL });
      this.#isReadCommitted.set(client, READ_COMMITTED.includes((rows[0] as { level: string }).level));
    } catch (error) {
      this.#checkIn(client, error as Error);
      throw error;
    }
  }

  /** Not one that was idle while another went silent: it would have to be waited for as long, and so would the next. */
  async #connectTrusted(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if ((this.#answeredAfter.get(client) ?? this.#silences) === this.#silences) return client;
      client.release(true);
    }
  }

  #checkIn(client: pg.PoolClient, broken: Error | undefined): void {
    if (!broken) this.#answeredAfter.set(client, this.#silences);
    if (!this.#owned) this.#open.delete(client);
    client.release(broken);
    client.off("error", ignore);
  }

  /** Runs `work` in a transaction. `waitsForLocks`: each answer is awaited for as long as it takes. */
  async transaction<T>(work: (tx: Queryable) => Promise<T>, { waitsForLocks = false } = {}): Promise<T> {
    const client = await this.#checkOut();
    const send = (text: string, values?: unknown[]) => {
      const statement = { text: qualify(text, this.schema), ...PARSED, ...(values && { values }) };
      return waitsForLocks ? askAsItIs(client, statement) : this.#answer(client, statement);
    };
    const query = async (text: string, values?: unknown[]) => {
      const answer = send(text, values);
      if (!this.calls.isEmpty)
        void this.calls
          .watch(
            text,
            answer.then(({ rows }) => rows),
          )
          .catch(ignore);
      return answer;
    };
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
      this.#checkIn(client, broken);
    }
  }

  /** A connection outside the pool, for LISTEN. It must reach the server directly, not through a transaction pooler. */
  async dedicated(applicationName: string): Promise<DedicatedConnection> {
    const url = process.env["DATABASE_DIRECT_URL"] ?? this.#url;
    const options = url ? connection(url) : ((this.#pool as unknown as { options: pg.ClientConfig }).options ?? {});
    const client = new pg.Client({ ...options, application_name: applicationName } as pg.ClientConfig);
    client.on("error", () => {});
    client.on("end", () => void this.#open.delete(client));
    this.#open.add(client);
    await client.connect();
    const send = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<pg.QueryResult>;
    const query = async (text: string, values?: unknown[]) => {
      const answer = send(text, values);
      if (!this.calls.isEmpty)
        void this.calls
          .watch(
            text,
            answer.then(({ rows }) => rows),
          )
          .catch(ignore);
      return answer;
    };
    return Object.assign(client, { isDirect: process.env["DATABASE_DIRECT_URL"] !== undefined, query });
  }

  /** How to connect, for a thread that opens a connection itself: plain values only, because functions do not cross over to it. */
  get connectionSettings(): Record<string, unknown> {
    if (this.#url) return connection(this.#url);
    const options = (this.#pool as unknown as { options: Record<string, unknown> }).options;
    if (typeof options["password"] === "function")
      throw new ConfigError(
        "db",
        "db: a pool whose password is a function does not do for a worker; pass databaseUrl instead.",
      );
    const settings = Object.fromEntries(CONNECTION_SETTINGS.map((name) => [name, options[name]]));
    return { ...settings, ssl: plain(options["ssl"]) };
  }

  /** Closes the pool, unless it is the caller's; a second call returns the same promise. */
  close(): Promise<void> {
    this.#closed ??= this.#owned ? this.#pool.end() : Promise.resolve();
    return this.#closed;
  }

  /** Waits for no answer any more: what is under way fails, connections are closed without a goodbye, and nothing is sent from here on. */
  abandon(): void {
    this.#isAbandoned = true;
    for (const line of this.#open) hangUp(line, abandoned());
    this.#open.clear();
    // A connection that is being opened may hold this up for as long as that takes.
    this.close().catch(ignore);
  }
}

const ignore = () => {};

/** By callback: the driver's promise, like its timer, would keep the text of a statement long after the answer, for the collector to carry along. */
const askAsItIs = (client: pg.PoolClient, query: pg.QueryConfig) =>
  new Promise<pg.QueryResult>((resolve, reject) => {
    client.query(query, (error, result) => (error ? reject(markAsOurs(error)) : resolve(result)));
  });

/** In a transaction of its own; sent together where the connection allows it. */
async function askReadCommitted(client: pg.PoolClient, query: pg.QueryConfig): Promise<pg.QueryResult> {
  // Where the statement has failed, the last one rolls back.
  const statements = [{ text: BEGIN }, query, { text: "commit" }];
  const ask = (statement: pg.QueryConfig) => askAsItIs(client, statement);
  const [begun, answer, ended] = await Promise.allSettled(
    isPipelined(client) ? statements.map(ask) : inTurn(statements, ask),
  );
  for (const { status, reason } of [begun, answer, ended] as PromiseRejectedResult[])
    if (status === "rejected") throw reason;
  return (answer as PromiseFulfilledResult<pg.QueryResult>).value;
}

/** Whether statements may be sent before earlier ones are answered. Those of a caller's pool seldom allow it. */
const isPipelined = (client: pg.PoolClient) => (client as { pipeline?: boolean }).pipeline === true;

/** Sends each statement when the one before it is answered, whatever that came to: the driver warns of more at a time. */
function inTurn<S, T>(statements: readonly S[], send: (statement: S) => Promise<T>): Promise<T>[] {
  let before: Promise<unknown> | undefined;
  return statements.map((statement) => {
    const answer = before ? before.then(() => send(statement)) : send(statement);
    before = answer.catch(ignore);
    return answer;
  });
}

/** A client of the driver. */
type Line = pg.Client | pg.PoolClient;

const timedOut = (message: string) => Object.assign(new Error(message), { code: "ETIMEDOUT" });
const unanswered = () => timedOut("no answer from PostgreSQL for too long");
const abandoned = () => timedOut("the answer was not waited for any longer");

/** Fails everything that waits on this connection. A pool of the caller's may have clients without a stream; those wait on. */
function hangUp(line: Line, error: Error): void {
  const { connection } = line as { connection?: { stream?: { destroy(error: Error): void } } };
  connection?.stream?.destroy(error);
}

const CONNECTION_SETTINGS = ["host", "port", "user", "password", "database", "connectionString", "options"];

/** TLS settings without their functions. */
const plain = (ssl: unknown): unknown =>
  typeof ssl === "object" && ssl !== null
    ? Object.fromEntries(Object.entries(ssl).filter(([, value]) => typeof value !== "function"))
    : ssl;

const connection = (url: string) => ({
  connectionString: url,
  connectionTimeoutMillis: CONNECT_MS_MAX,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
});
