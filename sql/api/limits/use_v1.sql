-- Says what the run of a job has used of its named limits, before it is settled: what it did not use is free at once
-- for others, what it used beyond its estimate is owed.
--   worker_id, job_id, lease  the fence;  used: {"openai": {"tokens": 1730}, …}, the whole of this run so far: saying
--                             it again changes nothing
-- Result: whether the fence held.
-- Locks: 8 job, then as change_units.
create or replace function fairmill.use_v1(worker_id text, job_id bigint, lease bigint, used jsonb)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
declare
  v_changes jsonb := fairmill.read_used(worker_id, array[job_id], array[lease],
    jsonb_build_array(jsonb_build_object('used', used)));
begin
  if not exists (
    select from fairmill.job j
    where j.id = job_id and j.lease_no = lease and j.worker is not distinct from worker_id) then
    return false;
  end if;
  if v_changes is not null then
    update fairmill.job j
    set uses = (
      select jsonb_agg(
        case when used ? (u.use ->> 'limit') then
          u.use || jsonb_build_object('used', jsonb_build_object('lease', lease, 'units',
            coalesce(case when (u.use -> 'used' -> 'lease')::bigint = lease then u.use -> 'used' -> 'units' end, '{}')
              || (used -> (u.use ->> 'limit'))))
        else u.use end order by u.n)
      from jsonb_array_elements(j.uses) with ordinality as u (use, n))
    where j.id = job_id;
    perform fairmill.change_units(v_changes);
  end if;
  return true;
end
$$;
