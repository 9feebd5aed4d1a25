-- Whether retention has anything to look at besides days of the history: the oldest row of a table is past its time.
-- Asked first: to plan twenty statements that remove rows takes a new connection twice as long.
-- Plan expected: one entry off the end of an index of each table, and all workers.
create or replace function fairmill.has_old(before timestamptz)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
declare
  v_days timestamptz := greatest(before, now() - interval '2 days');
begin
  return coalesce(
    (select x.ended_at from fairmill.job_history_rest x order by x.ended_at limit 1) < before
    or (select x.created_at from fairmill.idempotency x order by x.created_at limit 1) < before
    or (select x.made_at from fairmill.schedule_tick x order by x.made_at limit 1) < before
    or (select x.used_at from fairmill.meter x order by x.used_at limit 1) < now() - interval '1 day'
    or (select x.started_at from fairmill.step x order by x.started_at limit 1) < before
    or (select x.ended_at from fairmill.batch x
        where x.parent is null and x.ended_at is not null order by x.ended_at limit 1) < before
    or (select x.ended_at from fairmill.outbox x
        where x.ended_at is not null and x.status <> 'unknown' order by x.ended_at limit 1) < before
    or (select x.expires_at from fairmill.unique_period x order by x.expires_at limit 1) <= now()
    or (select x.tick_started_at from fairmill.worker_tick_metrics x order by x.tick_started_at limit 1) < v_days
    or (select x.at from fairmill.job_log x order by x.at limit 1) < before
    or (select x.at from fairmill.metric_sample x order by x.at limit 1) < v_days
    or (select x.at from fairmill.fleet_sample x order by x.at limit 1) < v_days
    or (select x.resolved_at from fairmill.alert x
        where x.state = 'resolved' order by x.resolved_at limit 1) < before
    or (select x.until from fairmill.alert_silence x order by x.until limit 1) < before
    or (select x.minute from fairmill.provider_minute x order by x.minute limit 1) < v_days
    or (select x.at from fairmill.provider_event x order by x.at limit 1) < before
    or (select x.begun_at from fairmill.provider_charge x order by x.begun_at limit 1) < before
    or (select x.day from fairmill.provider_cost x order by x.day limit 1) < (now() - interval '400 days')::date
    or (select x.fresh_until from fairmill.cache_entry x order by x.fresh_until limit 1) < now() - interval '1 hour'
    or exists (
      select from fairmill.worker x where x.state <> 'alive' and x.ended_at < now() - interval '1 day'), false);
end
$$;
