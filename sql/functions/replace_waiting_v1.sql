-- Gives a waiting job what a newer one brought: payload, key, priority, time. Id, queue, attempts and failures stay.
--   job_id, held_key   the job, and the unique key that it must still hold (null: whether it holds one does not matter)
--   new_limit_key, new_slot  what gates_at_enqueue_v1 said of the newer one; it has a place only if its kind refuses
--   due_at, after_max  when it is due (null: now), but no later than so long after the job was first enqueued
--   life_ms            time to live from then on; null: none
-- Result: outcome: replaced; begun: it has steps, which saw the old payload, and is left as it is; null: the job does not wait or does not
-- hold the key any more: look again. due_in_ms: in how many milliseconds upkeep has something to do; null: nothing.
-- A ready job that is due at once in the same lane and under the same limit stays where it is, and so does a blocked one. Any other
-- becomes scheduled, and promote_v1 finds its place and tells the workers of the old id in its new lane.
-- A place is given up by who goes under another key, or waits for a later time: a newcomer would not hold it either. Only kinds that refuse
-- hold theirs from the enqueue on. Whoever is blocked there gets it from the next upkeep, which looks at keys that are marked. The mark is a
-- meter of its own: the key's lock is one that no transaction of a caller may hold, because settles wait for it.
-- Locks: the job; the mark of this job and key, for which nobody waits who does not hold the job.
create or replace function fairmill.replace_waiting_v1(job_id bigint, held_key text, new_payload jsonb, new_key text, new_limit_key text, new_slot integer,
  new_priority smallint, due_at timestamptz, after_max interval, life_ms float8, out outcome text, out due_in_ms float8)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_job   fairmill.job;
  v_at    timestamptz;
  v_slot  integer;
  v_stays boolean;
begin
  select * into v_job from fairmill.job j
  where j.id = job_id and j.state <> 'running'
    and (held_key is null or j.unique_key = held_key)
  for update;
  if not found then
    return;
  end if;
  -- A signal that nobody has asked for yet (no position) is no step of a run.
  if exists (select from fairmill.step s where s.job_id = replace_waiting_v1.job_id and s.position is not null) then
    outcome := 'begun';
    return;
  end if;
  v_at := coalesce(least(due_at, v_job.created_at + after_max), now());
  v_slot := case when new_limit_key is distinct from v_job.limit_key then new_slot
                 when v_at <= now() or new_slot is not null then v_job.slot end;
  v_stays := new_limit_key is not distinct from v_job.limit_key and v_at <= now()
    and (v_job.state = 'blocked' or v_job.state = 'ready' and v_job.priority = new_priority);
  update fairmill.job j
  set payload = new_payload, key = new_key, limit_key = new_limit_key, slot = v_slot, priority = new_priority, run_at = v_at,
      expire_at = v_at + life_ms * interval '1 millisecond', put_back = null,
      state = case when v_stays then v_job.state else 'scheduled' end,
      aside = case when v_stays then nullif(v_job.state, 'ready') else 'scheduled' end
  where j.id = job_id;
  outcome := 'replaced';
  due_in_ms := case when not v_stays then greatest(0, extract(epoch from v_at - now()) * 1000) end;
  if v_job.slot is not null and (v_slot is null or new_limit_key is distinct from v_job.limit_key) then
    insert into fairmill.meter as m (use, scope, name, recheck) values ('freed', job_id::text, v_job.limit_key, true)
    on conflict on constraint meter_pkey do update set recheck = true;
    due_in_ms := 0;
  end if;
end
$$;
