-- Stores one job: the plain SQL entry point, with named arguments. What does not let it in is an error: FM010 for a
-- rate, FM011 for slots, FM012 for a unique key, FM013 for credits, FM014 for units of a limit; its detail is the
-- refusal as JSON.
--   select id from fairmill.enqueue_v1('mail.send', '{"to": "a@example.com"}', tenant => 'acme');
-- Result: one row: the id, whether the job was created, and otherwise the conflict (known | kept | replaced).
-- Locks: as enqueue_many_v1.
create or replace function fairmill.enqueue_v1(
  kind text, payload jsonb default '{}', tenant text default 'default', queue text default 'default',
    priority integer default 0,
  run_at timestamptz default null, delay interval default null, expire interval default null,
  max_attempts integer default 3, key text default null, idempotency_key text default null,
  unique_key text default null, unique_until text default null, unique_for interval default null,
    on_conflict text default null,
  debounce interval default null, debounce_max interval default null,
  account text default null, amount bigint default null, timeout interval default null, tags text[] default null,
  trace text default null, uses jsonb default null)
returns table (id bigint, created boolean, conflict text)
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_made  record;
  v_wrong text;
begin
  -- The types of a job refuse the same; here a person reads which argument it was.
  v_wrong := case
    when kind is null or octet_length(kind) not between 1 and 200
      then format('kind: %L is not a name of 1 to 200 bytes', kind)
    when octet_length(tenant) not between 1 and 200 then format('tenant: %L is not a name of 1 to 200 bytes', tenant)
    when octet_length(queue) not between 1 and 200 then format('queue: %L is not a name of 1 to 200 bytes', queue)
    when priority not between -1000 and 1000 then format('priority: %s is not from -1000 to 1000', priority)
    when max_attempts not between 1 and 1000 then format('max_attempts: %s is not from 1 to 1000', max_attempts)
    when timeout < interval '0' then format('timeout: %L is less than none', timeout)
    when expire < interval '0' then format('expire: %L is less than none', expire)
    when cardinality(tags) > 16 or exists (select from unnest(tags) as t (tag)
        where t.tag is null or length(t.tag) not between 1 and 64)
      then format('tags: %L are not at most 16 texts of 1 to 64 characters', tags)
  end;
  if v_wrong is not null then
    raise exception '%', v_wrong using errcode = '23514';
  end if;
  if amount is not null and account is null then
    raise exception 'amount says how many credits of an account: name it' using errcode = 'FM001',
      hint = 'account => ''user-17''';
  end if;
  select made.* into v_made from fairmill.enqueue_many_v1(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
    'kind', kind, 'tenant', tenant, 'queue', queue, 'priority', priority, 'max_attempts', max_attempts, 'key', key,
    'run_at', run_at, 'delay_ms', extract(epoch from delay) * 1000, 'expire_ms', extract(epoch from expire) * 1000,
    'idempotency_key', idempotency_key, 'unique_key', unique_key, 'unique_until', unique_until,
    'unique_for_ms', extract(epoch from unique_for) * 1000, 'on_conflict', on_conflict,
    'debounce_ms', extract(epoch from debounce) * 1000, 'debounce_max_ms', extract(epoch from debounce_max) * 1000,
    'account', account, 'amount', amount, 'timeout_ms', (extract(epoch from timeout) * 1000)::bigint, 'tags', tags,
    'trace', trace, 'uses', uses)) || jsonb_build_object('payload', payload))) made;
  case v_made.refused ->> 'code'
    when 'FAIRMILL_RATE_LIMIT' then
      raise exception 'the rate of % "%" is used up until %', v_made.refused ->> 'scope', v_made.refused ->> 'name',
        v_made.refused ->> 'retry_at'
        using errcode = 'FM010', detail = v_made.refused::text, hint = 'Enqueue it again then.';
    when 'FAIRMILL_ACTIVE_LIMIT' then
      raise exception 'a job of % is active already', v_made.refused ->> 'key'
        using errcode = 'FM011', detail = v_made.refused::text,
          hint = 'Enqueue it again when that job has ended, or let the kind wait instead of refuse.';
    when 'FAIRMILL_DUPLICATE_JOB' then
      raise exception 'job % of kind "%" has this unique key already', v_made.refused ->> 'job_id',
        v_made.refused ->> 'kind'
        using errcode = 'FM012', detail = v_made.refused::text,
          hint = 'on_conflict => ''keep'' answers with the job that is there.';
    when 'FAIRMILL_CREDITS_EXHAUSTED' then
      raise exception 'the account "%" has % credits left, and the job needs %', v_made.refused ->> 'account',
        v_made.refused ->> 'balance', v_made.refused ->> 'amount'
        using errcode = 'FM013', detail = v_made.refused::text, hint = 'Grant more: select fairmill.grant_v1(…).';
    when 'FAIRMILL_OVER_LIMIT' then
      raise exception 'the job asks for % % of the limit "%", which never has more than %', v_made.refused ->> 'asked',
        v_made.refused ->> 'unit', v_made.refused ->> 'limit', v_made.refused ->> 'most'
        using errcode = 'FM014', detail = v_made.refused::text, hint = 'Split the job, or raise the limit.';
    when 'FAIRMILL_BUDGET_EXHAUSTED' then
      raise exception 'the budget of tenant "%" for this % is spent: % of % %', v_made.refused ->> 'tenant',
        v_made.refused ->> 'per', v_made.refused ->> 'spent', v_made.refused ->> 'hard', v_made.refused ->> 'currency'
        using errcode = 'FM015', detail = v_made.refused::text,
          hint = 'Enqueue it again when the next one begins, or raise the budget with set_budget_v1.';
    else
      id := v_made.id;
      created := v_made.created;
      conflict := v_made.conflict;
      return next;
  end case;
end
$$;
