// What an invariant is to those who check it: a sentence, and a question for the rows that break it, asked of a part of a table at a time.

/** Along what a question goes: a table by its key, so that a part of it can be asked at a time; "once": it is small. */
export interface Walk {
  /** Told with the progress. */
  readonly table: string;
  readonly key: "number" | "text";
  /** Parameters: the last key of the part before, how many rows. The last key of this part, or null at the end of the table. */
  readonly boundary: string;
}

export const WALKS = {
  job: {
    table: "job",
    key: "number",
    boundary:
      "select max(id)::text as until from (select id from fairmill.job where id > $1 order by id limit $2) part",
  },
  history: {
    table: "job_history",
    key: "number",
    boundary:
      "select max(id)::text as until from (select id from fairmill.job_history where id > $1 order by id limit $2) part",
  },
  batch: {
    table: "batch",
    key: "number",
    boundary:
      "select max(id)::text as until from (select id from fairmill.batch where id > $1 order by id limit $2) part",
  },
  outbox: {
    table: "outbox",
    key: "number",
    boundary:
      "select max(id)::text as until from (select id from fairmill.outbox where id > $1 order by id limit $2) part",
  },
  entry: {
    table: "credit_entry",
    key: "number",
    boundary:
      "select max(id)::text as until from (select id from fairmill.credit_entry where id > $1 order by id limit $2) part",
  },
  account: {
    table: "account",
    key: "text",
    boundary:
      "select max(name) as until from (select name from fairmill.account where name > $1 order by name limit $2) part",
  },
  keyStarts: {
    table: "meter",
    key: "text",
    boundary: `select max(name) as until from (
      select name from fairmill.meter where use = 'start' and scope = 'key' and name > $1 order by name limit $2) part`,
  },
  keyEnqueues: {
    table: "meter",
    key: "text",
    boundary: `select max(name) as until from (
      select name from fairmill.meter where use = 'enqueue' and scope = 'key' and name > $1 order by name limit $2) part`,
  },
  once: {
    table: "limit_setting",
    key: "number",
    boundary: "select null::text as until where $1::bigint < 0 and $2::integer < 0",
  },
} as const satisfies Record<string, Walk>;

export interface Invariant {
  /** As in docs/explanation/invariants.md. */
  readonly id: string;
  readonly sentence: string;
  readonly walk: keyof typeof WALKS;
  /**
   * The column `id` of the rows that break it, of those with a key behind $1 and up to $2. One statement, so it sees one snapshot. $2 is null for
   * a part that has no end.
   */
  readonly query: string;
  /** Holds while workers live; in a database that stands still nothing keeps it. */
  readonly needsUpkeep?: true;
}

/** Lies before every key. */
export const FIRST = { number: "-9223372036854775808", text: "" } as const;
