-- Gives a waiting job what a newer one brought: payload, key, priority, time. Id, queue, attempts and failures stay.
--   job_id, held_key   the job, and the unique key that it must still hold (null: whether it holds one does not matter)
--   due_at, after_max  when it is due (null: now), but no later than so long after the job was first enqueued
--   life_ms            time to live from then on; null: none
-- Result: in how many milliseconds it is due; null when the job does not wait or does not hold the key any more: look again.
-- A ready job that is due at once in the same lane and under the same limit stays where it is, and a blocked one stays blocked. Any other
-- becomes scheduled, and promote_v1 tells the workers of the old id in its new place. A job that holds a place under a key keeps both:
-- to give it up would take the key's lock, which no transaction of a caller may hold.
-- Locks: the job.
create or replace function fairmill.replace_waiting_v1(job_id bigint, held_key text, new_payload jsonb, new_key text, new_limit_key text, new_priority smallint,
  due_at timestamptz, after_max interval, life_ms float8)
returns float8
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_job fairmill.job;
  v_at  timestamptz;
  v_key text;
  v_state text;
begin
  select * into v_job from fairmill.job j
  where j.id = job_id and j.state <> 'running'
    and (held_key is null or j.unique_key = held_key)
  for update;
  if not found then
    return null;
  end if;
  v_at := coalesce(least(due_at, v_job.created_at + after_max), now());
  v_key := case when v_job.slot is null then new_limit_key else v_job.limit_key end;
  v_state := case when v_key is not distinct from v_job.limit_key
    and (v_job.state = 'blocked' or v_job.state = 'ready' and v_job.priority = new_priority and v_at <= now()) then v_job.state else 'scheduled' end;
  update fairmill.job j
  set payload = new_payload, key = new_key, limit_key = v_key, priority = new_priority, run_at = v_at,
      expire_at = v_at + life_ms * interval '1 millisecond', put_back = null,
      state = v_state, aside = nullif(v_state, 'ready')
  where j.id = job_id;
  return greatest(0, extract(epoch from v_at - now()) * 1000);
end
$$;
