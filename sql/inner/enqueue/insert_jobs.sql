-- Inserts the jobs that nothing refuses: the only statement that adds new jobs to the table.
-- Result: how many were inserted. A job whose unique key another one holds is left out.
-- Plan expected: one insert from the array.
create or replace function fairmill.insert_jobs(jobs fairmill.new_job[])
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_count integer;
begin
  insert into fairmill.job (id, kind, payload, tenant, queue, priority, max_attempts, key, run_at, expire_at, state,
    aside,
    limit_key, slot, reservation, outbox, batch, timeout_ms, tags, trace, uses, unique_key, unique_until)
  overriding system value
  select j.id, j.kind, j.payload, j.tenant, j.queue, j.priority, j.max_attempts, j.key, j.run_at,
    coalesce(j.run_at, now()) + j.expire_ms * interval '1 millisecond', j.state, nullif(j.state, 'ready'),
    j.limit_key, j.slot, j.reservation, j.outbox, j.batch, j.timeout_ms, j.tags, j.trace, j.uses,
    case when j.unique_for_ms is null then j.unique_key end,
    case when j.unique_key is not null and j.unique_for_ms is null then j.unique_until end
  from unnest(jobs) as j
  where j.conflict is null and j.refusal is null
  on conflict (tenant, kind, unique_key) where unique_key is not null do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
