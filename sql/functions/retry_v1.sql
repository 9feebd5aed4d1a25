-- Runs a job again, with its attempts counted anew. Result: ready (a dead or cancelled job is back in the queue, a waiting one is due
-- now), running (it runs already), done (a job that succeeded is not run again), or not_found.
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
begin
  select j.state, j.queue into v_state, v_queue from fairmill.job j where j.id = job_id for update;
  if found then
    if v_state = 'scheduled' then
      update fairmill.job j set state = 'ready', run_at = null where j.id = job_id;
      perform fairmill.rescan_v1(array[v_queue]);
      v_state := 'ready';
    end if;
    return v_state;
  end if;

  with back as (delete from fairmill.job_history h where h.id = job_id and h.state in ('dead', 'cancelled') returning h.*)
  insert into fairmill.job (id, lease_no, priority, max_attempts, state, queue, tenant, kind, key, created_at, payload, failures)
  overriding system value
  select b.id, b.lease_no, b.priority, b.max_attempts, 'ready', b.queue, b.tenant, b.kind, b.key, b.created_at, b.payload, b.failures
  from back b
  returning queue into v_queue;
  if found then
    perform fairmill.rescan_v1(array[v_queue]);
    return 'ready';
  end if;
  -- Whoever was faster has put it back: it is live again, and only its state is left to tell.
  return coalesce(
    (select 'done' from fairmill.job_history h where h.id = job_id and h.state = 'done' limit 1),
    (select j.state from fairmill.job j where j.id = job_id),
    'not_found');
end
$$;
