-- When a tick next finds something to do: at once where a job is ready; otherwise when the first thing falls due for
-- upkeep (a delayed job, a time to live, a batch to look at, the tick of a schedule, the end of a lease whose worker
-- has jobs). Null: as things are, never. May say now although limits hold everything back.
--   queue_names  only jobs of these queues count as ready; null: all
-- Result: the time; null: never, as things are.
-- Locks: none.
-- Plan expected: the first entry of an index for each question; of job_lane that of each queue.
create or replace function fairmill.next_due_v1(queue_names text[] default null)
returns timestamptz
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_queue text;
begin
  if queue_names is null then
    if exists (
        select from fairmill.job j
        where j.aside is null and j.state = 'ready'
        order by fairmill.level_v1(j.queue, j.priority) desc limit 1) then
      return now();
    end if;
  end if;
  foreach v_queue in array coalesce(queue_names, '{}') loop
    if exists (
        select from fairmill.job j
        where j.aside is null and j.state = 'ready' and j.queue = v_queue
          and fairmill.level_v1(j.queue, j.priority) >= fairmill.level_v1(v_queue, -32768)
          and fairmill.level_v1(j.queue, j.priority) < fairmill.level_v1(v_queue, 32768)
        order by fairmill.level_v1(j.queue, j.priority) desc limit 1) then
      return now();
    end if;
  end loop;
  -- Upkeep was asked to look at these.
  if exists (select from fairmill.meter m where m.recheck)
    or exists (select from fairmill.outbox o where o.recheck) then
    return now();
  end if;
  return least(
    (select s.run_at from fairmill.job s where s.aside = 'scheduled' order by s.run_at limit 1),
    (select x.expire_at from fairmill.job x
      where x.expire_at is not null and x.state <> 'running'
      order by x.expire_at limit 1),
    (select b.check_at from fairmill.batch b where b.check_at is not null order by b.check_at limit 1),
    (select greatest(c.next_at, c.not_before) from fairmill.schedule c
      where c.paused_at is null
      order by greatest(c.next_at, c.not_before) limit 1),
    -- As upkeep: computed by a clock that was ahead.
    (select now() from fairmill.schedule c
      where c.paused_at is null and c.moved_at > now() + interval '2 seconds'
        and coalesce(c.not_before, '-infinity') not between now() and now() + interval '10 seconds' limit 1),
    (select min(w.lease_until) from fairmill.worker w
      where w.state = 'alive' and exists (select from fairmill.claim_list h where h.worker = w.id)));
end
$$;
