-- Stores refused jobs as dead, with the refusal as their error, and counts them in their batches. For jobs that no
-- caller could enqueue again: nodes of flows and callbacks.
-- The caller has the locks of the batches' trees.
-- Locks: none: the caller has 11 tree.
create or replace function fairmill.bury_jobs(jobs fairmill.new_job[])
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_dead jsonb;   -- by batch, how many were refused
begin
  if not exists (select from unnest(jobs) as j where j.refusal is not null) then
    return;
  end if;
  insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind,
    key, rate_limited_times, batch, timeout_ms, tags, trace, uses, created_at, ended_at, payload, error)
  select j.id, 0, j.priority, 0, 0, j.max_attempts, 'dead', j.queue, j.tenant, j.kind, j.key, 0, j.batch, j.timeout_ms,
    j.tags, j.trace, j.uses, now(), clock_timestamp(), j.payload,
    j.refusal || jsonb_build_object('message',
      'The job was refused when its turn came: ' || (j.refusal ->> 'code') || '.')
  from unnest(jobs) as j where j.refusal is not null;
  select jsonb_object_agg(d.batch::text, d.jobs) into v_dead
  from (select j.batch, count(*) as jobs from unnest(jobs) as j where j.refusal is not null and j.batch is not null
    group by 1) d;
  update fairmill.batch b set dead = b.dead + (v_dead ->> b.id::text)::integer
  where b.id = any (array(select k::bigint from jsonb_object_keys(v_dead) as k));
end
$$;
