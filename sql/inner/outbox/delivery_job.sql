-- The job that delivers a message, as enqueue_many_v1 takes it. The message itself stays in the outbox. Its kind names
-- the channel, so that a worker claims only what it can send, and limits and pauses of kinds are limits and pauses of
-- channels.
-- What the outbox does not check is checked here, and not when the message's turn has come: that is in the settle of
-- another job, which can do nothing about it.
-- Receivers fail more often than handlers: unless set otherwise, it tries ten times.
create or replace function fairmill.delivery_job(message jsonb)
returns jsonb
language sql stable
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'kind', 'fairmill.deliver.' || (message ->> 'channel'), 'payload', '{}'::jsonb,
    'tenant', coalesce(message ->> 'tenant', 'default'),
    'queue', coalesce(message ->> 'queue', 'outbox')::fairmill.label,
    'priority', (message ->> 'priority')::smallint,
    'max_attempts', coalesce((message ->> 'max_attempts')::smallint, 10::smallint)::fairmill.max_attempts,
    'key', message -> 'key',
    'run_at', coalesce((message ->> 'run_at')::timestamptz,
      now() + (message ->> 'delay_ms')::float8 * interval '1 millisecond'),
    'expire_ms', message -> 'expire_ms', 'trace', (message ->> 'trace')::fairmill.trace))
$$;
