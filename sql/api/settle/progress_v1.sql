-- Keeps the progress of running jobs, last value wins. Fenced like a settle; returns the ids whose lease was lost.
-- Locks: 8 job.
-- Plan expected: the ids by the primary key. Not a join with the arrays: planned while the table was empty, that would
-- read all of it.
create or replace function fairmill.progress_v1(worker_id text, ids bigint[], leases bigint[], progresses jsonb)
returns bigint[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_kept bigint[];
begin
  with kept as (
    update fairmill.job j set progress = progresses -> (array_position(ids, j.id) - 1)
    where j.id = any (ids) and j.lease_no = leases[array_position(ids, j.id)]
      and j.worker is not distinct from worker_id and worker_id is not null
    returning j.id)
  select coalesce(array_agg(kept.id), '{}') into v_kept from kept;
  return array(select v.id from unnest(ids) as v (id) where v.id <> all (v_kept));
end
$$;
