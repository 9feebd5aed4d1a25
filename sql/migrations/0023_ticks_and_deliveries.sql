-- When the next tick of a schedule was computed, by the database's clock. A time in the future says that the clock has gone back since: the
-- tick may lie as far ahead as the clock was wrong, and is computed again (reset_schedule_v1).
set local lock_timeout = '10s';

alter table fairmill.schedule add column moved_at timestamptz not null default clock_timestamp();
-- Upkeep asks for the latest one.
create index schedule_moved on fairmill.schedule (moved_at) where paused_at is null;

-- Deliveries as they are on record: a row for each answer of a receiver that it took the message, and one for a message that has none. So a key
-- that is there twice was delivered twice:  select idempotency_key from fairmill.channel_outbox group by idempotency_key having count(*) > 1
-- The key is that of the whole outbox: tenant, channel and the publisher's key, which may be the same for two tenants or channels.
create view fairmill.channel_outbox as
select o.id, o.tenant, o.channel, concat_ws('/', o.tenant, o.channel, o.idempotency_key) as idempotency_key, o.idempotency_key as message_key, o.status,
  (taken.attempt ->> 'at')::timestamptz as sent_at, taken.attempt ->> 'worker' as worker, o.created_at, o.ended_at
from fairmill.outbox o
left join lateral (select a.attempt from jsonb_array_elements(o.attempts) as a (attempt) where a.attempt ->> 'outcome' = 'sent') taken on true;
