-- Stores one job: the plain SQL entry point, with named arguments. A limit that refuses it is an error: FM010 for a rate, FM011 for
-- places; its detail is the refusal as JSON.
--   select id from fairmill.enqueue_v1('mail.send', '{"to": "a@example.com"}', tenant => 'acme');
create or replace function fairmill.enqueue_v1(
  kind text, payload jsonb default '{}', tenant text default 'default', queue text default 'default', priority integer default 0,
  run_at timestamptz default null, delay interval default null, expire interval default null,
  max_attempts integer default 3, key text default null, idempotency_key text default null)
returns table (id bigint, created boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_made record;
begin
  select made.id, made.created, made.refused into v_made from fairmill.enqueue_many_v1(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
    'kind', kind, 'tenant', tenant, 'queue', queue, 'priority', priority, 'max_attempts', max_attempts, 'key', key,
    'run_at', run_at, 'delay_ms', extract(epoch from delay) * 1000, 'expire_ms', extract(epoch from expire) * 1000,
    'idempotency_key', idempotency_key)) || jsonb_build_object('payload', payload))) made;
  if v_made.refused ->> 'code' = 'FAIRMILL_RATE_LIMIT' then
    raise exception 'the rate of % "%" is used up until %', v_made.refused ->> 'scope', v_made.refused ->> 'name', v_made.refused ->> 'retry_at'
      using errcode = 'FM010', detail = v_made.refused::text, hint = 'Enqueue it again then.';
  elsif v_made.refused is not null then
    raise exception 'a job of % is active already', v_made.refused ->> 'key'
      using errcode = 'FM011', detail = v_made.refused::text, hint = 'Enqueue it again when that job has ended, or let the kind wait instead of refuse.';
  end if;
  id := v_made.id;
  created := v_made.created;
  return next;
end
$$;
