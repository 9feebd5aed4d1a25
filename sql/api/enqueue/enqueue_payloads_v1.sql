-- Stores many jobs that differ in their payload and tenant at most: the short way of enqueue_many_v1, and the same in
-- everything else. The caller guarantees it; whether a limit refuses them is
-- checked here, once for all of them.
--   payloads  array: one payload per job
--   tenants   one per job; null where all have the same
--   shared    what all have in common: kind, tenant, queue, priority, max_attempts, key, run_at, delay_ms, expire_ms.
--             Any other field of enqueue_many_v1 is refused: jobs that have one go that way
--   wake, alone, partial: see enqueue_many_v1
-- Result: one row: the ids in the order given, null for a job that was refused; and the refusals, an array in the order
-- of their jobs, null when there is none.
-- Locks: none but the rows it makes; where a limit has a say, as store_jobs.
-- Plan expected: one insert from the array, and a probe of two small indexes.
create or replace function fairmill.enqueue_payloads_v1(payloads jsonb, shared jsonb default '{}',
  wake boolean default true,
  alone boolean default false, partial boolean default false, tenants text[] default null)
returns table (ids bigint[], refusals jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_kind         fairmill.label := shared ->> 'kind';
  v_tenant       fairmill.label := coalesce(shared ->> 'tenant', 'default');
  v_queue        fairmill.label := coalesce(shared ->> 'queue', 'default');
  v_priority     smallint := coalesce((shared ->> 'priority')::smallint, 0);
  v_max_attempts fairmill.max_attempts := coalesce((shared ->> 'max_attempts')::smallint, 3);
  v_key          text := shared ->> 'key';
  v_run_at       timestamptz := coalesce((shared ->> 'run_at')::timestamptz,
    now() + (shared ->> 'delay_ms')::float8 * interval '1 millisecond');
  v_expire_at    timestamptz := coalesce(v_run_at, now()) + (shared ->> 'expire_ms')::float8 * interval '1 millisecond';
  v_aside        text := case when v_run_at > now() then 'scheduled' end;
  v_state        text := coalesce(v_aside, 'ready');
  v_due_in_ms    float8;
  v_other        text;
  v_xid          xid8;
begin
  if jsonb_typeof(payloads) is distinct from 'array' then
    raise exception 'payloads must be a JSON array' using errcode = 'FM001',
      hint = 'Pass [{…}, {…}]: one payload per job.';
  end if;
  if cardinality(tenants) <> jsonb_array_length(payloads) then
    raise exception '% tenants for % payloads', cardinality(tenants),
      jsonb_array_length(payloads) using errcode = 'FM001',
      hint = 'Pass one tenant per job, or none and say it in shared.';
  end if;
  if v_kind like 'fairmill.%' then
    perform fairmill.refuse_reserved(jsonb_build_array(shared));
  end if;
  if shared - '{kind,tenant,queue,priority,max_attempts,key,run_at,delay_ms,expire_ms}'::text[] <> '{}' then
    select k into v_other
    from jsonb_object_keys(shared - '{kind,tenant,queue,priority,max_attempts,key,run_at,delay_ms,expire_ms}'::text[])
      as k limit 1;
    raise exception 'shared: jobs with % have more to them than payload and tenant', v_other using errcode = 'FM001',
      hint = 'Call enqueue_many_v1, which takes every field.';
  end if;
  if fairmill.has_limits_at_enqueue(array[v_kind]) then
    select coalesce(array_agg(made.id order by made.n), '{}'),
      jsonb_agg(made.refusal order by made.n) filter (where made.refusal is not null)
      into ids, refusals
    from unnest(fairmill.store_jobs(fairmill.parse_jobs((
        select coalesce(jsonb_agg(jsonb_build_object('payload', e.payload, 'tenant', coalesce(tenants[e.n], v_tenant))
          order by e.n), '[]')
        from jsonb_array_elements(payloads) with ordinality as e (payload, n)), shared),
      wake, alone, case when partial then 'rest' else 'none' end)) as made;
    return next;
    return;
  end if;

  -- A transaction id before the ids: what news_v1 proves stands on it.
  v_xid := pg_current_xact_id();
  -- All ids at once, before the first row: two callers then write to different pages of the indexes, instead of waiting
  -- for each other at the last one. The lists below are read in step.
  ids := array(select nextval('fairmill.job_id_seq') from generate_series(1, jsonb_array_length(payloads)));
  insert into fairmill.job (id, kind, payload, tenant, queue, priority, max_attempts, key, run_at, expire_at, state,
    aside)
  overriding system value
  select given.id, v_kind, given.payload::fairmill.payload, coalesce(given.tenant::fairmill.label, v_tenant), v_queue,
    v_priority, v_max_attempts,
    v_key, v_run_at, v_expire_at, v_state, v_aside
  from (select unnest(ids) as id, jsonb_array_elements(payloads) as payload, unnest(tenants) as tenant) as given;

  if wake and ids <> '{}' then
    -- A delayed job wakes no worker now; the signal says when it is due.
    v_due_in_ms := extract(epoch from v_run_at - now()) * 1000;
    perform fairmill.wake_v1(case when v_due_in_ms > 0 then '{}' else array[v_queue] end, case when v_due_in_ms > 0
      then v_due_in_ms end);
  end if;
  return next;
end
$$;
