-- Reads a list of jobs as callers give it, once: defaults filled in, values checked, an id for each.
--   jobs    array of objects: see enqueue_many_v1;  shared: what a job has unless it names its own
--           content of a job: {"storage", "key"}, the file that has its payload
-- Result: the jobs in the order given; each stands at its position.
create or replace function fairmill.parse_jobs(jobs jsonb, shared jsonb)
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_jobs         fairmill.new_job[];
  v_now          timestamptz := now();
  v_kind         text := shared ->> 'kind';
  v_tenant       text := coalesce(shared ->> 'tenant', 'default');
  v_queue        text := coalesce(shared ->> 'queue', 'default');
  v_priority     smallint := coalesce((shared ->> 'priority')::smallint, 0);
  v_max_attempts smallint := coalesce((shared ->> 'max_attempts')::smallint, 3);
  v_key          text := shared ->> 'key';
  v_run_at       timestamptz := coalesce((shared ->> 'run_at')::timestamptz,
                                         v_now + (shared ->> 'delay_ms')::float8 * interval '1 millisecond');
  v_expire_ms    float8 := (shared ->> 'expire_ms')::float8;
  v_timeout_ms   bigint := (shared ->> 'timeout_ms')::bigint;
  v_tags         text[] := case when shared ? 'tags'
    then array(select jsonb_array_elements_text(nullif(shared -> 'tags', 'null'))) end;
  v_trace        text := shared ->> 'trace';
  v_until        text := shared ->> 'unique_until';
  v_for_ms       float8 := (shared ->> 'unique_for_ms')::float8;
  v_on_conflict  text := shared ->> 'on_conflict';
  v_debounce_ms  float8 := (shared ->> 'debounce_ms')::float8;
  v_debounce_max float8 := (shared ->> 'debounce_max_ms')::float8;
  v_account      text := shared ->> 'account';
  v_amount       numeric := (shared ->> 'amount')::numeric;
  v_batch        bigint := (shared ->> 'batch')::bigint;
  v_uses         jsonb := shared -> 'uses';
  v_odd          text;
  -- Before the first id of a job: what news_v1 proves stands on it.
  v_xid          xid8 := pg_current_xact_id();
begin
  if jsonb_typeof(jobs) is distinct from 'array' then
    raise exception 'jobs must be a JSON array' using errcode = 'FM001',
      hint = 'Pass [{"kind": "…", "payload": {…}}, …].';
  end if;
  if v_amount is not null or jsonb_path_exists(jobs, '$[*].amount') then
    select a.amount into v_odd
    from (select v_amount union all select (e.job ->> 'amount')::numeric from jsonb_array_elements(jobs) as e (job))
      as a (amount)
    where a.amount <> trunc(a.amount) or a.amount not between 1 and 1000000000000 limit 1;
    if found then
      raise exception 'amount: % is not a whole number from 1 to 1000000000000', v_odd using errcode = 'FM001',
        hint = 'Count credits in units that are never divided.';
    end if;
  end if;
  select array_agg(row(
      given.n, nextval('fairmill.job_id_seq'),
      coalesce(given.kind, v_kind)::fairmill.label, coalesce(given.tenant, v_tenant)::fairmill.label,
      coalesce(given.queue, v_queue)::fairmill.label, coalesce(given.priority, v_priority),
      coalesce(given.max_attempts, v_max_attempts)::fairmill.max_attempts, coalesce(given.key, v_key),
      coalesce(given.job -> 'payload', '{}')::fairmill.payload, due.at, coalesce(given.expire_ms, v_expire_ms),
      coalesce(given.timeout_ms, v_timeout_ms)::fairmill.timeout_ms,
        nullif(coalesce(given.tags, v_tags), '{}')::fairmill.tags,
      coalesce(given.trace, v_trace)::fairmill.trace,
      given.idempotency_key, given.unique_key::fairmill.unique_key,
      coalesce(given.unique_until, v_until, case when rule.debounce_ms is null then 'settled'
        else 'started' end)::fairmill.unique_until,
      coalesce(given.unique_for_ms, v_for_ms),
      coalesce(given.on_conflict, v_on_conflict, case when rule.debounce_ms is null then 'keep' else 'replace' end),
      case when rule.debounce_ms is not null then rule.max_ms end,
      rule.account, rule.amount, coalesce(given.batch, v_batch), given.outbox,
      case when due.at > v_now then 'scheduled' else 'ready' end,
      null, null, null, null, null, null, nullif(coalesce(given.uses, v_uses), 'null'))::fairmill.new_job)
    into v_jobs
  from rows from (
      jsonb_to_recordset(jobs) as (kind text, tenant text, queue text, priority smallint, max_attempts smallint,
        key text,
        run_at timestamptz, delay_ms float8, expire_ms float8, timeout_ms bigint, tags text[], trace text,
          idempotency_key text, unique_key text, unique_until text,
        unique_for_ms float8, on_conflict text, debounce_ms float8, debounce_max_ms float8, account text,
          amount numeric,
        batch bigint, outbox bigint, uses jsonb),
      jsonb_array_elements(jobs)) with ordinality
    as given (kind, tenant, queue, priority, max_attempts, key, run_at, delay_ms, expire_ms, timeout_ms, tags, trace,
      idempotency_key, unique_key, unique_until,
      unique_for_ms, on_conflict, debounce_ms, debounce_max_ms, account, amount, batch, outbox, uses, job, n)
  cross join lateral (
    select case when given.unique_key is not null then coalesce(given.debounce_ms, v_debounce_ms) end as debounce_ms,
      coalesce(given.debounce_max_ms, v_debounce_max) as max_ms, coalesce(given.account, v_account) as account,
      case when coalesce(given.account, v_account) is not null
        then coalesce(given.amount, v_amount, 1) end as amount offset 0) rule
  cross join lateral (
    select case when rule.debounce_ms is not null
      then v_now + least(rule.debounce_ms, rule.max_ms) * interval '1 millisecond'
      else coalesce(given.run_at, v_now + given.delay_ms * interval '1 millisecond', v_run_at) end as at offset 0) due;
  if jsonb_path_exists(jobs, '$[*].content') then
    insert into fairmill.content (storage, key, job_id)
    select c.content ->> 'storage', c.content ->> 'key', j.id from unnest(v_jobs) as j
    cross join lateral (select jobs -> (j.n::integer - 1) -> 'content' as content) c
    where jsonb_typeof(c.content) = 'object';
  end if;
  return coalesce(v_jobs, '{}');
end
$$;
