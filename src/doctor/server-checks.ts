// Of the server and its settings: version, encoding, durability, vacuum, time limits, connections.
import type { Check, Found } from "./finding.js";

const MAJOR_MIN = 14;

interface Settings {
  readonly major: number;
  readonly encoding: string;
  readonly database: string;
  readonly fsync: string;
  readonly synchronous_commit: string;
  readonly autovacuum: string;
  readonly track_counts: string;
  readonly statement_ms: number;
  readonly idle_ms: number;
}

const SETTINGS = `select current_setting('server_version_num')::integer / 10000 as major, current_setting('server_encoding') as encoding,
  quote_ident(current_database()) as database, current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
  current_setting('autovacuum') as autovacuum, current_setting('track_counts') as track_counts,
  (select s.reset_val::integer from pg_settings s where s.name = 'statement_timeout') as statement_ms,
  (select s.reset_val::integer from pg_settings s where s.name = 'idle_in_transaction_session_timeout') as idle_ms`;

const setting = (name: string, look: (settings: Settings) => Found | undefined): Check => ({
  name,
  look: async ({ ask }) => {
    const [settings] = await ask<Settings>(SETTINGS);
    const found = look(settings!);
    return found ? [found] : [];
  },
});

export const SERVER_CHECKS: readonly Check[] = [
  setting("version", ({ major }) =>
    major >= MAJOR_MIN
      ? undefined
      : {
          level: "error",
          what: `The server is PostgreSQL ${major}.`,
          why: `Fairmill needs ${MAJOR_MIN} or newer.`,
          fix: "Upgrade PostgreSQL.",
        },
  ),
  setting("encoding", ({ encoding, database }) =>
    encoding === "UTF8"
      ? undefined
      : {
          level: "error",
          what: `The database ${database} has the encoding ${encoding}, not UTF8.`,
          why: "Names and payloads with other characters are refused or kept as bytes that no other client reads alike.",
          fix: `create database new_${database.replaceAll('"', "")} encoding 'UTF8' template template0; then move the data with pg_dump and pg_restore.`,
        },
  ),
  setting("durability", ({ fsync, synchronous_commit, database }) => {
    if (fsync === "off")
      return {
        level: "error",
        what: "fsync is off.",
        why: "A crash of the machine may lose or spoil the whole cluster.",
        fix: "alter system set fsync = on; select pg_reload_conf();",
      };
    if (synchronous_commit !== "off") return undefined;
    return {
      level: "error",
      what: "synchronous_commit is off.",
      why: "A job that enqueue has acknowledged may be lost in a crash of PostgreSQL, and a settle may be undone: the job runs again.",
      fix: `alter database ${database} set synchronous_commit = on; (where the server says so: alter system set synchronous_commit = on; select pg_reload_conf();)`,
    };
  }),
  setting("autovacuum", ({ autovacuum, track_counts }) => {
    if (autovacuum === "on" && track_counts === "on") return undefined;
    const name = autovacuum === "on" ? "track_counts" : "autovacuum";
    return {
      level: "error",
      what: `${name} is off.`,
      why: "Nothing removes the dead versions of rows: every claim reads more of them, and the tables grow for ever.",
      fix: `alter system set ${name} = on; select pg_reload_conf();`,
    };
  }),
  setting("time-limits", ({ statement_ms, idle_ms, database }) => {
    const [name, ms] = statement_ms > 0 && statement_ms < 5_000 ? ["statement_timeout", statement_ms] : ["", 0];
    const [idle, idleMs] = idle_ms > 0 && idle_ms < 5_000 ? ["idle_in_transaction_session_timeout", idle_ms] : ["", 0];
    const which = name || idle;
    if (which === "") return undefined;
    return {
      level: "warning",
      what: `${which} is ${ms || idleMs} ms for this role.`,
      why: "Upkeep, migrations and large enqueues may take longer: they are cancelled, and repeated until they fit.",
      fix: `alter role current_user in database ${database} set ${which} = '60s';`,
    };
  }),
  {
    name: "connections",
    look: async ({ ask, limits, db }) => {
      const [room] = await ask<Room>(ROOM);
      const { used, most, named, needed } = room!;
      if (most === 0 || used <= most * limits.connectionsShareMax) return [];
      return [
        {
          level: used >= most * 0.95 ? "error" : "warning",
          what: `${used} of ${most} connections (${named}) are taken; the workers of schema "${db.schema}" need about ${needed}.`,
          why: "When the last one is taken, workers cannot reconnect, and heartbeats that fail cost leases.",
          fix: "Raise max_connections (or the limit that is named), lower connectionsMax of clients, or put a pooler in between and set DATABASE_DIRECT_URL for LISTEN.",
        },
      ];
    },
    needsSchema: true,
  },
];

interface Room {
  readonly used: number;
  readonly most: number;
  readonly named: string;
  readonly needed: number;
}

/** Of the server, the database and the role the one with the least room. A worker: four, one a queue, one for heartbeats, one that listens. */
const ROOM = `with room (named, most, used) as (
  select 'max_connections', current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
    (select count(*)::integer from pg_stat_activity where backend_type = 'client backend')
  union all
  select 'connection limit of the database', d.datconnlimit,
    (select count(*)::integer from pg_stat_activity a where a.datid = d.oid and a.backend_type = 'client backend')
  from pg_database d where d.datname = current_database() and d.datconnlimit >= 0
  union all
  select 'connection limit of the role', r.rolconnlimit,
    (select count(*)::integer from pg_stat_activity a where a.usesysid = r.oid and a.backend_type = 'client backend')
  from pg_roles r where r.rolname = current_user and r.rolconnlimit >= 0)
select r.*, (select coalesce(sum(6 + cardinality(w.queues)), 0)::integer from fairmill.worker w where w.state = 'alive') as needed
from room r where r.most > 0 order by r.used::float8 / r.most desc limit 1`;
