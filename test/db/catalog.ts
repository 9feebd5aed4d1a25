// What the catalog says of a schema, as plain values that can be compared. The daily partitions are left out: their names are dates.
import type { Asker } from "../support/sql/calls.js";

const QUESTIONS = {
  relations: `select c.relname as name, c.relkind, c.relpersistence, array_to_string(c.reloptions, ',') as options, c.relacl::text as rights,
      pg_get_partkeydef(c.oid) as partitioned, pg_get_expr(c.relpartbound, c.oid) as bound
    from mine c order by 1`,
  columns: `select c.relname || '.' || a.attname as name, a.attnum, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull, a.attidentity,
      (select l.collname from pg_collation l where l.oid = a.attcollation) as collation, pg_get_expr(d.adbin, d.adrelid) as default
    from mine c join pg_attribute a on a.attrelid = c.oid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v') order by c.relname, a.attnum`,
  indexes: `select pg_get_indexdef(c.oid) as definition from mine c where c.relkind in ('i', 'I') order by 1`,
  constraints: `select c.relname || ': ' || o.conname as name, pg_get_constraintdef(o.oid) as definition
    from mine c join pg_constraint o on o.conrelid = c.oid order by 1, 2`,
  functions: `select p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as definition, p.proacl::text as rights
    from pg_proc p where p.pronamespace = $1::regnamespace order by 1`,
  schema: "select n.nspacl::text as rights from pg_namespace n where n.oid = $1::regnamespace",
} as const;

export type Catalog = Record<keyof typeof QUESTIONS, unknown[]>;

export async function readCatalog(ask: Asker, schema = "fairmill"): Promise<Catalog> {
  const mine = `with mine as (select * from pg_class where relnamespace = $1::regnamespace and relname !~ '^job_history_\\d{8}')`;
  const answers: [string, unknown[]][] = [];
  for (const [what, question] of Object.entries(QUESTIONS))
    answers.push([what, await ask.query(`${question.includes("mine") ? mine : ""} ${question}`, [schema])]);
  return Object.fromEntries(answers) as Catalog;
}

/** When every object of the schema was last changed: the transactions that wrote its rows in the catalog. */
export const readVersions = (ask: Asker, schema = "fairmill"): Promise<unknown[]> =>
  ask.query(
    `select 'class ' || relname as name, xmin::text from pg_class where relnamespace = $1::regnamespace
     union all select 'function ' || proname, xmin::text from pg_proc where pronamespace = $1::regnamespace
     union all select 'schema', xmin::text from pg_namespace where oid = $1::regnamespace
     union all select name, xmin::text from ${schema}.migration order by 1`,
    [schema],
  );
