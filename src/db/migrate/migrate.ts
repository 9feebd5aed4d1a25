// Brings the schema up to date. Migrations are numbered, forward only, applied once and guarded by a checksum; functions are left exactly
// as the package brings them. Everything happens in one transaction under one lock, so two processes may migrate at once.
//
//  1. Look: what the ledger says, what the catalog says, and whether this package may migrate at all.
//  2. Migrations: lock every table first, then apply them in order.
//  3. Functions: create all, drop what is left of others.
//  4. Take down what is there now, so that the next look can tell what was changed by others.
import { type Clock, systemClock } from "../../base/clock.js";
import type { Database, Queryable } from "../database.js";
import { checkSchemaName, qualify } from "../schema-name.js";
import { functionName, isFunction, type Objects, PIN_PATH, readObjects, SNAPSHOT } from "./catalog.js";
import { functionSettings } from "./function-settings.js";
import { LIMIT_WAITS, lockTables, type MigrationWait, repeatWhileBusy } from "./migration-locks.js";
import { look, namesOf, type Plan } from "./migration-plan.js";
import { readFunctions, replaceFunctions } from "./replace-functions.js";
import { functionsIn, MIGRATIONS, type Piece, readShipped, type Shipped } from "./shipped.js";

export type { MigrationWait };

export interface MigrateOptions {
  /** Called each time that the tables could not be had, before the next attempt. */
  readonly onWait?: (wait: MigrationWait) => void;
}

/** What tests put in place of the package's own. */
interface Surroundings {
  readonly shipped?: Shipped;
  readonly clock?: Clock;
  readonly waitMsMax?: number;
}

/** The level whatever the role's default is: what is read after a lock must be what was committed before it. */
const BEGIN = `set transaction isolation level read committed;
set local lock_timeout = 0;
set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
${PIN_PATH}`;

/** Bodies are not checked while they are created: functions call each other, whatever order the files have. */
const LEDGER = `set local check_function_bodies = off;
create schema if not exists fairmill;
revoke all on schema fairmill from public;
create table if not exists fairmill.migration (
  name text primary key, checksum text not null, applied_at timestamptz not null default now());
create table if not exists fairmill.schema_state (
  only_row       boolean primary key default true constraint schema_state_is_one check (only_row),
  version        text        not null,  -- of the package that migrated last
  generation     integer     not null,
  libraries_from integer     not null,  -- libraries of an older generation do not work with this schema
  shipped        text        not null,  -- a digest of that package's SQL
  server_major   integer     not null,  -- of PostgreSQL, when objects was taken down
  objects        jsonb,                 -- what the migration left, by the catalog; null: whatever is there is right
  migrated_at    timestamptz not null default now());`;

/** Nobody but the owner may do anything: not even call a function. Rights are granted on purpose, never by default. */
const CLOSE = `do $$
declare
  v_open text;
begin
  for v_open in
    select 'routine ' || p.oid::regprocedure from pg_proc p
    where p.pronamespace = 'fairmill'::regnamespace and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
    union all
    select case c.relkind when 'S' then 'sequence ' else 'table ' end || c.oid::regclass from pg_class c
    where c.relnamespace = 'fairmill'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and exists (select from aclexplode(c.relacl) a where a.grantee = 0)
  loop
    execute 'revoke all on ' || v_open || ' from public';
  end loop;
end
$$;
create or replace trigger migration_guard before insert on fairmill.migration for each row execute function fairmill.guard_ledger();
select fairmill.history_partitions_v1();`;

/** What must still be applied or put right; empty when the schema is up to date. Changes nothing. */
export async function pendingMigrations(db: Database, { shipped }: Surroundings = {}): Promise<string[]> {
  const mine = shipped ?? (await readShipped());
  return namesOf(await db.transaction((tx) => look(tx, mine, db.schema)));
}

/** Applies what is missing, puts right what was changed, and returns the names of it. Safe to run twice, and by two processes at once. */
export async function migrate(db: Database, options: MigrateOptions & Surroundings = {}): Promise<string[]> {
  const { onWait, waitMsMax, clock = systemClock } = options;
  const shipped = options.shipped ?? (await readShipped());
  if ((await pendingMigrations(db, { shipped })).length === 0) return [];
  // Patient: an index of a large table takes its time, and so does another process that migrates.
  const run = (isLong: boolean) =>
    db.transaction((tx) => apply(tx, shipped, db.schema, isLong), { waitsForLocks: true });
  return repeatWhileBusy(db, { clock, onWait, waitMsMax }, run);
}

async function apply(tx: Queryable, shipped: Shipped, schema: string, isLong: boolean): Promise<string[]> {
  await tx.query(BEGIN);
  await tx.query("select pg_advisory_xact_lock(hashtext('fairmill.migrate'))");
  // Asked again under the lock: another process may have been here in the meantime.
  const plan = await look(tx, shipped, schema);
  const pending = namesOf(plan);
  if (pending.length === 0) return [];
  const atFirst = await readFunctions(tx);
  await tx.query(LIMIT_WAITS);
  if (plan.migrations.length > 0) await lockTables(tx, isLong);
  await tx.query(LEDGER);
  await tx.query(`set local fairmill.generation = '${shipped.generation}'`);
  for (const { text } of plan.migrations) await tx.query(text);
  // A migration may have said otherwise for itself.
  await tx.query(LIMIT_WAITS);
  const { ours, expected } = plan;
  const dropped = await replaceFunctions(tx, shipped, { atFirst, ours, expected });
  await enter(tx, [...plan.migrations, ...plan.functions], shipped);
  await tx.query(CLOSE);
  await storeState(tx, shipped, leftBy(plan, await readObjects(tx), shipped));
  return [...new Set([...pending, ...dropped.map((object) => `drop ${object}`)])];
}

const ENTER = `insert into fairmill.migration (name, checksum) select * from unnest($1::text[], $2::text[])
on conflict (name) do update set checksum = excluded.checksum, applied_at = now()`;

/** The ledger says what is there: functions that are gone leave it. */
async function enter(tx: Queryable, applied: readonly Piece[], { functions }: Shipped): Promise<void> {
  await tx.query(ENTER, [applied.map(({ name }) => name), applied.map(({ checksum }) => checksum)]);
  await tx.query(`delete from fairmill.migration where name not like '${MIGRATIONS}%' and name <> all($1::text[])`, [
    functions.map(({ name }) => name),
  ]);
}

/** Of what is there now, what is ours: expected before, or made by this migration. An index of the operator's is not. */
function leftBy(plan: Plan, now: Objects, shipped: Shipped): Objects {
  const functions = functionsIn([...shipped.migrations, ...shipped.functions]);
  const isOurs = (object: string) => {
    if (isFunction(object)) return functions.has(functionName(object));
    return plan.expected === undefined || object in plan.expected || plan.now[object] !== now[object];
  };
  return Object.fromEntries(Object.entries(now).filter(([object]) => isOurs(object)));
}

const STORE = `insert into fairmill.schema_state (version, generation, libraries_from, shipped, server_major, objects)
values ($1, $2, $3, $4, current_setting('server_version_num')::integer / 10000, $5)
on conflict (only_row) do update set version = excluded.version, generation = excluded.generation, libraries_from = excluded.libraries_from,
  shipped = excluded.shipped, server_major = excluded.server_major, objects = excluded.objects, migrated_at = now()`;

async function storeState(tx: Queryable, shipped: Shipped, objects: Objects): Promise<void> {
  const { version, generation, librariesFrom, digest } = shipped;
  await tx.query(STORE, [version, generation, librariesFrom, digest, JSON.stringify(objects)]);
}

/** The whole schema as one SQL script, for those who review it or apply it to an empty database by hand. */
export async function printMigrations(schema: string): Promise<string> {
  // The name becomes part of a script that somebody runs: it must be a name and nothing else.
  checkSchemaName(schema);
  const { version, generation, librariesFrom, digest, migrations, functions } = await readShipped();
  const parts = [...migrations, ...functions].map(
    ({ name, text, checksum }) =>
      `-- ${name}\n${text}\ninsert into fairmill.migration (name, checksum) values ('${name}', '${checksum}')\non conflict (name) do update set checksum = excluded.checksum, applied_at = now();\n`,
  );
  const state = `insert into fairmill.schema_state (version, generation, libraries_from, shipped, server_major, objects)
select '${version}', ${generation}, ${librariesFrom}, '${digest}', current_setting('server_version_num')::integer / 10000, jsonb_object_agg(s.object, s.definition)
from (${SNAPSHOT}) s;`;
  const script = [
    "begin;",
    `${PIN_PATH};`,
    LEDGER,
    ...parts,
    `${functionSettings(functionsIn(functions))};`,
    CLOSE,
    state,
    "commit;\n",
  ];
  return qualify(script.join("\n"), schema);
}
