-- Gives slots to jobs of kinds that refuse: such a job holds its slot from its enqueue to its end. Where none is free,
-- the job is refused.
-- Locks: 16 enqueue meter. The unique index on slots holds also where the isolation level of the caller's transaction
-- hides a job of another session: then the insert fails, and nothing is stored.
create or replace function fairmill.slots_at_enqueue(jobs fairmill.new_job[])
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_keys text[] := array(select distinct j.limit_key collate "C" from unnest(jobs) as j where j.when_full = 'refuse'
    order by 1);
  v_job  record;
begin
  if cardinality(v_keys) = 0 then
    return jobs;
  end if;
  perform fairmill.lock_meters('enqueue', 'key', v_keys, true);
  -- Everything of a key in one row: a join job by job would be quadratic.
  for v_job in
    with wanted as materialized (
      select j.limit_key as key, array_agg(j.n order by j.n) as ns from unnest(jobs) as j where j.when_full = 'refuse'
        group by j.limit_key),
    given as (
      select turn.n, free.name as key, free.max_running, free.slots[turn.index] as slot
      from fairmill.free_slots(v_keys, cardinality(jobs)) free
      join wanted w on w.key = free.name
      cross join lateral unnest(w.ns) with ordinality as turn (n, index)),
    holders as materialized (
      select g.key, (select coalesce(jsonb_agg(h.id), '[]') from (
        select j.id from fairmill.job j where j.limit_key = g.key and j.slot is not null order by j.slot limit 10) h)
          as jobs
      from (select distinct x.key from given x where x.slot is null) g)
    select g.n, g.slot, case when g.slot is null then
      jsonb_build_object('code', 'FAIRMILL_ACTIVE_LIMIT', 'key', g.key, 'limit', g.max_running, 'jobs', h.jobs) end
        as refusal
    from given g left join holders h on h.key = g.key
  loop
    jobs[v_job.n].slot := v_job.slot;
    jobs[v_job.n].refusal := v_job.refusal;
  end loop;
  return jobs;
end
$$;
