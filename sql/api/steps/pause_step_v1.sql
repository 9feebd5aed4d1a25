-- A running job has come to a sleep, or to a wait for a signal: remembers it when it is the first time, and says
-- whether it is over. Fenced like a settle.
--   name, position  as in store_step_v1;  kind: sleep | wait
--   wait_ms         how long, from the first time on, by the database's clock; null, for a wait: without end
-- Result: answer, one of
--   over      the time is over or the signal is there: the handler goes on. signalled, and kept: the value of the
--             signal. A wait that is over without a signal has ended by its time; a signal that comes later is refused
--   waiting   not yet; in_ms: how much longer, null: without end. The caller settles the job as a snooze that names its
--             waits
--   busy      a transaction that sends this very signal has not ended: call again
--   known     the name belongs to a step of another kind, which kind says
--   lost, full  as in store_step_v1
-- Repeating a call is safe.
-- Locks: 8 job, 9 step (not for longer than a second).
-- Plan expected: the job and its steps by their primary keys.
create or replace function fairmill.pause_step_v1(worker_id text, job_id bigint, lease bigint, name text,
  "position" integer, kind text, wait_ms float8 default null, steps_max integer default 1000,
  out answer text, out in_ms float8, out signalled boolean, out kept jsonb, out stored_kind text)
language plpgsql
set lock_timeout = '400ms'
as $$
#variable_conflict use_column
declare
  v_attempt smallint;
  v_step    fairmill.step;
  v_at      timestamptz;
begin
  select j.attempt into v_attempt from fairmill.job j
  where j.id = pause_step_v1.job_id and j.lease_no = lease and j.worker is not distinct from worker_id
    and worker_id is not null
  for no key update;
  if not found then
    answer := 'lost';
    return;
  end if;
  v_at := clock_timestamp();
  if not exists (select from fairmill.step s where s.job_id = pause_step_v1.job_id and s.name = pause_step_v1.name)
      and (select count(*) from fairmill.step s where s.job_id = pause_step_v1.job_id) >= steps_max then
    answer := 'full';
    return;
  end if;
  begin
    insert into fairmill.step as s (job_id, name, kind, position, wake_at, started_at, attempt, lease_no)
    values (pause_step_v1.job_id, pause_step_v1.name, pause_step_v1.kind, pause_step_v1.position,
      v_at + wait_ms * interval '1 millisecond', v_at, v_attempt, lease)
    on conflict (job_id, name) do update
      -- Reached again, or signalled before it was reached.
      set position = coalesce(s.position, excluded.position),
        wake_at = case when s.position is null then excluded.wake_at else s.wake_at end, lease_no = lease
    where s.kind = excluded.kind and s.finished_at is null
    returning s.* into v_step;
  exception when lock_not_available then
    answer := 'busy';
    return;
  end;
  if not found then
    select s.* into v_step from fairmill.step s where s.job_id = pause_step_v1.job_id and s.name = pause_step_v1.name;
    if v_step.kind <> pause_step_v1.kind then
      answer := 'known';
      stored_kind := v_step.kind;
      return;
    end if;
  end if;
  signalled := v_step.signalled_at is not null;
  kept := v_step.result;
  in_ms := extract(epoch from v_step.wake_at - v_at) * 1000;
  if v_step.finished_at is null and not signalled and coalesce(in_ms > 0, true) then
    answer := 'waiting';
    return;
  end if;
  answer := 'over';
  update fairmill.step s set finished_at = v_at
  where s.job_id = pause_step_v1.job_id and s.name = pause_step_v1.name and s.finished_at is null;
end
$$;
