// Of the tables: what vacuum leaves behind, partitions of the history, rights.
import { qualify } from "../db/schema-name.js";
import type { Check } from "./finding.js";

/** Partitions come and go, and belong to the history. */
const OURS = "c.relnamespace = 'fairmill'::regnamespace";

const UNVACUUMED = `select c.oid::regclass::text as name from pg_class c
  where ${OURS} and c.relkind in ('r', 'p') and exists (select from unnest(c.reloptions) o where o ~* '^autovacuum_enabled=(off|false|no|0|f|n)') order by 1 limit 20`;

const DEAD = `select s.relid::regclass::text as name, s.n_dead_tup::float8 as dead, s.n_live_tup::float8 as live, s.last_autovacuum as vacuumed
  from pg_stat_user_tables s where s.schemaname = 'fairmill' and s.n_dead_tup > $1 and s.n_dead_tup > s.n_live_tup
  order by s.n_dead_tup desc limit 20`;

const OLD_ROWS = `select c.oid::regclass::text as name, age(c.relfrozenxid)::float8 as age from pg_class c
  where ${OURS} and c.relkind = 'r' and age(c.relfrozenxid) > 1500000000 order by 2 desc limit 20`;

/** Days without a partition: their rows fall into the rest partition. */
const MISSING = `select to_char(d.day, 'YYYY-MM-DD') as day
  from (select (now() at time zone 'UTC')::date + n as day from generate_series(0, 1) n) d
  where not exists (select from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'fairmill.job_history'::regclass and c.relname = 'job_history_' || to_char(d.day, 'YYYYMMDD'))`;

const REST = "select count(*)::integer as rows from (select from fairmill.job_history_rest limit 10000) counted";

/** What every role may do in the schema, and what the roles of Supabase's public API may. */
const OPEN = `select x.what, x.name, x.grantee from (
  select 'schema' as what, quote_ident(n.nspname) as name, a.grantee from pg_namespace n cross join lateral aclexplode(n.nspacl) a where n.oid = 'fairmill'::regnamespace
  union select case c.relkind when 'S' then 'sequence' else 'table' end, c.oid::regclass::text, a.grantee
  from pg_class c cross join lateral aclexplode(c.relacl) a where ${OURS} and c.relkind in ('r', 'p', 'v', 'm', 'S')
  union select 'function', p.oid::regprocedure::text, a.grantee
  from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where p.pronamespace = 'fairmill'::regnamespace) g
  cross join lateral (select g.what, g.name, case when g.grantee = 0 then 'public' else g.grantee::regrole::text end as grantee) x
  where x.grantee in ('public', 'anon', 'authenticated') order by 1, 2 limit 20`;

/** What a worker has to be able to do. */
const LACKING = `select 'usage on schema fairmill' as what where not has_schema_privilege('fairmill', 'usage')
  union all
  select 'execute on function ' || p.oid::regprocedure::text from pg_proc p
  where p.pronamespace = 'fairmill'::regnamespace and p.proname in ('claim_lanes_v1', 'settle_v1', 'tick_upkeep_v1', 'heartbeat_v1')
    and not has_function_privilege(p.oid, 'execute')
  union all
  select 'select on table ' || c.oid::regclass::text from pg_class c where ${OURS} and c.relname in ('job', 'job_history', 'worker')
    and not has_table_privilege(c.oid, 'select') limit 20`;

export const TABLE_CHECKS: readonly Check[] = [
  {
    name: "table-autovacuum",
    needsSchema: true,
    look: async ({ ask }) =>
      (await ask<{ name: string }>(UNVACUUMED)).map(({ name }) => ({
        level: "error",
        what: `Autovacuum is switched off for ${name}.`,
        why: "Nothing removes the dead versions of its rows: every claim reads more of them.",
        fix: `alter table ${name} reset (autovacuum_enabled);`,
      })),
  },
  {
    name: "dead-tuples",
    needsSchema: true,
    look: async ({ ask, limits }) =>
      (
        await ask<{ name: string; dead: number; live: number; vacuumed: Date | null }>(DEAD, [limits.deadTuplesMax])
      ).map(({ name, dead, live, vacuumed }) => ({
        level: "warning",
        what: `${name} has ${dead} dead rows beside ${live} live ones; autovacuum was there ${vacuumed ? vacuumed.toISOString() : "never"}.`,
        why: "Claims and settles read past them. A long transaction may keep vacuum from removing any.",
        fix: `vacuum (analyze) ${name};`,
      })),
  },
  {
    name: "wraparound",
    needsSchema: true,
    look: async ({ ask }) =>
      (await ask<{ name: string; age: number }>(OLD_ROWS)).map(({ name, age }) => ({
        level: "error",
        what: `The oldest rows of ${name} are ${age} transactions old.`,
        why: "At two thousand million PostgreSQL stops taking writes.",
        fix: `vacuum (freeze) ${name};`,
      })),
  },
  {
    name: "partitions",
    needsSchema: true,
    look: async ({ ask, db }) => {
      const missing = await ask<{ day: string }>(MISSING);
      const [rest] = await ask<{ rows: number }>(REST);
      const fix = qualify("select fairmill.history_partitions_v1();", db.schema);
      const why =
        "Ended jobs fall into the rest partition, whose rows are removed one by one: upkeep does not run, or it fails.";
      if (missing.length > 0)
        return [
          {
            level: "warning",
            what: `The history has no partition for ${missing.map(({ day }) => day).join(" and ")}.`,
            why,
            fix,
          },
        ];
      if (rest!.rows === 0) return [];
      const count = rest!.rows >= 10_000 ? "at least 10000" : rest!.rows;
      return [{ level: "note", what: `The rest partition of the history has ${count} rows.`, why, fix }];
    },
  },
  {
    name: "grants",
    needsSchema: true,
    look: async ({ ask }) =>
      (await ask<{ what: string; name: string; grantee: string }>(OPEN)).map(({ what, name, grantee }) => ({
        level: "error",
        what: `${grantee === "public" ? "Everybody" : `The role ${grantee}`} has rights on the ${what} ${name}.`,
        why: "Payloads and credits of all tenants can be read or changed with any login.",
        fix: `revoke all on ${what} ${name} from ${grantee};`,
      })),
  },
  {
    name: "rights",
    look: async ({ ask, db }) =>
      (await ask<{ what: string }>(qualify(LACKING, db.schema))).map(({ what }) => ({
        level: "error",
        what: `This role lacks ${qualify(what, db.schema)}.`,
        why: "A worker that connects as it cannot work.",
        fix: `grant ${qualify(what, db.schema)} to current_user; as the owner of the schema.`,
      })),
    needsSchema: true,
  },
];
