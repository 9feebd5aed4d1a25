-- Stores one message for a receiver outside of the database, with the job that delivers it: the plain SQL entry point.
--   select id from fairmill.publish_v1('telegram', '{"chat": 17, "text": "Ready."}',
--     idempotency_key => 'order-93-ready');
-- Result: one row: the id, and whether the message was created. If the key was known for this tenant and channel,
-- nothing is stored, and the id is the first message's.
-- A limit at enqueue that does not let the delivery job in is an error: FM010 for a rate, FM011 for slots; its detail
-- is the refusal as JSON.
-- Locks: as publish_many_v1.
create or replace function fairmill.publish_v1(
  channel text, payload jsonb default '{}', tenant text default 'default', idempotency_key text default null,
  order_key text default null, queue text default 'outbox', priority integer default 0,
  run_at timestamptz default null, delay interval default null, expire interval default null,
  max_attempts integer default null, key text default null)
returns table (id bigint, created boolean)
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_made record;
begin
  select made.* into v_made from fairmill.publish_many_v1(jsonb_build_array(
    jsonb_strip_nulls(jsonb_build_object('channel', channel, 'tenant', tenant, 'idempotency_key', idempotency_key,
      'order_key', order_key, 'queue', queue, 'priority', priority, 'run_at', run_at,
      'delay_ms', extract(epoch from delay) * 1000, 'expire_ms', extract(epoch from expire) * 1000,
      'max_attempts', max_attempts, 'key', key))
    || jsonb_build_object('payload', payload))) made;
  if v_made.refused is not null then
    raise exception 'a limit of channel "%" does not let the message in now', channel
      using errcode = case v_made.refused ->> 'code' when 'FAIRMILL_RATE_LIMIT' then 'FM010' else 'FM011' end,
        detail = v_made.refused::text, hint = 'Publish it again later.';
  end if;
  id := v_made.id;
  created := v_made.created;
  return next;
end
$$;
