-- Clears pauses whose end has passed, so that a claim without other limits is a plain one again, and wakes the workers.
-- Nothing depends on it: readers take such a pause for ended already (limit_in_force). Result: how many.
-- Locks: 6 limit setting (those that are free), 20 queue mark.
-- Plan expected: along limit_setting_pause_end; nothing where no pause has ended.
create or replace function fairmill.end_pauses()
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ended tid[] := array(select s.ctid from fairmill.limit_setting s where s.paused_until <= now()
    order by s.paused_until limit 1000 for update skip locked);
begin
  if cardinality(v_ended) = 0 then
    return 0;
  end if;
  -- A row that says nothing special is not kept.
  delete from fairmill.limit_setting s
  where s.ctid = any (v_ended) and s.weight = 1 and coalesce(s.max_running, s.rate_limit) is null;
  update fairmill.limit_setting s set paused_at = null, paused_until = null where s.ctid = any (v_ended);
  perform fairmill.raise_rescan_marks(array(select q.name from fairmill.queue q
    union select unnest(w.queues) from fairmill.worker w where w.state = 'alive'));
  return cardinality(v_ended);
end
$$;
