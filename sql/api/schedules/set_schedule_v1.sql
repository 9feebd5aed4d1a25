-- Makes a schedule or changes it. The same definition again changes nothing, however many callers give it at once.
--   job          a job as enqueue_many_v1 takes it, without run_at, delay_ms and idempotency_key; or of a flow kind
--                (its name), tenant, and flow, as start_flow_v1 takes it
--   fingerprint  the same for the same definition
--   next_at      its first tick from now on, which counts when expression or zone are new
--   missed_max   of the missed ticks, the latest this many are made up for: 0 none, 1 once
--   paused       null: as it is
-- Result: created, changed or same.
-- Locks: 1 schedule.
create or replace function fairmill.set_schedule_v1(name text, cron text, timezone text, job jsonb, fingerprint text,
  next_at timestamptz, missed_max integer default 0, jitter_ms bigint default 0, paused boolean default null)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_answer text;
begin
  perform fairmill.refuse_reserved(jsonb_build_array(job) || jsonb_path_query_array(job, '$.flow.nodes[*].jobs[*]'));
  insert into fairmill.schedule as s (name, cron, timezone, job, fingerprint, next_at, missed_max, jitter_ms, paused_at)
  values (set_schedule_v1.name, set_schedule_v1.cron, set_schedule_v1.timezone, set_schedule_v1.job,
    set_schedule_v1.fingerprint, set_schedule_v1.next_at, set_schedule_v1.missed_max, set_schedule_v1.jitter_ms,
    case when set_schedule_v1.paused then now() end)
  on conflict (name) do update
  set cron = excluded.cron, timezone = excluded.timezone, job = excluded.job, fingerprint = excluded.fingerprint,
    missed_max = excluded.missed_max, jitter_ms = excluded.jitter_ms,
    not_before = null, last_error = null, edited_at = null,
    updated_at = greatest(now(), s.updated_at + interval '1 millisecond'), revision = s.revision + 1,
    -- A tick that is due now is not lost by a change of something else.
    next_at = case when (s.cron, s.timezone) = (excluded.cron, excluded.timezone) and (s.paused_at is null)
      then s.next_at else excluded.next_at end,
    moved_at = case when (s.cron, s.timezone) = (excluded.cron, excluded.timezone) and (s.paused_at is null)
      then s.moved_at else clock_timestamp() end,
    paused_at = case when set_schedule_v1.paused is null then s.paused_at
      when set_schedule_v1.paused then coalesce(s.paused_at, now()) end
  where s.fingerprint <> excluded.fingerprint
  returning case when s.xmax = 0 then 'created' else 'changed' end into v_answer;
  if v_answer is not null then
    perform fairmill.wake_v1('{}', greatest(0, extract(epoch from s.next_at - clock_timestamp()) * 1000)::float8)
    from fairmill.schedule s
    where s.name = set_schedule_v1.name and s.paused_at is null;
  end if;
  return coalesce(v_answer, 'same');
end
$$;
