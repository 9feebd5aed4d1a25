// The connections of a database: a pool of our own or the caller's. Those that are given out answer, and are known: which isolation level they have, and
// whether they lead to one process of the server. A connection that goes silent is hung up on, and so are all that were idle meanwhile.
import pg from "pg";
import { systemClock } from "../base/clock.js";
import { ask, hangUp, type Line } from "./ask.js";
import { notSent } from "./explain-failure.js";
import { PreparedStatements } from "./prepared-statements.js";

/**
 * Asked once of each connection, when it is first used. Texts, because parsers of numbers are the application's to change.
 *
 * The two megabytes are taken and given back: the C library of Linux learns from that to keep as much between statements. Before, it returns memory to the
 * system after each scan of an index, and takes it again for the next one: a fifth of the server's time of a single enqueue, a sixth of a bulk
 * enqueue's. Of no effect with other libraries.
 */
const LOOK = `select current_setting('default_transaction_isolation') as level, pg_backend_pid()::text as process,
  octet_length(repeat(repeat(' ', 2048), 1024))::text as room`;
const READ_COMMITTED = ["read committed", "read uncommitted"];

export interface ConnectionsOptions {
  readonly pool: pg.Pool;
  /** Ours to end. */
  readonly isOwned: boolean;
  readonly answerMsMax: number;
  readonly schema: string;
}

export class Connections {
  readonly answerMsMax: number;
  readonly names = new PreparedStatements();
  readonly #pool: pg.Pool;
  readonly #isOwned: boolean;
  readonly #schema: string;
  /** By connection: whether a transaction that says nothing of its level is READ COMMITTED. */
  readonly #isReadCommitted = new WeakMap<pg.PoolClient, boolean>();
  /** Raised when a connection has gone silent. What took that one has often taken those that are idle as well. */
  #silences = 0;
  /** Connections whose statement may take longer than others, and does. */
  readonly #overdue = new Set<pg.PoolClient>();
  /** Of our pool: given back in this turn, and not in it yet. */
  #atHand: pg.PoolClient | undefined;
  /** How many silences there had been when the connection last answered. */
  readonly #answeredAfter = new WeakMap<pg.PoolClient, number>();
  /** Connections to hang up on when no caller waits for answers any more. Of a pool of the caller's only those that are checked out. */
  readonly #open = new Set<Line>();
  #closed: Promise<void> | undefined;
  #isAbandoned = false;

  constructor({ pool, isOwned, answerMsMax, schema }: ConnectionsOptions) {
    this.#pool = pool;
    this.#isOwned = isOwned;
    this.#schema = schema;
    this.answerMsMax = answerMsMax;
    this.#surviveBreaks();
    if (isOwned) pool.on("remove", (client) => void this.#open.delete(client));
  }

  /** An idle connection that breaks is no news: the next statement opens another one. Unheard, it would end the process, and so would one that breaks
   * between two of the pool's steps: a server that is going down may say so in one packet with its welcome. */
  #surviveBreaks(): void {
    const { on, listeners } = this.#pool as Partial<pg.Pool>;
    if (!on || listeners?.call(this.#pool, "error").includes(ignore)) return;
    on.call(this.#pool, "error", ignore);
    on.call(this.#pool, "connect", ignoreBreaks);
  }

  isReadCommitted(client: pg.PoolClient): boolean {
    return this.#isReadCommitted.get(client) !== false;
  }

  /** A failure here is a failure before anything was sent: the caller may repeat it. */
  async checkOut(): Promise<pg.PoolClient> {
    try {
      if (this.#isAbandoned) throw abandoned();
      const atHand = this.#atHand;
      this.#atHand = undefined;
      if (atHand) return atHand;
      const client = await this.#connectTrusted();
      if (this.#isAbandoned) {
        client.release(true);
        throw abandoned();
      }
      this.#open.add(client);
      // A connection that breaks while it is checked out fails its statements; without a listener it would also end the process. The caller's pool may
      // have opened it before it was ours to listen to.
      client.on("error", ignore);
      if (!this.#isReadCommitted.has(client)) await this.#look(client);
      return client;
    } catch (error) {
      throw notSent(error, this.#schema);
    }
  }

  async #look(client: pg.PoolClient): Promise<void> {
    try {
      const { rows } = await this.answer(client, { text: LOOK });
      const { level, process } = rows[0] as { level: string; process: string };
      this.#isReadCommitted.set(client, READ_COMMITTED.includes(level));
      this.names.learn(client, process);
    } catch (error) {
      this.checkIn(client, error as Error);
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

  /**
   * `broken`: the pool must not give it out again. Who is answered often asks again at once: the way through the pool and back would cost more than the driver's
   * whole work, so the connection stays at hand until the callers that were answered have gone on. No event of it comes in between.
   */
  checkIn(client: pg.PoolClient, broken: Error | boolean = false): void {
    if (!broken) this.#answeredAfter.set(client, this.#silences);
    if (broken || !this.#isOwned || this.#atHand || this.#pool.waitingCount > 0) return this.#release(client, broken);
    this.#atHand = client;
    process.nextTick(this.#putBack, client);
  }

  readonly #putBack = (client: pg.PoolClient): void => {
    if (this.#atHand !== client) return;
    this.#atHand = undefined;
    this.#release(client, false);
  };

  #release(client: pg.PoolClient, broken: Error | boolean): void {
    if (!this.#isOwned) this.#open.delete(client);
    client.release(broken);
    client.off("error", ignore);
  }

  /** One statement whose answer is expected in the usual time. */
  async answer(client: pg.PoolClient, query: pg.QueryConfig): Promise<pg.QueryResult> {
    return ask(client, query).finally(this.expectAnswer(client));
  }

  /** Returns what to call when it is there. By the machine's clock, whatever the worker's is: it is the line that is timed, not the work. */
  expectAnswer(client: pg.PoolClient, answerMsMax = this.answerMsMax): () => void {
    const quickMs = Math.min(answerMsMax, this.answerMsMax);
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

  /** Opens a connection outside the pool. */
  async open(settings: pg.ClientConfig): Promise<pg.Client> {
    const client = new pg.Client(settings);
    client.on("error", ignore);
    client.on("end", () => void this.#open.delete(client));
    this.#open.add(client);
    await client.connect();
    return client;
  }

  /** Closes the pool, unless it is the caller's; a second call returns the same promise. */
  close(): Promise<void> {
    this.#closed ??= this.#isOwned ? this.#pool.end() : Promise.resolve();
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
const ignoreBreaks = (client: pg.PoolClient) => void client.on("error", ignore);
const timedOut = (message: string) => Object.assign(new Error(message), { code: "ETIMEDOUT" });
const unanswered = () => timedOut("no answer from PostgreSQL for too long");
const abandoned = () => timedOut("the answer was not waited for any longer");
