-- The next step of a bulk action: acts on a bounded number of jobs and moves the cursor on, in one transaction. A step
-- that is repeated goes on from there, and the process that calls it may go away at any time. Of two callers at once
-- the second is told busy.
--   jobs_max  acts on at most this many; looks at 20 times as many, 10,000 at most
-- Result: state: running (call again), done, stopped, failed; busy (another session is at it); not_found.
-- Locks: 0 long action, then as cancel_jobs, or as bring_back_jobs, or as rerun_jobs, then as finish_transitions.
create or replace function fairmill.step_bulk_v1(bulk_id bigint, jobs_max integer default 500,
  out state text, out changed integer)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_bulk fairmill.bulk_action;
  v_pick record;
  v_done record;
begin
  changed := 0;
  if jobs_max is null or jobs_max not between 1 and 5000 then
    raise exception 'a step acts on 1 to 5000 jobs' using errcode = 'FM001';
  end if;
  select * into v_bulk from fairmill.bulk_action b where b.id = bulk_id and b.state = 'running' for update skip locked;
  if not found then
    state := coalesce((
      select case when b.state = 'running' then 'busy' else b.state end from fairmill.bulk_action b
      where b.id = bulk_id), 'not_found');
    return;
  end if;
  select * into v_pick from fairmill.pick_jobs(fairmill.bulk_states(v_bulk.action), v_bulk.filter,
    jobs_max, least(20 * jobs_max, 10000), v_bulk.after_id, v_bulk.up_to_id);
  if cardinality(v_pick.ids) > 0 and v_bulk.action = 'rerun' then
    changed := fairmill.rerun_jobs(bulk_id, v_pick.ids, v_pick.ends);
  elsif cardinality(v_pick.ids) > 0 then
    if v_bulk.action = 'cancel' then
      select * into v_done from fairmill.cancel_jobs(v_pick.ids);
    else
      select * into v_done from fairmill.bring_back_jobs(v_pick.ids, v_pick.ends);
    end if;
    changed := v_done.changed;
    perform fairmill.finish_transitions(v_done.queues, v_done.keys, v_done.members, v_done.revived);
  end if;
  state := case when v_pick.more then 'running' else 'done' end;
  update fairmill.bulk_action b
  set state = step_bulk_v1.state, after_id = v_pick.last_id, seen = b.seen + v_pick.seen,
    changed = b.changed + step_bulk_v1.changed,
    skipped = b.skipped + cardinality(v_pick.ids) - step_bulk_v1.changed,
    updated_at = clock_timestamp(), ended_at = case when not v_pick.more then clock_timestamp() end
  where b.id = bulk_id;
end
$$;
