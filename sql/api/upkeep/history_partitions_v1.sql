-- Makes the daily partitions of the history, from today on. Rows of that day which fell into the rest partition move
-- along. Runs with its owner's rights, so that workers need none to create tables.
-- Result: how many it made.
-- Locks: 22 partition.
create or replace function fairmill.history_partitions_v1(days_ahead integer default 3)
returns integer
language plpgsql security definer
set lock_timeout = '500ms'
set timezone = 'UTC'
as $$
declare
  v_day  date;
  v_name text;
  v_made integer := 0;
begin
  for v_day in select d::date from generate_series(current_date, current_date + days_ahead, interval '1 day') d loop
    v_name := 'job_history_' || to_char(v_day, 'YYYYMMDD');
    continue when to_regclass('fairmill.' || v_name) is not null;
    begin
      perform pg_advisory_xact_lock(hashtext('fairmill.history_partitions'));
      continue when to_regclass('fairmill.' || v_name) is not null;
      execute format('create table fairmill.%I (like fairmill.job_history including defaults including constraints)',
        v_name);
      -- Takes away what the database grants by default: the way to the history is its parent table.
      execute format('revoke all on fairmill.%I from public', v_name);
      -- No row may enter the rest partition between the move and the attach.
      lock table fairmill.job_history_rest in access exclusive mode;
      execute format('with moved as (delete from fairmill.job_history_rest where ended_at >= %L and ended_at < %L
                        returning *)
                      insert into fairmill.%I select * from moved', v_day, v_day + 1, v_name);
      execute format('alter table fairmill.job_history attach partition fairmill.%I for values from (%L) to (%L)',
        v_name, v_day, v_day + 1);
      v_made := v_made + 1;
    exception when lock_not_available then
      -- Another session reads the history for long, or makes the partitions now: the rest partition catches today's
      -- rows, the next call tries again. An error here would undo the upkeep around it.
      return v_made;
    end;
  end loop;
  return v_made;
end
$$;
