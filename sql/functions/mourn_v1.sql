-- Members of these batches have died: enqueues their death callbacks, if they have not come before.
-- The caller has the trees' locks. Locks: as enqueue_many_v1.
-- Plan expected: the primary key of batch.
create or replace function fairmill.mourn_v1(batches bigint[])
returns void
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
  v_mourning bigint[];
begin
  v_mourning := array(select b.id from unnest(batches) as given (id)
    cross join lateral (select x.id, x.death_job, x.callbacks from fairmill.batch x where x.id = given.id offset 0) b
    where b.death_job is null and b.callbacks ? 'death');
  if cardinality(v_mourning) > 0 then
    perform fairmill.call_back_v1(v_mourning, 'death');
  end if;
end
$$;
