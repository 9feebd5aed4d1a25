// Of other sessions: what pins the vacuum horizon, and who keeps notifications from being removed.
import type { Check } from "./finding.js";

const spanOf = (seconds: number) =>
  seconds >= 120 ? `${Math.floor(seconds / 60)} minutes` : `${Math.floor(seconds)} seconds`;

const LONG = `select a.pid, coalesce(nullif(a.application_name, ''), a.usename::text, '?') as name, a.state,
    extract(epoch from now() - a.xact_start)::float8 as seconds
  from pg_stat_activity a
  where a.xact_start < now() - $1 * interval '1 millisecond' and a.pid <> pg_backend_pid() and a.backend_type = 'client backend'
    and a.datname = current_database() and (a.backend_xmin is not null or a.backend_xid is not null or a.state like 'idle in transaction%')
  order by a.xact_start limit 10`;

const PREPARED = `select p.gid, extract(epoch from now() - p.prepared)::float8 as seconds from pg_prepared_xacts p
  where p.prepared < now() - $1 * interval '1 millisecond' and p.database = current_database() order by p.prepared limit 10`;

const SLOTS = `select s.slot_name::text as name, pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)) as kept from pg_replication_slots s
  where not s.active and not pg_is_in_recovery() and (s.xmin is not null or s.catalog_xmin is not null or s.restart_lsn is not null) order by 1 limit 10`;

export const SESSION_CHECKS: readonly Check[] = [
  {
    name: "long-transactions",
    look: async ({ ask, limits }) => [
      ...(
        await ask<{ pid: number; name: string; state: string; seconds: number }>(LONG, [limits.transactionMsMax])
      ).map(({ pid, name, state, seconds }) => ({
        level: "warning" as const,
        what: `Session ${pid} (${name}, ${state}) has had a transaction open for ${spanOf(seconds)}.`,
        why: "Vacuum removes nothing that has died since: claims get slower the longer it lasts.",
        fix: `select pg_terminate_backend(${pid}); and for the next one: alter role … set idle_in_transaction_session_timeout = '5min';`,
      })),
      ...(await ask<{ gid: string; seconds: number }>(PREPARED, [limits.transactionMsMax])).map(({ gid, seconds }) => ({
        level: "warning" as const,
        what: `The prepared transaction ${JSON.stringify(gid)} is ${spanOf(seconds)} old.`,
        why: "It holds its locks and the vacuum horizon until it is ended, also over restarts.",
        fix: `rollback prepared '${gid.replaceAll("'", "''")}'; or commit it.`,
      })),
    ],
  },
  {
    name: "replication-slots",
    look: async ({ ask }) =>
      (await ask<{ name: string; kept: string | null }>(SLOTS)).map(({ name, kept }) => ({
        level: "warning",
        what: `The replication slot ${JSON.stringify(name)} has no reader${kept ? ` and keeps ${kept} of log` : ""}.`,
        why: "It pins the vacuum horizon or the log, until the disk is full.",
        fix: `select pg_drop_replication_slot('${name.replaceAll("'", "''")}'); or start its reader.`,
      })),
  },
  {
    name: "notifications",
    look: async ({ ask }) => {
      const [queue] = await ask<{ usage: number }>("select pg_notification_queue_usage()::float8 as usage");
      if (queue!.usage < 0.25) return [];
      return [
        {
          level: queue!.usage > 0.75 ? "error" : "warning",
          what: `The queue of notifications is ${Math.round(queue!.usage * 100)} % full.`,
          why: "When it is full, every enqueue that notifies fails. A session that listens and has a transaction open keeps it from shrinking.",
          fix: "End the oldest transaction of a session that listens: select pid, xact_start from pg_stat_activity where xact_start is not null order by xact_start;",
        },
      ];
    },
  },
];
