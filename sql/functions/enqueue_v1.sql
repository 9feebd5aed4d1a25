-- Stores one job: the plain SQL entry point, with named arguments.
--   select id from fairmill.enqueue_v1('mail.send', '{"to": "a@example.com"}', tenant => 'acme');
create or replace function fairmill.enqueue_v1(
  kind text, payload jsonb default '{}', tenant text default 'default', queue text default 'default', priority integer default 0,
  run_at timestamptz default null, delay interval default null, expire interval default null,
  max_attempts integer default 3, key text default null, idempotency_key text default null,
  unique_key text default null, unique_until text default null, unique_for interval default null, on_conflict text default null,
  debounce interval default null, debounce_max interval default null)
returns table (id bigint, created boolean, conflict text)
language sql
set search_path = pg_catalog, pg_temp
as $$
  select made.id, made.created, made.conflict from fairmill.enqueue_many_v1(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
    'kind', kind, 'tenant', tenant, 'queue', queue, 'priority', priority, 'max_attempts', max_attempts, 'key', key,
    'run_at', run_at, 'delay_ms', extract(epoch from delay) * 1000, 'expire_ms', extract(epoch from expire) * 1000,
    'idempotency_key', idempotency_key, 'unique_key', unique_key, 'unique_until', unique_until,
    'unique_for_ms', extract(epoch from unique_for) * 1000, 'on_conflict', on_conflict,
    'debounce_ms', extract(epoch from debounce) * 1000, 'debounce_max_ms', extract(epoch from debounce_max) * 1000)) || jsonb_build_object('payload', payload))) made
$$;
