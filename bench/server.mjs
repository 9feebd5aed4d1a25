// The PostgreSQL under test: an embedded one with durable settings in a temporary folder, or the one BENCH_DATABASE_URL names.
import { mkdtemp } from "node:fs/promises";
import { tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { removeEmbedded, startEmbedded } from "../dist/embedded/index.js";
import { Database, OURSELVES } from "./database.mjs";

const SHOWN = [
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "wal_sync_method",
  "autovacuum",
  "shared_buffers",
  "max_wal_size",
];

export class Server {
  #admin;
  #url;
  #folder;
  /** Databases that were not dropped yet. */
  #databases = new Set();
  #made = 0;
  hasStatements = false;
  /** For systems that keep their jobs in Redis; opened by the comparison with other queues. */
  redis;

  static async open() {
    const server = new Server();
    try {
      server.#url = process.env.BENCH_DATABASE_URL || (await server.#startEmbedded());
      await server.#connect();
      return server;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  async #connect() {
    this.#admin = new pg.Client({ connectionString: this.#url, application_name: OURSELVES });
    this.#admin.on("error", () => {});
    await this.#admin.connect();
    this.hasStatements = await this.#findStatements();
  }

  async #startEmbedded() {
    this.#folder = await mkdtemp(join(tmpdir(), "fairmill-bench-"));
    // Durability stays as PostgreSQL ships it. Checkpoints in the middle of a measurement would only add noise.
    const megabytes = Math.min(1024, Math.floor(totalmem() / 4 / 2 ** 20));
    const settings = { shared_buffers: `${megabytes}MB`, max_wal_size: "4GB" };
    const withStatements = { ...settings, shared_preload_libraries: "pg_stat_statements" };
    const start = (chosen) => startEmbedded({ dataDir: this.#folder, settings: chosen });
    // Some packages of binaries come without the extension; the server does not start then.
    const postgres = await start(withStatements).catch(() => start(settings));
    return postgres.url;
  }

  async #findStatements() {
    try {
      await this.#admin.query("create extension if not exists pg_stat_statements");
      await this.#admin.query("select 1 from pg_stat_statements limit 1");
      return true;
    } catch {
      return false;
    }
  }

  query(text, values) {
    return this.#admin.query(text, values);
  }

  /** Runs the work on a new, empty database with the system's tables in it, and drops it afterwards. */
  async withDatabase(system, settings, work) {
    if (system.adapter.store === "redis") return this.redis.withDatabase(system, settings, work);
    const name = `fairmill_bench_${process.pid}_${++this.#made}`;
    this.#databases.add(name);
    await this.query(`create database ${name} template template0`);
    const url = new URL(this.#url);
    url.pathname = name;
    const database = new Database(this, name, url.href);
    try {
      await system.adapter.setup({ url: url.href }, settings);
      return await work(database);
    } finally {
      await this.#drop(name);
    }
  }

  async #drop(name) {
    await this.query(`drop database if exists ${name} with (force)`);
    this.#databases.delete(name);
  }

  /** What a reader must know about the server to make sense of the figures. */
  async facts() {
    const { rows } = await this.query(
      "select name, current_setting(name) as value from pg_settings where name = any ($1)",
      [SHOWN],
    );
    const settings = new Map(rows.map(({ name, value }) => [name, value]));
    const { rows: versions } = await this.query("show server_version");
    return {
      PostgreSQL: `${versions[0].server_version}${this.#folder ? ", embedded, on this machine" : ", given by BENCH_DATABASE_URL"}`,
      Settings: SHOWN.map((name) => `${name} = ${settings.get(name)}`).join(", "),
    };
  }

  /** Drops what is left and ends the server, if it is ours. */
  async close() {
    if (this.#folder) {
      await this.#admin?.end().catch(() => {});
      return removeEmbedded(this.#folder);
    }
    for (const name of this.#databases) await this.#drop(name).catch(() => {});
    await this.#admin?.end().catch(() => {});
  }
}
