-- All upkeep in one bounded call: what workers do now and then, and what a database cron can do alone.
-- Result: what was done, and when the next thing falls due (a scheduled job, a lease that ends, a time to live): call again then.
create or replace function fairmill.tick_upkeep_v1(jobs_max integer default 1000, crashes_max integer default 3, history_keep interval default '30 days',
  out promoted integer, out expired integer, out recovered integer, out ended integer, out removed integer, out next_in_ms float8)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
begin
  promoted := fairmill.promote_v1(jobs_max);
  expired := fairmill.expire_v1(jobs_max);
  perform fairmill.recheck_keys_v1();
  perform fairmill.count_running_v1();
  select r.recovered, r.ended into recovered, ended from fairmill.recover_v1(jobs_max, crashes_max) r;
  removed := 0;
  -- Partitions and retention are one caller's work at a time.
  if pg_try_advisory_xact_lock(hashtext('fairmill.upkeep')) then
    perform fairmill.history_partitions_v1();
    removed := fairmill.retention_v1(history_keep);
  end if;
  next_in_ms := case when greatest(promoted, expired, recovered + ended) >= jobs_max then 0 else
    extract(epoch from least(
      (select s.run_at from fairmill.job s where s.state = 'scheduled' order by s.run_at limit 1),
      (select x.expire_at from fairmill.job x where x.expire_at is not null and x.state <> 'running' order by x.expire_at limit 1),
      (select min(w.lease_until) from fairmill.worker w where w.state = 'alive')) - clock_timestamp()) * 1000 end;
end
$$;
