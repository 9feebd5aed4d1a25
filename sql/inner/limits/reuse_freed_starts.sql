-- Jobs that the rate of their key had put back have ended without a start: the moments they had go to those that wait
-- behind them. Part of end_jobs.
--   keys, moments  of the jobs that ended, beside each other
-- Those who would wait longest take the earliest moments, for as long as these are earlier than their own: one write
-- for each moment that became free, however many wait, no moment is left unused, and nobody is put off. Moments are
-- hints, in no promised order: see rates_of_keys.
-- Workers know of these moments already, and sleep no longer than until the first; they are told of those that are
-- over.
-- Locks: 19 waiting job.
-- Plan expected: per key a backward range of job_rate_limited, as long as there are moments; then the rows by their
-- ctid (Tid Scan).
create or replace function fairmill.reuse_freed_starts(keys text[], moments timestamptz[])
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ctids tid[];
  v_due    timestamptz[];
begin
  select array_agg(pair.tid), array_agg(pair.due_at) into v_ctids, v_due
  from (select u.key, array_agg(u.moment order by u.moment) as moments, count(*) as count, min(u.moment) as first
        from unnest(keys, moments) as u (key, moment) group by u.key) free
  cross join lateral (
    select array_agg(w.ctid order by w.run_at desc) as tids, array_agg(w.run_at order by w.run_at desc) as run_ats
    from (select x.ctid, x.run_at from fairmill.job x
          where x.limit_key = free.key and x.aside = 'scheduled' and x.rate_limited and x.run_at > free.first
          order by x.limit_key desc, x.run_at desc limit free.count for update skip locked) w) waiting
  cross join lateral unnest(free.moments, waiting.tids, waiting.run_ats) as pair (due_at, tid, run_at)
  where pair.due_at < pair.run_at;
  if v_ctids is not null then
    update fairmill.job j set run_at = taken.due_at
    from unnest(v_ctids, v_due) as taken (tid, due_at)
    where j.ctid = taken.tid;
    if (select min(d.due_at) from unnest(v_due) as d (due_at)) <= clock_timestamp() then
      perform fairmill.wake_v1(null, 0);
    end if;
  end if;
end
$$;
