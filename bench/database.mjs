// A database of one measurement: brings itself to rest, and counts what happened in it.
import pg from "pg";
import { now, sleep } from "./statistics.mjs";

/** The name of the benchmark's own connections. */
export const OURSELVES = "fairmill benchmark";

const COUNTERS = `
  select xact_commit::float8 as commits, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as "walBytes"
  from pg_stat_database where datname = $1`;
const BLOCKS = "select (blks_hit + blks_read)::float8 as blocks from pg_stat_database where datname = $1";
const STATEMENTS = `
  select s.query as text, s.calls::float8 as calls
  from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = $1`;
/** Connections of the systems; ours may stay, for example the one that holds a transaction open. */
const CONNECTED = `
  select 1 from pg_stat_activity
  where datname = $1 and backend_type = 'client backend' and application_name <> '${OURSELVES}' limit 1`;
const QUIET_MS_MAX = 5_000;

export class Database {
  #server;

  constructor(server, name, url) {
    this.#server = server;
    this.name = name;
    this.url = url;
  }

  /** Runs the work with a connection of its own, which is closed afterwards. */
  async connected(work) {
    const client = new pg.Client({ connectionString: this.url, application_name: OURSELVES });
    client.on("error", () => {});
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  /** Jobs that are not finished. */
  pending(system) {
    return this.connected((client) => system.adapter.pending({ url: this.url }, client));
  }

  /** After filling: statistics are fresh and nothing is left for a checkpoint, so every measurement begins alike. */
  async rest() {
    await this.connected((client) => client.query("vacuum analyze"));
    await this.#server.query("checkpoint");
  }

  /** Commits and WAL so far. Connections hand in their counts when they end, so this waits until all have ended. */
  async counters() {
    const endMs = now() + QUIET_MS_MAX;
    while ((await this.#server.query(CONNECTED, [this.name])).rows.length > 0 && now() < endMs) await sleep(20);
    return this.countersNow();
  }

  async countersNow() {
    return (await this.#server.query(COUNTERS, [this.name])).rows[0];
  }

  /** Blocks that were looked at so far, in the cache or outside of it; what is under way hands in its counts about once a second. */
  async blocks() {
    return (await this.#server.query(BLOCKS, [this.name])).rows[0].blocks;
  }

  /** How often each statement ran, by text; undefined where PostgreSQL does not keep count. */
  async statements() {
    if (!this.#server.hasStatements) return undefined;
    const { rows } = await this.#server.query(STATEMENTS, [this.name]);
    const calls = new Map();
    for (const row of rows) calls.set(row.text, (calls.get(row.text) ?? 0) + row.calls);
    return calls;
  }
}
