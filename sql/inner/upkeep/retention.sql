-- Removes what is old, in bounded portions: whole days of history by dropping their partition, rows of the rest
-- partition, idempotency keys of jobs that ended, ticks of schedules, steps of jobs that are gone, messages that were
-- sent or given up, batches that are over, unique keys whose period is over, unused meters, figures of workers, logs,
-- entries of caches, alerts that are over, and workers that are gone. Never waits long for a lock: what is locked now
-- is removed by a later call. Where rules keep some jobs for another time, it also makes a step of theirs, and a day is
-- dropped when no rule keeps a job of it (walk_history, is_day_over).
--   waits_for  a transaction that has read the history and runs for longer is not waited for: no day is dropped then
-- Locks: 4 worker, 7 ended job, 9 step, 10 message, 11 tree, 14 idempotency key, 16 enqueue meter, 17 key meter, 18
-- unique key, 23 observation, 30 call record, 31 cache entry (of each those that are free).
-- Plan expected: a probe of job's indexes for each old key and each gone worker. Asked by a subquery for one value,
-- which cannot be turned into a join: planned while the table was empty, a join would read the whole queue.
create or replace function fairmill.retention(history_keep interval default '30 days', rows_max integer default 5000,
  waits_for interval default '10 seconds')
returns integer
language plpgsql security definer
set lock_timeout = '500ms'
set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_before  timestamptz := now() - history_keep;
  v_name    text;
  v_count   integer;
  v_removed integer := 0;
  v_ruled   boolean := exists (select from fairmill.retention_rule);
begin
  -- Told to the caller, which has no rights on these tables: more steps are to come.
  perform set_config('fairmill.walking', 'no', true);
  if v_ruled then
    -- A session that makes partitions of the history holds the lock: a later call goes on.
    begin
      v_removed := fairmill.walk_history(history_keep);
    exception when lock_not_available then
      null;
    end;
    if exists (
        select from fairmill.retention_walk w
        where w.ended_at is null and w.moved_at > now() - interval '1 minute') then
      perform set_config('fairmill.walking', 'yes', true);
    end if;
    delete from fairmill.retention_walk w where to_regclass('fairmill.' || quote_ident(w.part)) is null;
  end if;
  for v_name in
    select c.relname from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'fairmill.job_history'::regclass and c.relname ~ '^job_history_\d{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= v_before
      and (not v_ruled or fairmill.is_day_over(c.relname, to_date(right(c.relname, 8), 'YYYYMMDD') + 1))
    order by c.relname
  loop
    -- Behind a session that waits for the lock of a drop every settle waits, too. That is worth it once or twice, and
    -- not at each call for as long as a dump reads the history.
    exit when exists (
      select from pg_locks l
      join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'relation' and l.granted and l.pid <> pg_backend_pid()
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
        and l.relation in ('fairmill.job_history'::regclass, format('fairmill.%I', v_name)::regclass)
        and a.backend_type <> 'autovacuum worker' and a.xact_start < clock_timestamp() - waits_for);
    begin
      execute format('drop table fairmill.%I', v_name);
      v_removed := v_removed + 1;
    exception when lock_not_available then
      exit;
    end;
  end loop;

  begin
    if not fairmill.has_old(v_before) then
      return v_removed;
    end if;
  exception when lock_not_available then
    -- A session makes partitions of the rest: whatever else is old is removed all the same.
    null;
  end;

  -- An error here would undo the upkeep around it: a locked row is left out, and so is all of it while another session
  -- makes partitions of the rest.
  begin
    delete from fairmill.job_history_rest r where r.ctid = any (array(
      select x.ctid from fairmill.job_history_rest x where not v_ruled and x.ended_at < v_before
      order by x.ended_at limit rows_max for update skip locked));
    get diagnostics v_count = row_count;
    v_removed := v_removed + v_count;
  exception when lock_not_available then
    null;
  end;

  delete from fairmill.idempotency k where k.ctid = any (array(
    select x.ctid from fairmill.idempotency x
    where x.created_at < v_before and (select j.id from fairmill.job j where j.id = x.job_id) is null
    order by x.created_at limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;

  -- That a tick is done is said by its schedule as well, whose next one lies behind it.
  delete from fairmill.schedule_tick t where t.ctid = any (array(
    select x.ctid from fairmill.schedule_tick x
    where x.made_at < v_before and (select j.id from fairmill.job j where j.id = x.job_id) is null
    order by x.made_at limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;

  -- Meters of keys that were not used for a day; a rate that counts for longer is older than its window by then, or is
  -- asked for again.
  delete from fairmill.meter m where m.ctid = any (array(
    select x.ctid from fairmill.meter x
    where x.used_at < now() - interval '1 day' and not x.recheck
      and coalesce(x.spent_at[cardinality(x.spent_at)] < now() - interval '30 days', true)
      and (select j.id from fairmill.job j where j.id = any (x.running_ids) and j.state = 'running' limit 1) is null
    order by x.used_at limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;

  -- Steps stay for as long as their job does, live or ended. A session that makes partitions is in the way here, too.
  begin
    delete from fairmill.step s where s.ctid = any (array(
      select x.ctid from fairmill.step x
      where x.started_at < v_before and (select j.id from fairmill.job j where j.id = x.job_id) is null
        and (select h.id from fairmill.job_history h where h.id = x.job_id limit 1) is null
      order by x.started_at limit rows_max for update skip locked));
    get diagnostics v_count = row_count;
    v_removed := v_removed + v_count;
  exception when lock_not_available then
    null;
  end;

  -- A batch goes with everything inside it, when the outermost one has been over for that long.
  v_removed := v_removed + fairmill.forget_batches(v_before, rows_max);

  -- Their keys are free from then on. A message that needs review stays until it is resolved.
  delete from fairmill.outbox o where o.ctid = any (array(
    select x.ctid from fairmill.outbox x where x.ended_at < v_before and x.status <> 'unknown'
    order by x.ended_at limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;

  delete from fairmill.unique_period p where p.ctid = any (array(
    select x.ctid from fairmill.unique_period x where x.expires_at <= now()
    order by x.expires_at limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;

  -- Figures of workers: two days of them, or less where the history is shorter.
  delete from fairmill.worker_tick_metrics m where m.ctid = any (array(
    select x.ctid from fairmill.worker_tick_metrics x
    where x.tick_started_at < greatest(v_before, now() - interval '2 days')
    order by x.tick_started_at limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;

  v_removed := v_removed + fairmill.forget_observations(v_before, rows_max);
  v_removed := v_removed + fairmill.forget_calls(v_before, rows_max);

  -- Entries of caches that were not asked for since.
  delete from fairmill.cache_entry e where e.ctid = any (array(
    select x.ctid from fairmill.cache_entry x
    where x.fresh_until < now() - interval '1 hour'
      and coalesce(x.loading_until, '-infinity') < now() - interval '1 hour'
    order by x.fresh_until limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;

  delete from fairmill.worker w where w.id = any (array(
    select x.id from fairmill.worker x
    where x.state <> 'alive' and x.ended_at < now() - interval '1 day'
      and not exists (select from fairmill.claim_list h where h.worker = x.id)
    for update skip locked));
  get diagnostics v_count = row_count;
  return v_removed + v_count;
end
$$;
