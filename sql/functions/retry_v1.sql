-- Runs a job again, with its attempts counted anew. Result: ready (a dead or cancelled job is back in the queue, a waiting one is due
-- now), blocked (so, but its key has no free place), running (it runs already), done (a job that succeeded is not run again), or
-- not_found.
-- Locks: the job, then as pass_on_v1.
create or replace function fairmill.retry_v1(job_id bigint)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_state text;
  v_queue text;
  v_key   text;
begin
  select j.state into v_state from fairmill.job j where j.id = job_id for update;
  if found and v_state <> 'scheduled' then
    return v_state;
  end if;
  if found then
    update fairmill.job j set run_at = clock_timestamp() where j.id = job_id;
    perform fairmill.pass_on_v1(a.queues, a.keys) from fairmill.admit_v1(array[job_id]) a;
    return (select j.state from fairmill.job j where j.id = job_id);
  end if;

  with back as (delete from fairmill.job_history h where h.id = job_id and h.state in ('dead', 'cancelled') returning h.*)
  insert into fairmill.job (id, lease_no, priority, max_attempts, state, queue, tenant, kind, key, limit_key, created_at, payload, failures)
  overriding system value
  select b.id, b.lease_no, b.priority, b.max_attempts,
    -- As admit_v1 decides.
    case when b.limit_key is null or not exists (select from fairmill.key_rule r where r.kind = b.kind and r.max_running is not null) then 'ready' else 'blocked' end,
    b.queue, b.tenant, b.kind, b.key, b.limit_key, b.created_at, b.payload, b.failures
  from back b
  returning state, queue, limit_key into v_state, v_queue, v_key;
  if found then
    perform fairmill.pass_on_v1(case when v_state = 'ready' then array[v_queue] end, case when v_state = 'blocked' then array[v_key] end);
    return (select j.state from fairmill.job j where j.id = job_id);
  end if;
  -- Whoever was faster has put it back: it is live again, and only its state is left to tell.
  return coalesce(
    (select 'done' from fairmill.job_history h where h.id = job_id and h.state = 'done' limit 1),
    (select j.state from fairmill.job j where j.id = job_id),
    'not_found');
end
$$;
