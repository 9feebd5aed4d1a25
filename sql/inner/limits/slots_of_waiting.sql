-- Slots of kinds whose jobs wait for one. With alone a due job takes a free slot and is ready, or is blocked. In a
-- transaction of the caller it becomes scheduled for now instead, and the upkeep that promotes it after the commit
-- finds its slot: no settle ever waits for a transaction of a caller.
-- Locks: with alone 17 key meter.
create or replace function fairmill.slots_of_waiting(jobs fairmill.new_job[], alone boolean)
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_now timestamptz := now();
  v_job record;
begin
  if not alone then
    for v_job in select j.n from unnest(jobs) as j
      where j.when_full = 'wait' and j.state = 'ready' and j.conflict is null and j.refusal is null
    loop
      jobs[v_job.n].state := 'scheduled';
      jobs[v_job.n].run_at := coalesce(jobs[v_job.n].run_at, v_now);
    end loop;
    return jobs;
  end if;
  perform fairmill.lock_meters('start', 'key', array(
    select j.limit_key from unnest(jobs) as j where j.when_full = 'wait' and j.state = 'ready' and j.conflict is null
      and j.refusal is null));
  -- Everything of a key in one row: a join job by job would be quadratic.
  for v_job in
    with wanted as materialized (
      select j.limit_key as key, array_agg(j.n order by j.n) as ns,
        (select b.id from fairmill.job b where b.aside = 'blocked' and b.limit_key = j.limit_key limit 1) is not null
          as has_blocked
      from unnest(jobs) as j
      where j.when_full = 'wait' and j.state = 'ready' and j.conflict is null and j.refusal is null
        group by j.limit_key)
    select turn.n, free.slots[turn.index] as slot, case when turn.index > cardinality(free.slots) then 'blocked'
      else 'ready' end as state
    -- Jobs that are blocked already go first: a free slot beside them is an accident that upkeep repairs.
    from fairmill.free_slots(array(select w.key from wanted w where not w.has_blocked), cardinality(jobs)) free
    join wanted w on w.key = free.name
    cross join lateral unnest(w.ns) with ordinality as turn (n, index)
    union all
    select n, null, 'blocked' from wanted w cross join lateral unnest(w.ns) as n where w.has_blocked
  loop
    jobs[v_job.n].slot := v_job.slot;
    jobs[v_job.n].state := v_job.state;
  end loop;
  return jobs;
end
$$;
