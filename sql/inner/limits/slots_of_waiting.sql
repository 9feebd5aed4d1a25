-- Slots of kinds whose jobs wait for one. With alone a due job takes a free slot and is ready, or is blocked. In a
-- transaction of the caller it becomes scheduled for now instead, and the upkeep that promotes it after the commit
-- finds its slot: no settle ever waits for a transaction of a caller.
-- Locks: with alone 17 key meter.
-- One probe of job_blocked per key, then free_slots. The jobs of a key are looked up in an object: a join would go
-- through all keys of the list for each of them.
create or replace function fairmill.slots_of_waiting(jobs fairmill.new_job[], alone boolean)
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_now     timestamptz := now();
  v_keys    text[];
  v_ns      jsonb;   -- by key, its jobs
  v_blocked jsonb;   -- the jobs of keys that have blocked ones already
  v_job     record;
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
  with wanted as materialized (
    select j.limit_key as key, array_agg(j.n order by j.n) as ns,
      (select b.id from fairmill.job b where b.aside = 'blocked' and b.limit_key = j.limit_key limit 1) is not null
        as has_blocked
    from unnest(jobs) as j
    where j.when_full = 'wait' and j.state = 'ready' and j.conflict is null and j.refusal is null
      group by j.limit_key)
  select array_agg(w.key) filter (where not w.has_blocked), jsonb_object_agg(w.key, w.ns)
    filter (where not w.has_blocked), jsonb_agg(w.ns) filter (where w.has_blocked)
    into v_keys, v_ns, v_blocked
  from wanted w;
  for v_job in
    select turn.n::integer as n, free.slots[turn.index] as slot,
      case when turn.index > cardinality(free.slots) then 'blocked' else 'ready' end as state
    -- Jobs that are blocked already go first: a free slot beside them is an accident that upkeep repairs.
    from fairmill.free_slots(v_keys, cardinality(jobs)) free
    cross join lateral jsonb_array_elements_text(v_ns -> free.name) with ordinality as turn (n, index)
    union all
    select n.n::integer, null, 'blocked'
    from jsonb_array_elements(v_blocked) as one (ns) cross join lateral jsonb_array_elements_text(one.ns) as n (n)
  loop
    jobs[v_job.n].slot := v_job.slot;
    jobs[v_job.n].state := v_job.state;
  end loop;
  return jobs;
end
$$;
