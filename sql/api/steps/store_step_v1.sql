-- Stores the result of a step of a running job. Fenced like a settle: only the worker with this lease may write.
--   name      of the step, one per job;  position: its number among the step calls of this run
--   result    what it came to; null: nothing
--   took_ms   how long it took, for people
--   steps_max, bytes_max  of the job: at most this many steps, with this many bytes of JSON text in all
-- Result: answer, one of
--   stored    it is kept
--   known     a step of this name was kept before: kind and kept say which and what; the new result is not kept
--   lost      the lease was lost; nothing was written
--   full      the job has as many steps as it may; nothing was written
--   large     its steps would be larger than they may; nothing was written
-- Repeating a call is safe: the first write wins.
-- Locks: 8 job, 9 step (neither for longer than a second). A call that waits longer fails with 55P03 and may be
-- repeated: a transaction that cancels the job may be long, and other calls wait behind this one.
-- Plan expected: the job and its steps by their primary keys.
create or replace function fairmill.store_step_v1(worker_id text, job_id bigint, lease bigint, name text,
  "position" integer, result jsonb default null, took_ms float8 default 0, steps_max integer default 1000,
  bytes_max bigint default 16777216, out answer text, out kind text, out kept jsonb)
language plpgsql
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  v_attempt smallint;
  v_count   integer;
  v_sum     bigint;
  v_bytes   integer := coalesce(octet_length(result::text), 0);
begin
  select j.attempt into v_attempt from fairmill.job j
  where j.id = store_step_v1.job_id and j.lease_no = lease and j.worker is not distinct from worker_id
    and worker_id is not null
  for no key update;
  if not found then
    answer := 'lost';
    return;
  end if;
  select 'known', s.kind, s.result into answer, kind, kept from fairmill.step s
  where s.job_id = store_step_v1.job_id and s.name = store_step_v1.name;
  if found then
    return;
  end if;
  select count(*), coalesce(sum(s.bytes), 0) into v_count, v_sum from fairmill.step s
  where s.job_id = store_step_v1.job_id;
  if v_count >= steps_max then
    answer := 'full';
    return;
  end if;
  if v_sum + v_bytes > bytes_max then
    answer := 'large';
    return;
  end if;
  insert into fairmill.step (job_id, name, kind, position, result, bytes, started_at, finished_at, attempt, lease_no)
  values (store_step_v1.job_id, store_step_v1.name, 'run', store_step_v1.position, store_step_v1.result, v_bytes,
    clock_timestamp() - coalesce(took_ms, 0) * interval '1 millisecond', clock_timestamp(), v_attempt, lease)
  on conflict do nothing;
  if found then
    answer := 'stored';
    return;
  end if;
  -- A signal of that name came meanwhile.
  select 'known', s.kind, s.result into answer, kind, kept from fairmill.step s
  where s.job_id = store_step_v1.job_id and s.name = store_step_v1.name;
end
$$;
