-- The accounts that jobs enqueued in the trees of these batches may need: those of nodes that wait or were skipped, and
-- of callbacks. A transaction that starts several parts of a tree locks them all at once, by name.
-- The caller has the trees' locks.
-- Plan expected: as batches_within_v1.
create or replace function fairmill.tree_accounts(batches bigint[])
returns text[]
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_all bigint[] := fairmill.batches_within_v1(
    array(select distinct b.root from fairmill.batch b where b.id = any (batches)));
begin
  return array(
    select distinct said.job ->> 'account'
    from unnest(v_all) as given (id)
    cross join lateral (select x.jobs, x.callbacks from fairmill.batch x where x.id = given.id offset 0) b
    cross join lateral (
      select e.job from jsonb_array_elements(b.jobs) as e (job)
      union all
      select c.job from jsonb_each(b.callbacks) as c (event, job)) said
    where said.job ? 'account');
end
$$;
