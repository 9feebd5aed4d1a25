-- Stores many jobs in one statement. The way in for the library and for every other language.
--   jobs     array of objects: kind, payload, tenant, queue, priority, max_attempts, key, run_at, delay_ms, expire_ms, idempotency_key,
--            account and amount (credits to hold), batch (of which it is a member), unique_key, and what belongs to it: see enqueue_unique_v1
--   shared   fields that every job of the array has unless it names its own
--   wake     tell sleeping workers; the library says false and calls wake_v1 beside it, outside this transaction
--   alone    the transaction ends with this statement: limits may lock keys at once. In a transaction of your own leave it false.
--   partial  some of the jobs may be refused; false: if one is refused, none is stored
-- Result: one row per job in the order given: its id, whether this call made it, and if not why: known (the idempotency key was), kept,
-- replaced (the unique key is another job's); refused: what did not let it in. Then id is null, and so is the id of every other job
-- unless partial.
-- Locks: as join_batches_v1; with idempotency keys, their rows in key order; with credits, the accounts by name; with limits, see gates_at_enqueue_v1; then
-- unique keys in key order. A second caller with the same key waits for the first one's commit.
-- Plan expected: one insert from the array; no index is read unless a key is given or the kind has limits.
create or replace function fairmill.enqueue_many_v1(jobs jsonb, shared jsonb default '{}', wake boolean default true, alone boolean default false,
  partial boolean default false)
returns table (id bigint, created boolean, conflict text, refused jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_jobs      jsonb := jobs;
  v_ids       bigint[];    -- with keys or limits: the id of each job, taken before the insert
  v_created   boolean[];
  v_todo      boolean[];   -- which jobs the insert below stores; null: all
  v_conflicts text[];
  v_keyed     boolean;
  v_unique    boolean;
  v_gated     boolean;
  v_paid      boolean;     -- with credits
  v_linked    boolean;     -- with a batch or an outbox row
  v_refusals  jsonb;
  v_due_in_ms float8;      -- when upkeep has something to do for the first of the unique jobs
  -- What all have in common is read once, not once per job.
  v_kind         text := shared ->> 'kind';
  v_tenant       text := coalesce(shared ->> 'tenant', 'default');
  v_queue        text := coalesce(shared ->> 'queue', 'default');
  v_priority     smallint := coalesce((shared ->> 'priority')::smallint, 0);
  v_max_attempts smallint := coalesce((shared ->> 'max_attempts')::smallint, 3);
  v_key          text := shared ->> 'key';
  v_run_at       timestamptz := coalesce((shared ->> 'run_at')::timestamptz, now() + (shared ->> 'delay_ms')::float8 * interval '1 millisecond');
  v_expire_ms    float8 := (shared ->> 'expire_ms')::float8;
  v_batch        bigint := (shared ->> 'batch')::bigint;
begin
  if jsonb_typeof(jobs) is distinct from 'array' then
    raise exception 'jobs must be a JSON array' using errcode = 'FM001', hint = 'Pass [{"kind": "…", "payload": {…}}, …].';
  end if;
  perform fairmill.refuse_reserved_v1(case when v_kind is null then jobs else jobs || jsonb_build_array(jsonb_build_object('kind', v_kind)) end);
  v_keyed := jsonb_path_exists(jobs, '$[*].idempotency_key');
  v_unique := jsonb_path_exists(jobs, '$[*].unique_key');
  v_gated := fairmill.has_gates_at_enqueue_v1(jobs, v_kind);
  v_paid := shared ? 'account' or jsonb_path_exists(jobs, '$[*].account');
  v_linked := v_batch is not null or jsonb_path_exists(jobs, '$[*] ? (exists (@.batch) || exists (@.outbox))');
  if v_linked then
    v_refusals := fairmill.join_batches_v1(jobs, shared);
  end if;
  if v_keyed then
    select k.ids, k.created into v_ids, v_created from fairmill.take_keys_v1(jobs, shared) k;
    v_todo := v_created;
    if v_refusals is not null then
      -- A job that is known was let in when it came.
      select jsonb_object_agg(r.key, r.value) into v_refusals from jsonb_each(v_refusals) r where v_created[r.key::integer];
    end if;
  end if;
  if v_unique and v_refusals is null and not partial then
    v_refusals := fairmill.unique_refusals_v1(jobs, shared, v_created);
  end if;
  if v_paid and (v_refusals is null or partial) then
    select h.paid, h.refusals into v_jobs, v_refusals from fairmill.hold_credits_v1(jobs, shared, v_created, v_refusals) h;
  end if;
  if v_gated and (v_refusals is null or partial) then
    -- Whether a job with a unique key is stored at all is not known yet: it does not take its place now, but when it is promoted.
    select g.gated, g.refusals into v_jobs, v_refusals from fairmill.gates_at_enqueue_v1(v_jobs, shared, v_created, alone and not v_unique, partial, v_refusals) g;
  end if;
  if v_refusals is not null then
    if v_keyed then
      -- A repeat in the same call shares the fate of the first with its idempotency key: there is no job that it could be told of.
      select v_refusals || coalesce(jsonb_object_agg(again.n::text, v_refusals -> first.n::text), '{}') into v_refusals
      from generate_subscripts(v_ids, 1) as first (n) join generate_subscripts(v_ids, 1) as again (n) on v_ids[again.n] = v_ids[first.n]
      where v_created[first.n] and not v_created[again.n] and v_refusals ? first.n::text;
      -- A key that a refused job took is free again.
      delete from fairmill.idempotency i where i.job_id = any (array(
        select v_ids[n] from generate_subscripts(v_ids, 1) as n where v_created[n] and (not partial or v_refusals ? n::text)))
        and i.created_at = now();
    end if;
    if not partial then
      return query select null::bigint, false, null::text, v_refusals -> n::text from generate_series(1, jsonb_array_length(jobs)) as n;
      return;
    end if;
  end if;
  if v_ids is null and (v_gated or v_unique or v_paid or v_refusals is not null) then
    v_ids := array(select nextval('fairmill.job_id_seq') from generate_series(1, jsonb_array_length(jobs)));
    v_created := array_fill(true, array[cardinality(v_ids)]);
    v_todo := v_created;
  end if;
  if v_unique then
    select u.ids, u.created, u.todo, u.conflicts, u.refusals, u.due_in_ms, u.paid into v_ids, v_created, v_todo, v_conflicts, v_refusals, v_due_in_ms, v_jobs
    from fairmill.enqueue_unique_v1(v_jobs, shared, v_ids, v_created, partial, v_refusals) u;
  end if;

  return query
  with made as (
    insert into fairmill.job (id, kind, payload, tenant, queue, priority, max_attempts, key, run_at, expire_at, state, aside, limit_key, slot, hold, outbox, batch)
    overriding system value
    select
      coalesce(v_ids[given.n], nextval('fairmill.job_id_seq')),
      coalesce(given.job ->> 'kind', v_kind)::fairmill.label,
      coalesce(given.job -> 'payload', '{}')::fairmill.payload,
      coalesce(given.job ->> 'tenant', v_tenant)::fairmill.label,
      coalesce(given.job ->> 'queue', v_queue)::fairmill.label,
      coalesce((given.job ->> 'priority')::smallint, v_priority),
      coalesce((given.job ->> 'max_attempts')::smallint, v_max_attempts)::fairmill.max_attempts,
      coalesce(given.job ->> 'key', v_key),
      due.at,
      coalesce(due.at, now()) + coalesce((given.job ->> 'expire_ms')::float8, v_expire_ms) * interval '1 millisecond',
      new.state,
      nullif(new.state, 'ready'),
      case when v_gated then given.job ->> 'limit_key' end,
      case when v_gated then (given.job ->> 'slot')::integer end,
      case when v_paid then (given.job ->> 'hold')::bigint end,
      case when v_linked then (given.job ->> 'outbox')::bigint end,
      case when v_linked then coalesce((given.job ->> 'batch')::bigint, v_batch) end
    from jsonb_array_elements(v_jobs) with ordinality as given (job, n)
    cross join lateral (select coalesce(
      (given.job ->> 'run_at')::timestamptz,
      now() + (given.job ->> 'delay_ms')::float8 * interval '1 millisecond', v_run_at,
      case when v_gated and given.job ->> 'state' = 'scheduled' then now() end) as at offset 0) due
    cross join lateral (select case when due.at > now() then 'scheduled' when v_gated then coalesce(given.job ->> 'state', 'ready') else 'ready' end as state offset 0) new
    where (v_todo is null or v_todo[given.n]) and (v_refusals is null or not v_refusals ? given.n::text)
    returning job.id)
  select made.id, true, null::text, null::jsonb from made where v_ids is null
  union all
  select case when refusal.why is null then v_ids[n] end, v_created[n] and refusal.why is null,
         case when refusal.why is null then coalesce(v_conflicts[n], case when not v_created[n] then 'known' end) end, refusal.why
  from generate_subscripts(v_ids, 1) as n cross join lateral (select v_refusals -> n::text as why) refusal where v_ids is not null;

  if v_paid then
    perform fairmill.store_holds_v1(v_jobs, v_ids,
      array(select v_created[n] and (v_refusals is null or not v_refusals ? n::text) from generate_subscripts(v_ids, 1) as n order by n));
  end if;
  if wake or v_gated then
    -- A job that has its time later wakes nobody now, but somebody then. One that still needs its place is promoted at once: that only
    -- this function knows.
    perform fairmill.wake_v1(array_agg(distinct given.queue) filter (where wake and given.due_in_ms <= 0 and not given.needs_place),
        least(min(greatest(given.due_in_ms, 0)) filter (where wake and given.due_in_ms > 0 or given.needs_place), v_due_in_ms)),
      -- That is said to those who are awake, too: when a long transaction commits, its ids are old news, and nobody would look for them. Nor
      -- for a job that was replaced and needs another place, or gave up the one it had.
      case when (bool_or(given.needs_place and given.due_in_ms <= 0) and not alone or v_due_in_ms <= 0)
                and exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > now())
           then pg_notify('fairmill', '!due 0') end
    from (select coalesce(e.job ->> 'queue', v_queue) as queue, v_gated and e.job ->> 'state' is not distinct from 'scheduled' as needs_place,
            -- In the order in which the insert looks for it: what the job says itself goes before what all have in common.
            coalesce(extract(epoch from (e.job ->> 'run_at')::timestamptz - now()) * 1000, (e.job ->> 'delay_ms')::float8,
                     extract(epoch from v_run_at - now()) * 1000, 0)::float8 as due_in_ms
          from jsonb_array_elements(v_jobs) as e (job)) given;
  end if;
end
$$;
