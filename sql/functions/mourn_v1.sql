-- Members of these batches have died: enqueues the death callbacks that are due, of the batches and of the flows whose nodes they are. Each
-- comes once, by call_back_v1.
-- The caller has the trees' locks. Locks: as enqueue_many_v1.
-- Plan expected: the primary key of batch, a probe for each batch and each node around it.
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
  v_mourning := array(
    with recursive around (id, parent, role, is_due) as (
      select b.id, b.parent, b.role, b.is_due from unnest(batches) as given (id)
      cross join lateral (
        select x.id, x.parent, x.role, x.death_job is null and x.callbacks ? 'death' as is_due from fairmill.batch x where x.id = given.id offset 0) b
      union
      -- The jobs of a flow are members of its nodes.
      select b.id, b.parent, b.role, b.is_due from around
      cross join lateral (
        select x.id, x.parent, x.role, x.death_job is null and x.callbacks ? 'death' as is_due from fairmill.batch x where x.id = around.parent offset 0) b
      where around.role = 'node')
    select distinct around.id from around where around.is_due);
  if cardinality(v_mourning) > 0 then
    perform fairmill.call_back_v1(v_mourning, 'death');
  end if;
end
$$;
