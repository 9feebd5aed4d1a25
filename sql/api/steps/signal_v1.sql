-- Sends a signal to a job: the value that its wait of this name is given. It may come before the job waits for it. The
-- first one counts.
--   alone  the transaction ends with this statement: a waiting job becomes ready at once. In a transaction of your own
--          leave it false: the job is due with the commit, and the next upkeep finds its position.
-- Result: sent; known (there was a signal of this name before, which stays); late (the wait had ended by its time);
-- ended (the job has); not_found.
-- Locks: 9 step, then 8 job (against the order), then, alone, as finish_transitions. A running job is locked only
-- alone, for as long as this statement takes: otherwise its settle would wait for a caller's transaction.
-- Plan expected: the job and its steps by their primary keys.
create or replace function fairmill.signal_v1(job_id bigint, name text, value jsonb default null,
  alone boolean default false)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job       fairmill.job;
  v_step      fairmill.step;
  v_at        timestamptz := clock_timestamp();
  v_patience  text := current_setting('lock_timeout');
  -- Signals that no run has waited for yet are bounded, too.
  v_steps_max constant integer := 10000;
begin
  if coalesce(octet_length(signal_v1.name), 0) not between 1 and 200 then
    raise exception 'signal_v1 needs a name of 1 to 200 bytes' using errcode = 'FM001';
  end if;
  select * into v_job from fairmill.job j where j.id = signal_v1.job_id;
  if not found then
    return case when exists (select from fairmill.job_history h where h.id = signal_v1.job_id)
      then 'ended' else 'not_found' end;
  end if;
  if (
    select count(*)
    from (select from fairmill.step s where s.job_id = signal_v1.job_id limit v_steps_max) counted) >= v_steps_max then
    raise exception 'job % has % steps and signals; no more are kept', signal_v1.job_id, v_steps_max
      using errcode = 'FM001';
  end if;

  insert into fairmill.step as s (job_id, name, kind, result, bytes, signalled_at, started_at, attempt, lease_no)
  values (signal_v1.job_id, signal_v1.name, 'wait', value, coalesce(octet_length(value::text), 0), v_at, v_at,
    v_job.attempt, v_job.lease_no)
  on conflict (job_id, name) do update set result = excluded.result, bytes = excluded.bytes, signalled_at = v_at
  where s.kind = 'wait' and s.signalled_at is null and s.finished_at is null
  returning s.* into v_step;
  if not found then
    select s.* into v_step from fairmill.step s where s.job_id = signal_v1.job_id and s.name = signal_v1.name;
    if v_step.kind <> 'wait' then
      raise exception 'step "%" of job % is no wait but a %', signal_v1.name, signal_v1.job_id, v_step.kind
        using errcode = 'FM001';
    end if;
    return case when v_step.signalled_at is null then 'late' else 'known' end;
  end if;

  if v_step.position is not null and alone then
    -- A settle may be returning the job now, and have skipped what this wrote: wait for its end, then look. It is over
    -- soon; other sessions that have the job locked are not waited for, and the job is due by then.
    begin
      perform set_config('lock_timeout', '1s', true);
      perform from fairmill.job j where j.id = signal_v1.job_id for no key update;
    exception when lock_not_available then
      null;
    end;
    perform set_config('lock_timeout', v_patience, true);
  end if;
  -- Looked at after the step is written, by a statement of its own: a settle that had the step first has returned the
  -- job by now.
  update fairmill.job j set run_at = least(j.run_at, clock_timestamp())
  where j.id = signal_v1.job_id and j.state is not distinct from 'scheduled' and j.lease_no = v_step.lease_no
    and v_step.position is not null;
  if found and alone then
    perform fairmill.finish_transitions(a.queues, a.keys) from fairmill.admit_due(array[signal_v1.job_id]) a;
  elsif not alone and v_step.position is not null then
    -- Sent to workers that are awake, too: nothing else makes them look now. Also where the job runs: it may be
    -- returned before this commits, and is due then.
    perform pg_notify('fairmill', '!due 0')
    where exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > now());
  end if;
  return 'sent';
end
$$;
