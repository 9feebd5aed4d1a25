-- Keeps the progress of running jobs, last value wins. Fenced like a settle; returns the ids whose lease was lost.
create or replace function fairmill.progress_v1(worker_id text, ids bigint[], leases integer[], progresses jsonb)
returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_kept bigint[];
begin
  with kept as (
    update fairmill.job j set progress = progresses -> (v.n - 1)::integer
    from unnest(ids, leases) with ordinality as v (id, lease_no, n)
    where j.id = v.id and j.lease_no = v.lease_no and j.worker is not distinct from worker_id and worker_id is not null
    returning j.id)
  select coalesce(array_agg(kept.id), '{}') into v_kept from kept;
  return array(select v.id from unnest(ids) as v (id) where v.id <> all (v_kept));
end
$$;
