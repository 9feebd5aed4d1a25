// What is really in the schema, as the catalog of PostgreSQL says: one definition per object, to compare with what a migration left.
// Left out is what changes by itself or is the operator's to change: daily partitions, storage parameters, rights, owners, comments.
import type { Queryable } from "../database.js";

/** "index job_lane" → its definition; of a function a hash, because its text is in the package. */
export type Objects = Readonly<Record<string, string>>;

/**
 * One row per object. Names come out qualified or not by the search path of the session: the caller pins it first (PIN_PATH).
 * Reads the catalog only and takes no lock that waits.
 */
export const SNAPSHOT = `with relation as (
  select c.oid, c.relname::text as name, c.relkind::text as kind from pg_class c
  where c.relnamespace = to_regnamespace('fairmill') and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and (not c.relispartition or pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT'))
select 'table ' || r.name as object, concat_ws(' ', r.kind, pg_get_partkeydef(r.oid)) as definition from relation r
union all
select 'column ' || r.name || '.' || a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod),
    (select 'collate ' || l.collname from pg_collation l where l.oid = a.attcollation and l.collname <> 'default'),
    case when a.attnotnull then 'not null' end, case when a.attidentity <> '' then 'identity ' || a.attidentity::text end,
    (select 'default ' || pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d where d.adrelid = a.attrelid and d.adnum = a.attnum))
from relation r join pg_attribute a on a.attrelid = r.oid where a.attnum > 0 and not a.attisdropped
union all
select 'index ' || c.relname, regexp_replace(pg_get_indexdef(i.indexrelid), ' WITH \\([^)]*\\)', '') || case when i.indisvalid then '' else ' (invalid)' end
from relation r join pg_index i on i.indrelid = r.oid join pg_class c on c.oid = i.indexrelid
union all
select 'constraint ' || r.name || '.' || o.conname, pg_get_constraintdef(o.oid)
from relation r join pg_constraint o on o.conrelid = r.oid where o.contype in ('c', 'p', 'u', 'f', 'x')
union all
select 'trigger ' || r.name || '.' || t.tgname, pg_get_triggerdef(t.oid) || case when t.tgenabled = 'D' then ' (disabled)' else '' end
from relation r join pg_trigger t on t.tgrelid = r.oid where not t.tgisinternal
union all
select 'domain ' || t.typname, concat_ws(' ', format_type(t.typbasetype, t.typtypmod),
    (select string_agg(pg_get_constraintdef(o.oid), ' ' order by o.conname) from pg_constraint o where o.contypid = t.oid and o.contype = 'c'))
from pg_type t where t.typnamespace = to_regnamespace('fairmill') and t.typtype = 'd'
union all
select 'function ' || p.proname || '(' || oidvectortypes(p.proargtypes) || ')', md5(concat_ws(' ', p.prokind, pg_get_function_arguments(p.oid),
    pg_get_function_result(p.oid), l.lanname, p.provolatile, p.proisstrict, p.prosecdef, p.proparallel, p.proconfig, p.prosrc, pg_get_function_sqlbody(p.oid)))
from pg_proc p join pg_language l on l.oid = p.prolang
where p.pronamespace = to_regnamespace('fairmill')`;

export const PIN_PATH = "set local search_path = pg_catalog, pg_temp";

export async function readObjects(tx: Queryable): Promise<Objects> {
  await tx.query(PIN_PATH);
  const { rows } = await tx.query(SNAPSHOT);
  return Object.fromEntries(
    (rows as { object: string; definition: string }[]).map((row) => [row.object, row.definition]),
  );
}

/** "14" to "18": definitions are spelled by the server, and another major version may spell them otherwise. */
export async function serverMajor(tx: Queryable): Promise<number> {
  const { rows } = await tx.query("select current_setting('server_version_num')::integer / 10000 as major");
  return (rows[0] as { major: number }).major;
}

export const isFunction = (object: string): boolean => object.startsWith("function ");

/** "claim_v1" of "function claim_v1(text, integer)". */
export const functionName = (object: string): string => /^function (.+?)\(/.exec(object)![1]!;

export interface Difference {
  readonly object: string;
  /** Undefined: it is missing now. */
  readonly now: string | undefined;
  readonly was: string;
}

/** What is missing or differs of what is expected. What is there besides is not looked at: it is the operator's own. */
export function differences(expected: Objects, now: Objects): Difference[] {
  return Object.entries(expected)
    .filter(([object, was]) => now[object] !== was)
    .map(([object, was]) => ({ object, was, now: now[object] }));
}
