-- The accounts that whatever is enqueued in the trees of these batches may need: by nodes that wait or were skipped, and by callbacks. Those who start several
-- parts of a tree in one transaction lock them all at once, by name.
-- The caller has the trees' locks.
-- Plan expected: as trees_below_v1.
create or replace function fairmill.tree_accounts_v1(batches bigint[])
returns text[]
language plpgsql stable
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
  v_all bigint[] := fairmill.trees_below_v1(array(select distinct b.root from fairmill.batch b where b.id = any (batches)));
begin
  return array(
    select distinct said.job ->> 'account'
    from unnest(v_all) as given (id)
    cross join lateral (select x.jobs, x.callbacks from fairmill.batch x where x.id = given.id offset 0) b
    cross join lateral (
      select e.job from jsonb_array_elements(b.jobs) as e (job)
      union all select c.job from jsonb_each(b.callbacks) as c (event, job)) said
    where said.job ? 'account');
end
$$;
