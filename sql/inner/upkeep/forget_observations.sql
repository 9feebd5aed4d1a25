-- Removes log lines of jobs that are gone, figures that are older than two days, and alerts that were resolved before
-- the history begins, with their events; in bounded portions. Part of retention.
-- Locks: 23 observation (those that are free).
-- Plan expected: the oldest rows by their index, and of log lines a probe of job and job_history for each.
create or replace function fairmill.forget_observations(before timestamptz, rows_max integer)
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_count   integer;
  v_removed integer := 0;
  v_alerts  bigint[];
begin
  -- A session that makes partitions of the history holds the lock: a later call removes them.
  begin
    delete from fairmill.job_log l where l.ctid = any (array(
      select x.ctid from fairmill.job_log x
      where x.at < before and (select j.id from fairmill.job j where j.id = x.job_id) is null
        and (select h.id from fairmill.job_history h where h.id = x.job_id limit 1) is null
      order by x.at limit rows_max for update skip locked));
    get diagnostics v_count = row_count;
    v_removed := v_removed + v_count;
  exception when lock_not_available then
    null;
  end;

  delete from fairmill.metric_sample m where m.ctid = any (array(
    select x.ctid from fairmill.metric_sample x where x.at < greatest(before, now() - interval '2 days')
    order by x.at limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;

  delete from fairmill.fleet_sample m where m.ctid = any (array(
    select x.ctid from fairmill.fleet_sample x where x.at < greatest(before, now() - interval '2 days')
    order by x.at limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;

  v_alerts := array(
    select x.id from fairmill.alert x where x.state = 'resolved' and x.resolved_at < before
    order by x.resolved_at limit rows_max for update skip locked);
  delete from fairmill.alert_event e where e.alert_id = any (v_alerts);
  delete from fairmill.alert a where a.id = any (v_alerts);
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;
  delete from fairmill.alert_silence s where s.ctid = any (array(
    select x.ctid from fairmill.alert_silence x where x.until < before
    order by x.until limit rows_max for update skip locked));
  return v_removed;
end
$$;
