-- How many children a pool should have, over all hosts: for KEDA, an HPA or a script. It is what the autoscaler of the
-- pool decided last; when none of its supervisors lives to decide, it is derived from the settings and the runnable
-- jobs: none when there is nothing to do and the minimum is 0. Null: there is no such pool.
-- Result: the number; null: there is no such pool.
-- Locks: none.
-- Plan expected: the pool by its primary key, then as backlog_v1.
create or replace function fairmill.desired_workers_v1(pool_name text default 'default')
returns integer
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_pool     fairmill.pool;
  v_runnable bigint;
  v_wanted   integer;
begin
  select * into v_pool from fairmill.pool p where p.name = pool_name;
  if not found then
    return null;
  end if;
  if v_pool.decided_at > clock_timestamp() - 3 * v_pool.decide_every then
    return v_pool.desired;
  end if;
  select coalesce(sum(b.jobs), 0) into v_runnable
  from fairmill.backlog_v1(
    array(select jsonb_array_elements_text(v_pool.settings -> 'queues')),
    array(select jsonb_array_elements_text(v_pool.settings -> 'kinds'))) b
  where b.reason = 'runnable';
  v_wanted := ceil(v_runnable * coalesce((v_pool.settings ->> 'mean_run_ms')::float8, 0)
    / greatest(1, (v_pool.settings ->> 'target_wait_ms')::float8)
    / greatest(1, (v_pool.settings ->> 'capacity')::integer));
  return least((v_pool.settings ->> 'max')::integer,
    greatest((v_pool.settings ->> 'min')::integer, v_wanted, (v_runnable > 0)::integer));
end
$$;
