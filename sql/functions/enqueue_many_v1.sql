-- Stores many jobs in one statement. The way in for the library and for every other language.
--   jobs    array of objects: kind, payload, tenant, queue, priority, max_attempts, key, run_at, delay_ms, expire_ms, idempotency_key,
--           unique_key, and what belongs to it: see enqueue_unique_v1
--   shared  fields that every job of the array has unless it names its own
--   wake    tell sleeping workers; the library says false and calls wake_v1 beside it, outside this transaction
-- Result: one row per job in the order given: its id, whether this call made it, and if not why: known (the idempotency key was),
-- kept, replaced, refused (the unique key is another job's).
-- Locks: with idempotency keys, their rows in key order, then those of unique keys; a second caller with the same key waits for the
-- first one's commit.
-- Plan expected: one insert from the array; no index is read unless a key is given.
create or replace function fairmill.enqueue_many_v1(jobs jsonb, shared jsonb default '{}', wake boolean default true)
returns table (id bigint, created boolean, conflict text)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
  v_ids     bigint[];    -- with keys: the id of each job, taken before the insert
  v_created boolean[];
  v_todo    boolean[];   -- with keys: which jobs the insert below stores
  v_keyed   boolean;
  v_conflicts text[];
  v_due_in_ms float8;    -- when the first of the unique jobs falls due
  -- What all have in common is read once, not once per job.
  v_kind         text := shared ->> 'kind';
  v_tenant       text := coalesce(shared ->> 'tenant', 'default');
  v_queue        text := coalesce(shared ->> 'queue', 'default');
  v_priority     smallint := coalesce((shared ->> 'priority')::smallint, 0);
  v_max_attempts smallint := coalesce((shared ->> 'max_attempts')::smallint, 3);
  v_key          text := shared ->> 'key';
  v_run_at       timestamptz := coalesce((shared ->> 'run_at')::timestamptz, now() + (shared ->> 'delay_ms')::float8 * interval '1 millisecond');
  v_expire_ms    float8 := (shared ->> 'expire_ms')::float8;
begin
  if jsonb_typeof(jobs) is distinct from 'array' then
    raise exception 'jobs must be a JSON array' using errcode = 'FM001', hint = 'Pass [{"kind": "…", "payload": {…}}, …].';
  end if;
  v_keyed := jsonb_path_exists(jobs, '$[*].idempotency_key');
  if v_keyed then
    select k.ids, k.created into v_ids, v_created from fairmill.take_keys_v1(jobs, shared) k;
    v_todo := v_created;
  end if;
  if jsonb_path_exists(jobs, '$[*].unique_key') then
    v_keyed := true;
    select u.ids, u.created, u.todo, u.conflicts, u.due_in_ms into v_ids, v_created, v_todo, v_conflicts, v_due_in_ms
    from fairmill.enqueue_unique_v1(jobs, shared, v_ids, v_created) u;
  end if;

  return query
  with made as (
    insert into fairmill.job (id, kind, payload, tenant, queue, priority, max_attempts, key, run_at, expire_at, state)
    overriding system value
    select
      coalesce(v_ids[given.n], nextval('fairmill.job_id_seq')),
      coalesce(given.job ->> 'kind', v_kind),
      coalesce(given.job -> 'payload', '{}'),
      coalesce(given.job ->> 'tenant', v_tenant),
      coalesce(given.job ->> 'queue', v_queue),
      coalesce((given.job ->> 'priority')::smallint, v_priority),
      coalesce((given.job ->> 'max_attempts')::smallint, v_max_attempts),
      coalesce(given.job ->> 'key', v_key),
      due.at,
      coalesce(due.at, now()) + coalesce((given.job ->> 'expire_ms')::float8, v_expire_ms) * interval '1 millisecond',
      case when due.at > now() then 'scheduled' else 'ready' end
    from jsonb_array_elements(jobs) with ordinality as given (job, n)
    cross join lateral (select coalesce(
      (given.job ->> 'run_at')::timestamptz,
      now() + (given.job ->> 'delay_ms')::float8 * interval '1 millisecond', v_run_at) as at offset 0) due
    where not v_keyed or v_todo[given.n]
    returning job.id)
  select made.id, true, null::text from made where not v_keyed
  union all
  select v_ids[n], v_created[n], coalesce(v_conflicts[n], case when not v_created[n] then 'known' end)
  from generate_subscripts(v_ids, 1) as n where v_keyed;

  if wake then
    -- A job that has its time later wakes nobody now, but somebody then.
    perform fairmill.wake_v1(array_agg(distinct given.queue) filter (where given.due_in_ms <= 0),
      least(min(given.due_in_ms) filter (where given.due_in_ms > 0), v_due_in_ms))
    from (select coalesce(e.job ->> 'queue', v_queue) as queue,
            -- In the order in which the insert looks for it: what the job says itself goes before what all have in common.
            coalesce(extract(epoch from (e.job ->> 'run_at')::timestamptz - now()) * 1000, (e.job ->> 'delay_ms')::float8,
                     extract(epoch from v_run_at - now()) * 1000, 0)::float8 as due_in_ms
          from jsonb_array_elements(jobs) as e (job)) given;
  end if;
end
$$;
