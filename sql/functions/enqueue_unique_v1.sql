-- The part of enqueue_many_v1 for jobs with a unique key: takes their keys, stores those that own one, and settles what becomes of the
-- others. Fields of a job: unique_key; unique_until (started | settled) or unique_for_ms; on_conflict (keep | replace | refuse);
-- debounce_ms, debounce_max_ms.
--   jobs      with what limits and credits added to them;  known_ids, known_created: what the idempotency keys led to
--   partial   a refused job is left out; false: it is an error (40001), because enqueue_many_v1 looked before
--   known_refusals  of jobs that something else refused
-- Result: for every job of the array its id, whether it is made, whether enqueue_many_v1 still has to insert it, the conflict (kept: the
-- key belongs to another job, which stays as it is; replaced: the other job was waiting and got what this one brought; it keeps the credits
-- that it holds, whatever this one would hold), all refusals, in how many milliseconds upkeep has something to do for the first of them (null:
-- nothing), and the jobs with the holds of those that turned out to need one.
-- Locks: index entries of job_unique and rows of unique_period in key order, so that two callers with the same keys cannot deadlock;
-- each is settled before the next is touched. A job that is kept is not locked.
-- Plan expected: an insert per job; a probe of job_unique where the key is taken.
create or replace function fairmill.enqueue_unique_v1(jobs jsonb, shared jsonb, known_ids bigint[], known_created boolean[], partial boolean, known_refusals jsonb,
  out ids bigint[], out created boolean[], out todo boolean[], out conflicts text[], out refusals jsonb, out due_in_ms float8, out paid jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_job      record;
  v_owner    bigint;
  v_state    text;
  v_due      float8;
  v_conflict text;
  v_outcome  text;
  v_place    integer;
  v_rounds   integer;
  v_hold     bigint;
  v_left     bigint;
begin
  paid := jobs;
  ids := known_ids;
  created := known_created;
  refusals := known_refusals;
  todo := created;
  conflicts := array_fill(null::text, array[cardinality(ids)]);

  for v_job in
    select given.n::integer as n, ids[given.n] as id,
      coalesce(given.job ->> 'tenant', shared ->> 'tenant', 'default')::fairmill.label as tenant,
      coalesce(given.job ->> 'kind', shared ->> 'kind')::fairmill.label as kind,
      (given.job ->> 'unique_key')::fairmill.unique_key as unique_key,
      coalesce(given.job -> 'payload', '{}')::fairmill.payload as payload,
      coalesce(given.job ->> 'queue', shared ->> 'queue', 'default')::fairmill.label as queue,
      coalesce((given.job ->> 'priority')::smallint, (shared ->> 'priority')::smallint, 0::smallint) as priority,
      coalesce((given.job ->> 'max_attempts')::smallint, (shared ->> 'max_attempts')::smallint, 3::smallint)::fairmill.max_attempts as max_attempts,
      coalesce(given.job ->> 'key', shared ->> 'key') as key,
      coalesce((given.job ->> 'expire_ms')::float8, (shared ->> 'expire_ms')::float8) as expire_ms,
      case when rule.debounce_ms is null then coalesce(
          (given.job ->> 'run_at')::timestamptz, now() + (given.job ->> 'delay_ms')::float8 * interval '1 millisecond',
          (shared ->> 'run_at')::timestamptz, now() + (shared ->> 'delay_ms')::float8 * interval '1 millisecond')
        else now() + least(rule.debounce_ms, rule.debounce_max_ms) * interval '1 millisecond' end as due_at,
      case when rule.debounce_ms is not null then rule.debounce_max_ms * interval '1 millisecond' end as after_max,
      coalesce((given.job ->> 'unique_for_ms')::float8, (shared ->> 'unique_for_ms')::float8) as for_ms,
      coalesce(given.job ->> 'unique_until', shared ->> 'unique_until',
        case when rule.debounce_ms is null then 'settled' else 'started' end)::fairmill.unique_until as unique_until,
      coalesce(given.job ->> 'on_conflict', shared ->> 'on_conflict',
        case when rule.debounce_ms is null then 'keep' else 'replace' end) as on_conflict,
      given.job ->> 'idempotency_key' as idempotency_key,
      given.job ->> 'limit_key' as limit_key, (given.job ->> 'slot')::integer as slot, given.job ->> 'state' as state, (given.job ->> 'hold')::bigint as hold,
      given.job ->> 'account' as account, (given.job ->> 'amount')::bigint as amount,
      (given.job ->> 'outbox')::bigint as outbox, coalesce((given.job ->> 'batch')::bigint, (shared ->> 'batch')::bigint) as batch
    from jsonb_array_elements(jobs) with ordinality as given (job, n)
    cross join lateral (select
      coalesce((given.job ->> 'debounce_ms')::float8, (shared ->> 'debounce_ms')::float8) as debounce_ms,
      coalesce((given.job ->> 'debounce_max_ms')::float8, (shared ->> 'debounce_max_ms')::float8) as debounce_max_ms offset 0) rule
    where given.job ->> 'unique_key' is not null and created[given.n] and (known_refusals is null or not known_refusals ? given.n::text)
    order by 3, 4, 5, 1
  loop
    if v_job.on_conflict not in ('keep', 'replace', 'refuse') then
      raise exception 'on_conflict "%" is not known', v_job.on_conflict using errcode = 'FM001', hint = 'Say keep, replace or refuse.';
    end if;
    todo[v_job.n] := false;
    v_rounds := 0;
    v_hold := v_job.hold;
    -- Once, as a rule. Again when the job that stood in the way started, ended or was cancelled before it could be looked at.
    loop
      v_rounds := v_rounds + 1;
      if v_rounds > 1000 then
        raise exception 'unique key "%" changes hands all the time', v_job.unique_key using errcode = '40001';
      end if;
      v_owner := v_job.id;
      v_due := extract(epoch from v_job.due_at - now()) * 1000;
      v_conflict := null;
      if v_job.account is not null and v_hold is null then
        -- Its key was another job's when the accounts were asked. It is stored only if it has been paid for meanwhile.
        v_owner := coalesce(fairmill.unique_holder_v1(v_job.tenant, v_job.kind, v_job.unique_key, v_job.for_ms is not null), v_job.id);
        if v_owner = v_job.id then
          select l.hold, l.available into v_hold, v_left from fairmill.hold_late_v1(paid, v_job.account, v_job.amount) l;
          v_conflict := case when v_hold is null then 'unpaid' end;
          exit when v_hold is null;
          paid := jsonb_set(paid, array[(v_job.n - 1)::text, 'hold'], to_jsonb(v_hold));
        end if;
      end if;
      if v_owner = v_job.id and v_job.for_ms is not null then
        v_owner := fairmill.take_period_v1(v_job.tenant, v_job.kind, v_job.unique_key, v_job.id, v_job.for_ms);
      end if;
      if v_owner = v_job.id then
        insert into fairmill.job (id, kind, payload, tenant, queue, priority, max_attempts, key, limit_key, slot, hold, outbox, batch, run_at, expire_at, state, aside, unique_key, unique_until)
        overriding system value
        values (v_job.id, v_job.kind, v_job.payload, v_job.tenant, v_job.queue, v_job.priority, v_job.max_attempts, v_job.key, v_job.limit_key, v_job.slot, v_hold, v_job.outbox, v_job.batch,
          case when v_job.state = 'scheduled' then coalesce(v_job.due_at, now()) else v_job.due_at end,
          coalesce(v_job.due_at, now()) + v_job.expire_ms * interval '1 millisecond',
          case when v_job.due_at > now() then 'scheduled' else coalesce(v_job.state, 'ready') end,
          case when v_job.due_at > now() then 'scheduled' else nullif(v_job.state, 'ready') end,
          case when v_job.for_ms is null then v_job.unique_key end, case when v_job.for_ms is null then v_job.unique_until end)
        on conflict (tenant, kind, unique_key) where unique_key is not null do nothing;
        exit when found;
        -- A new statement has a new snapshot, so the job that stood in the way is visible here, if it still does.
        select j.id, j.state into v_owner, v_state from fairmill.job j
        where j.tenant = v_job.tenant and j.kind = v_job.kind and j.unique_key = v_job.unique_key;
        continue when not found;
      elsif v_job.on_conflict = 'replace' then
        -- The job of a period may have ended; then there is nothing to replace.
        select j.state into v_state from fairmill.job j where j.id = v_owner;
        v_state := coalesce(v_state, 'ended');
        continue when v_state = 'ended' and v_job.for_ms is null;
      end if;

      v_conflict := case v_job.on_conflict when 'refuse' then 'refused' else 'kept' end;
      exit when v_job.on_conflict <> 'replace' or v_state in ('running', 'ended');
      select r.outcome, r.due_in_ms into v_outcome, v_due
      from fairmill.replace_waiting_v1(v_owner, case when v_job.for_ms is null then v_job.unique_key end, v_job.payload, v_job.key, v_job.limit_key, v_job.slot,
        v_job.priority, v_job.due_at, v_job.after_max, v_job.expire_ms) r;
      v_conflict := case v_outcome when 'begun' then 'kept' else v_outcome end;
      exit when v_outcome is not null;
    end loop;

    if v_conflict is null or v_conflict = 'replaced' then
      due_in_ms := least(due_in_ms, case when v_conflict = 'replaced' or v_due > 0 then v_due end);
    end if;
    continue when v_conflict is null;

    created[v_job.n] := false;
    if v_conflict in ('refused', 'unpaid') then
      if not partial then
        raise exception 'the unique key of a job of kind "%" changed hands this moment', v_job.kind using errcode = '40001', hint = 'Try again.';
      end if;
      refusals := coalesce(refusals, '{}') || jsonb_build_object(v_job.n::text, case v_conflict
        when 'refused' then jsonb_build_object('code', 'FAIRMILL_DUPLICATE_JOB', 'kind', v_job.kind, 'job_id', v_owner::text)
        else jsonb_build_object('code', 'FAIRMILL_CREDITS_EXHAUSTED', 'account', v_job.account, 'amount', v_job.amount, 'balance', greatest(0, v_left)) end);
    else
      conflicts[v_job.n] := v_conflict;
    end if;
    if v_job.idempotency_key is null then
      ids[v_job.n] := v_owner;
      continue;
    end if;
    -- The idempotency key that this call took leads to the job that stands for this one, or is given back.
    if v_conflict in ('refused', 'unpaid') then
      delete from fairmill.idempotency i where i.tenant = v_job.tenant and i.kind = v_job.kind and i.key = v_job.idempotency_key;
    else
      update fairmill.idempotency i set job_id = v_owner
      where i.tenant = v_job.tenant and i.kind = v_job.kind and i.key = v_job.idempotency_key;
    end if;
    -- So do its repeats in the same array.
    foreach v_place in array array_positions(ids, v_job.id) loop
      ids[v_place] := v_owner;
      if v_conflict in ('refused', 'unpaid') then
        refusals := refusals || jsonb_build_object(v_place::text, refusals -> v_job.n::text);
      end if;
    end loop;
  end loop;
end
$$;
