// The tables of a kit's schema, read from the catalog: emptied between tests, and moved in time. A new table of Fairmill is found by itself.
import type { Database } from "../db/database.js";

interface TimeColumn {
  readonly table: string;
  readonly column: string;
  readonly isList: boolean;
}

/** Facts about the schema itself, no traces of jobs. */
const OF_SCHEMA = ["migration", "schema_state"];
/**
 * What stays where it is when time passes: the history is divided by the day on which jobs ended, the ledger is only ever added to, and a
 * schedule's next tick is a time of the calendar.
 */
const NOT_MOVED = [...OF_SCHEMA, "job_history", "credit_entry", "schedule", "schedule_tick"];

const TABLES = `
  select c.relname::text as name from pg_class c
  where c.relnamespace = 'fairmill'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> all ($1::text[])
  order by 1`;
const TIMES = `
  select c.relname::text as table, a.attname::text as column, a.atttypid = 'timestamptz[]'::regtype as "isList"
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace = 'fairmill'::regnamespace and c.relkind = 'r' and not c.relispartition and c.relname <> all ($1::text[])
    and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.atttypid in ('timestamptz'::regtype, 'timestamptz[]'::regtype)
  order by 1, 2`;

const BY = "$1::float8 * interval '1 ms'";

export class SchemaTables {
  readonly #db: Database;
  /** Tables that a migration fills keep what is in them. */
  readonly #emptied: readonly string[];
  readonly #moves: readonly string[];

  private constructor(db: Database, emptied: readonly string[], moves: readonly string[]) {
    this.#db = db;
    this.#emptied = emptied;
    this.#moves = moves;
  }

  /** Of a schema that was migrated and not used yet. */
  static async read(db: Database): Promise<SchemaTables> {
    const tables = await db.query<{ name: string }>(TABLES, [OF_SCHEMA]);
    const empty: string[] = [];
    for (const { name } of tables) {
      const [row] = await db.query<{ filled: boolean }>(`select exists (select from fairmill.${name}) as filled`);
      if (!row?.filled) empty.push(name);
    }
    const times = await db.query<TimeColumn>(TIMES, [NOT_MOVED]);
    return new SchemaTables(db, empty, movesOf(times));
  }

  /** Ids go on, so that no job of a later test is taken for one of an earlier. */
  async empty(): Promise<void> {
    await this.#db.query(`truncate ${this.#emptied.map((name) => `fairmill.${name}`).join(", ")}`);
  }

  /** Moves all that is stored into the past, which is the same as time passing for the database's own clock. */
  async moveTime(ms: number): Promise<void> {
    await this.#db.transaction(async (tx) => {
      for (const statement of this.#moves) await tx.query(statement, [ms]);
    });
  }
}

/** A statement a table. */
function movesOf(columns: readonly TimeColumn[]): string[] {
  const sets = new Map<string, string[]>();
  for (const { table, column, isList } of columns)
    sets.set(table, [...(sets.get(table) ?? []), `${column} = ${isList ? movedList(column) : `${column} - ${BY}`}`]);
  return [...sets].map(([table, list]) => `update fairmill.${table} set ${list.join(", ")}`);
}

const movedList = (column: string) =>
  `case when ${column} = '{}' then ${column}
    else (select array_agg(t.at - ${BY} order by t.n) from unnest(${column}) with ordinality t (at, n)) end`;
