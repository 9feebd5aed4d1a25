-- Records what the autoscaler of a supervisor decided, or would have decided if nothing had stood against it. A
-- decision that repeats is one row, with the last time. Of each pool the last 1000 rows are kept, at most 30 days.
--   decision  {action, current, wanted, target, reason, inputs, desired, decide_every_ms}; null action: nothing to
--             record, only what is desired
-- Locks: 24 pool, 27 scale decision.
-- Plan expected: scale_decision_pool backwards, one row; then forwards, at most 10 rows.
create or replace function fairmill.record_scale_v1(pool_name text, supervisor_id text, decision jsonb)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at   timestamptz := clock_timestamp();
  v_last record;
  v_edge bigint;
begin
  update fairmill.pool p
  set desired = (decision ->> 'desired')::integer, decided_at = v_at,
    decide_every = (decision ->> 'decide_every_ms')::float8 * interval '1 millisecond'
  where p.name = pool_name;
  if decision ->> 'action' is null then
    return;
  end if;
  select d.id, d.supervisor, d.action, d.current, d.wanted, d.target, d.reason into v_last
  from fairmill.scale_decision d where d.pool = pool_name order by d.id desc limit 1;
  if v_last.supervisor = supervisor_id and v_last.action = 'suppressed' and v_last.action = decision ->> 'action'
    and v_last.current = (decision ->> 'current')::integer and v_last.wanted = (decision ->> 'wanted')::integer
    and v_last.reason = decision ->> 'reason' then
    update fairmill.scale_decision d set last_at = v_at, times = d.times + 1, inputs = decision -> 'inputs'
    where d.id = v_last.id;
    return;
  end if;
  insert into fairmill.scale_decision (pool, supervisor, action, current, wanted, target, reason, inputs, at, last_at)
  values (pool_name, supervisor_id, decision ->> 'action', (decision ->> 'current')::integer,
    (decision ->> 'wanted')::integer, (decision ->> 'target')::integer, decision ->> 'reason',
    decision -> 'inputs', v_at, v_at);
  v_edge := (
    select d.id from fairmill.scale_decision d where d.pool = pool_name order by d.id desc offset 1000 limit 1);
  delete from fairmill.scale_decision d where d.id = any (array(
    select o.id from fairmill.scale_decision o
    where o.pool = pool_name and (o.id <= v_edge or o.last_at < v_at - interval '30 days')
    order by o.id limit 10));
end
$$;
