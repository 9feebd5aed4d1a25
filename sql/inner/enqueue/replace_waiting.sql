-- Gives a waiting job what a newer one brought: payload, key, priority, time. Id, queue, attempts and failures stay.
--   newer  its limit_key and slot are what the limits said of it; it has a slot only if its kind refuses
-- Result: outcome: replaced; kept: the job has steps, which saw the old payload, and is left as it is; null: the job
-- does not wait or does not hold the key any more: look again. due_in_ms: in how many milliseconds upkeep has something
-- to do; null: nothing.
-- A ready job that is due at once in the same lane and under the same limit stays where it is, and so does a blocked
-- one. Any other becomes scheduled; its promotion finds its slot and signals to the workers the old id in its new lane.
-- A job that goes under another key, or waits for a later time, gives up its slot: a new one would not hold it either.
-- Only kinds that refuse hold theirs from the enqueue on. The next upkeep gives the slot to a blocked job: it looks at
-- keys that are marked. The mark is a meter of its own, because settles wait for the key's own lock, which no
-- transaction of a caller may hold.
-- Locks: 8 job (against the order: after its 18 unique key), 17 key meter (a mark of its own), 35 content (a row
-- that this transaction made).
create or replace function fairmill.replace_waiting(old_id bigint, newer fairmill.new_job, out outcome text,
  out due_in_ms float8)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job   fairmill.job;
  v_at    timestamptz;
  v_slot  integer;
  v_stays boolean;
begin
  select * into v_job from fairmill.job j
  where j.id = old_id and j.state <> 'running'
    and (newer.unique_for_ms is not null or j.unique_key = newer.unique_key)
  for update;
  if not found then
    return;
  end if;
  -- A signal that no run has waited for yet (no position) is no step of a run.
  if exists (select from fairmill.step s where s.job_id = old_id and s.position is not null) then
    outcome := 'kept';
    return;
  end if;
  v_at := coalesce(least(newer.run_at, v_job.created_at + newer.debounce_max_ms * interval '1 millisecond'), now());
  v_slot := case when newer.limit_key is distinct from v_job.limit_key then newer.slot
                 when v_at <= now() or newer.slot is not null then v_job.slot end;
  v_stays := newer.limit_key is not distinct from v_job.limit_key and v_at <= now()
    and (v_job.state = 'blocked' or v_job.state = 'ready' and v_job.priority = newer.priority);
  update fairmill.job j
  set payload = newer.payload, uses = newer.uses, waits_for = null,
    key = newer.key, limit_key = newer.limit_key, slot = v_slot, priority = newer.priority,
    run_at = v_at,
      expire_at = v_at + newer.expire_ms * interval '1 millisecond', rate_limited = null,
      state = case when v_stays then v_job.state else 'scheduled' end,
      aside = case when v_stays then nullif(v_job.state, 'ready') else 'scheduled' end
  where j.id = old_id;
  -- Noted under its own id by this very transaction.
  if newer.payload ? 'fairmill:stored' then
    update fairmill.content c set job_id = old_id
    where c.storage = newer.payload ->> 'storage' and c.key = newer.payload ->> 'key' and c.job_id = newer.id;
  end if;
  outcome := 'replaced';
  due_in_ms := case when not v_stays then greatest(0, extract(epoch from v_at - now()) * 1000) end;
  if v_job.slot is not null and (v_slot is null or newer.limit_key is distinct from v_job.limit_key) then
    insert into fairmill.meter as m (use, scope, name, recheck) values ('freed', old_id::text, v_job.limit_key, true)
    on conflict on constraint meter_pkey do update set recheck = true;
    due_in_ms := 0;
  end if;
end
$$;
