-- What runs say that they used, as changes of what counts under their limits. The jobs whose fence holds are locked.
--   worker_id, ids, leases  the fence;  details: beside ids, used of each: {"openai": {"tokens": 1730}, …} or none.
--                           What is said is the whole of the run, so to say it again changes nothing
-- Result: as change_units takes it; null: nothing. Limits and units that the job does not use are left out.
-- Locks: 8 job.
-- Plan expected: the jobs by the primary key.
create or replace function fairmill.read_used(worker_id text, ids bigint[], leases bigint[], details jsonb)
returns jsonb
language plpgsql
as $$
#variable_conflict use_column
begin
  return (
    with mine as (
      select j.uses, j.lease_no, j.started_at, details -> (v.n - 1)::integer -> 'used' as said
      from unnest(ids, leases) with ordinality as v (id, lease_no, n)
      join fairmill.job j on j.id = v.id and j.lease_no = v.lease_no and j.worker is not distinct from worker_id
      where jsonb_typeof(details -> (v.n - 1)::integer -> 'used') = 'object' and j.uses is not null
      order by j.id for update of j)
    select jsonb_agg(jsonb_build_object('limit', u.use -> 'limit', 'key', u.use -> 'key', 'unit', s.unit,
      'started_at', m.started_at, 'delta', s.units::bigint - coalesce(
        case when (u.use -> 'used' -> 'lease')::bigint = m.lease_no then (u.use -> 'used' -> 'units' -> s.unit)::bigint
          end,
        (u.use -> 'units' -> s.unit)::bigint, case when s.unit = 'requests' then 1 else 0 end)))
    from mine m
    cross join lateral jsonb_array_elements(m.uses) as u (use)
    cross join lateral jsonb_each(m.said -> (u.use ->> 'limit')) as s (unit, units));
end
$$;
