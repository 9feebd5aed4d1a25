// Who uses the bot, in a table of the bot's own beside the jobs: which community brought a user, and who pays.
import type pg from "pg";

export interface Person {
  /** The tenant whose lane the user's jobs wait in. */
  readonly community: string;
  readonly isPaying: boolean;
}

/** For users who came without an invitation. */
const OPEN_COMMUNITY = "open";

export class People {
  readonly #db: pg.Pool;
  readonly #schema: string;

  /** The table lies in a schema beside that of the jobs. */
  constructor(db: pg.Pool, jobsSchema: string) {
    this.#db = db;
    this.#schema = `${jobsSchema}_bot`;
  }

  async createTable(): Promise<void> {
    await this.#db.query(`create schema if not exists ${this.#schema};
      create table if not exists ${this.#schema}.person (
        id text primary key, community text not null, is_paying boolean not null default false)`);
  }

  /** The invitation is the `start` parameter of a link to the bot. The first community stays. */
  async join(user: string, invitation: string): Promise<Person> {
    const community = /^[A-Za-z0-9_-]{1,64}$/.test(invitation) ? invitation : OPEN_COMMUNITY;
    await this.#db.query(
      `insert into ${this.#schema}.person (id, community) values ($1, $2) on conflict (id) do nothing`,
      [user, community],
    );
    return this.get(user);
  }

  async get(user: string): Promise<Person> {
    const { rows } = await this.#db.query<{ community: string; is_paying: boolean }>(
      `select community, is_paying from ${this.#schema}.person where id = $1`,
      [user],
    );
    return { community: rows[0]?.community ?? OPEN_COMMUNITY, isPaying: rows[0]?.is_paying ?? false };
  }

  async markPaying(user: string): Promise<void> {
    await this.#db.query(
      `insert into ${this.#schema}.person (id, community, is_paying) values ($1, $2, true)
       on conflict (id) do update set is_paying = true`,
      [user, OPEN_COMMUNITY],
    );
  }
}
