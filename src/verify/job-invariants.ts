// Invariants of jobs, live and ended: D1 to D8, slots, caps, rates, signals, leases.
import type { Invariant } from "./invariant.js";

const SINCE_RULE = `coalesce((select max(t.reported_at) from fairmill.key_limit_report t where t.kind = r.kind), '-infinity')`;

const FAILURES_ONCE = `cross join lateral (
    select count(*) as failures, count(distinct f -> 'lease_no') as leases from jsonb_array_elements(coalesce(j.failures, '[]')) f) c
  where c.failures <> c.leases`;

/** Starts that a meter has on record, against the rate that they had to obey: none but those of a period that lies behind the last change. */
const tooManyStarts = (since: string) => `exists (
    select from unnest(m.spent_at) as last (at)
    where last.at - rate.per > ${since}
      and (select sum(s.starts) from unnest(m.spent_at, m.spent) as s (at, starts) where s.at > last.at - rate.per and s.at <= last.at) > rate.most)`;

export const JOB_INVARIANTS: readonly Invariant[] = [
  {
    id: "D1",
    sentence: "a job is live or ended, never both",
    walk: "history",
    query: `select h.id from fairmill.job_history h join fairmill.job j on j.id = h.id
      where h.id > $1 and ($2::bigint is null or h.id <= $2)`,
  },
  {
    id: "D2",
    sentence: "a job has one end",
    walk: "history",
    query: `select h.id from fairmill.job_history h
      where h.id > $1 and ($2::bigint is null or h.id <= $2) group by h.id having count(*) > 1`,
  },
  {
    id: "D3",
    sentence: "a running job has a worker, others have none",
    walk: "job",
    query: `select j.id from fairmill.job j
      where j.id > $1 and ($2::bigint is null or j.id <= $2) and (j.state = 'running') <> (j.worker is not null)`,
  },
  {
    id: "D3",
    sentence: "a running job is in a claim list of its worker",
    walk: "job",
    query: `select j.id from fairmill.job j
      where j.id > $1 and ($2::bigint is null or j.id <= $2) and j.state = 'running'
        and not exists (select from fairmill.claim_list h where h.worker = j.worker and j.id = any (h.ids))`,
  },
  {
    id: "D4",
    sentence: "attempts of a live job stay within the allowance",
    walk: "job",
    query: `select j.id from fairmill.job j
      where j.id > $1 and ($2::bigint is null or j.id <= $2) and j.attempt - j.crashes > j.max_attempts`,
  },
  {
    id: "D4",
    sentence: "attempts of an ended job stay within the allowance",
    walk: "history",
    query: `select h.id from fairmill.job_history h
      where h.id > $1 and ($2::bigint is null or h.id <= $2) and h.attempt - h.crashes > h.max_attempts`,
  },
  {
    id: "D5",
    sentence: "every failure of a live job names the lease it happened under, each lease once",
    walk: "job",
    query: `select j.id from (select id, failures from fairmill.job where id > $1 and ($2::bigint is null or id <= $2)) j ${FAILURES_ONCE}`,
  },
  {
    id: "D5",
    sentence: "every failure of an ended job names the lease it happened under, each lease once",
    walk: "history",
    query: `select j.id from (select id, failures from fairmill.job_history where id > $1 and ($2::bigint is null or id <= $2)) j ${FAILURES_ONCE}`,
  },
  {
    id: "D6",
    sentence: "a done job has no error",
    walk: "history",
    query: `select h.id from fairmill.job_history h
      where h.id > $1 and ($2::bigint is null or h.id <= $2) and h.state = 'done' and h.error is not null`,
  },
  {
    id: "D7",
    sentence: "a blocked job has another one in its way, or its key is marked to be looked at again",
    walk: "job",
    query: `select b.id from fairmill.job b left join fairmill.key_limit_in_force r on r.kind = b.kind
      where b.id > $1 and ($2::bigint is null or b.id <= $2) and b.state = 'blocked'
        and (select count(*) from fairmill.job h where h.limit_key = b.limit_key and h.slot is not null) < coalesce(r.max_running, 1)
        and not exists (select from fairmill.meter m where m.use = 'start' and m.scope = 'key' and m.name = b.limit_key and m.recheck)`,
  },
  {
    id: "D8",
    sentence:
      "a slot is held by a job that is ready or running, was rate-limited or replaced by a later one, or is of a kind that refuses",
    walk: "job",
    query: `select j.id from fairmill.job j
      where j.id > $1 and ($2::bigint is null or j.id <= $2) and j.slot is not null
        and not (j.state in ('ready', 'running') or j.state = 'scheduled'
          and (j.rate_limited is true or j.unique_key is not null or exists (select from fairmill.key_limit_in_force r where r.kind = j.kind and r.when_full = 'refuse')))`,
  },
  {
    id: "signal",
    sentence: "no job waits for a signal that is there",
    walk: "job",
    query: `select j.id from fairmill.job j join fairmill.step s on s.job_id = j.id and s.lease_no = j.lease_no
      where j.id > $1 and ($2::bigint is null or j.id <= $2) and j.state = 'scheduled'
        and s.kind = 'wait' and s.position is not null and s.signalled_at is not null and s.finished_at is null
        and j.run_at > now() + interval '2 seconds'`,
  },
  {
    id: "I5",
    sentence: "no job runs under a lease that has been over for more than a minute",
    walk: "job",
    needsUpkeep: true,
    query: `select j.id from fairmill.job j
      where j.id > $1 and ($2::bigint is null or j.id <= $2) and j.state = 'running' and j.started_at < now() - interval '1 minute'
        and not exists (select from fairmill.worker w where w.id = j.worker and w.state = 'alive' and w.lease_until > now() - interval '1 minute')`,
  },
  {
    // A rule that was lowered while more held slots lets none in: what came in since is a violation.
    id: "I6",
    sentence: "no more jobs of a key hold a slot than its rule allows",
    walk: "job",
    query: `select j.id from fairmill.job j join fairmill.key_limit_in_force r on r.kind = j.kind
      where j.id > $1 and ($2::bigint is null or j.id <= $2) and j.slot is not null
        and (select count(*) from fairmill.job h where h.limit_key = j.limit_key and h.slot is not null) > r.max_running
        and (select max(coalesce(h.started_at, h.created_at)) from fairmill.job h where h.limit_key = j.limit_key and h.slot is not null) > ${SINCE_RULE}`,
  },
  {
    // The same of caps: none starts until enough have ended.
    id: "I6",
    sentence: "no more jobs of a tenant, queue or kind run than its cap allows",
    walk: "once",
    query: `select g.scope || ' ' || g.name as id
      from fairmill.limit_setting g join fairmill.meter m on m.use = 'start' and m.scope = g.scope and m.name = g.name
      cross join lateral (
        select count(*) as count, max(j.started_at) as last from fairmill.job j
        where j.id = any (m.running_ids) and j.state = 'running'
          and case g.scope when 'tenant' then j.tenant when 'queue' then j.queue else j.kind end = g.name) running
      where $1::bigint is not null and $2::bigint is null and running.count > g.max_running and running.last > g.changed_at`,
  },
  {
    id: "I7",
    sentence: "no period of a tenant's, queue's or kind's rate holds more than it allows",
    walk: "once",
    query: `select g.scope || ' ' || g.name as id
      from fairmill.limit_setting g join fairmill.meter m on m.use = g.rate_at and m.scope = g.scope and m.name = g.name
      cross join lateral (select g.rate_per_ms * interval '1 millisecond' as per, g.rate_limit as most) rate
      where $1::bigint is not null and $2::bigint is null and g.rate_how = 'window' and ${tooManyStarts("g.changed_at")}`,
  },
  {
    id: "I7",
    sentence: "no period of a named limit's window holds more units than it allows",
    walk: "once",
    query: `select m.name as id from fairmill.meter m
      cross join lateral (select x.windows, x.reported_at from fairmill.named_limit x where x.name = m.name::jsonb ->> 0
        order by x.reported_at desc, x.id desc limit 1) l
      cross join lateral jsonb_array_elements(l.windows) as w (own)
      cross join lateral (select (w.own -> 'per_ms')::bigint * interval '1 millisecond' as per, (w.own -> 'limit')::integer as most) rate
      where $1::bigint is not null and $2::bigint is null and m.use = 'start' and m.scope = 'limit'
        and w.own -> 'unit' = m.name::jsonb -> 2 and w.own -> 'n' = m.name::jsonb -> 3 and ${tooManyStarts("l.reported_at")}`,
  },
  ...(["start", "enqueue"] as const).map(
    (use): Invariant => ({
      id: "I7",
      sentence: `no period of the rate of a key holds more than it allows, at ${use}`,
      walk: use === "start" ? "keyStarts" : "keyEnqueues",
      query: `select m.name as id from fairmill.meter m join fairmill.key_limit_in_force r on r.kind = m.name::jsonb ->> 0 and r.rate_at = '${use}'
        cross join lateral (select r.rate_per_ms * interval '1 millisecond' as per, r.rate_limit as most) rate
        where m.use = '${use}' and m.scope = 'key' and m.name > $1 and ($2::text is null or m.name <= $2) and r.rate_how = 'window'
          and ${tooManyStarts(SINCE_RULE)}`,
    }),
  ),
];
