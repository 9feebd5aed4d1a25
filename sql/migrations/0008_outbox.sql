-- The outbox: messages for receivers outside of the database. Each has a key of its own, and a delivery job that carries it out.

create table fairmill.outbox (
  id              bigint generated always as identity primary key,
  tenant          text collate "C" not null,
  channel         text collate "C" not null,
  idempotency_key text collate "C" not null,      -- what the receiver is told with every attempt: never another one
  payload         jsonb       not null,           -- the message; sealed where the publisher has a codec
  order_key       text collate "C",               -- messages with the same one go out one after the other; null: in no order
  status          text collate "C" not null default 'pending',
  job_id          bigint,                         -- the job that delivers it, live or ended; null: it waits for its turn
  waiting         jsonb,                          -- while it waits for its turn: what its job will be
  recheck         boolean     not null default false,   -- its turn may have come, and nobody has looked: upkeep does
  attempts        jsonb       not null default '[]',    -- one object per attempt to send: at, worker, lease_no, attempt, outcome, error
  answer          jsonb,                          -- what the receiver said when it took the message
  created_at      timestamptz not null default now(),
  ended_at        timestamptz,
  constraint outbox_status_fits check (case status
    when 'pending' then ended_at is null
    -- Somebody may have sent it: from before the first byte until its end is on record.
    when 'sending' then ended_at is null and job_id is not null
    when 'sent' then ended_at is not null
    when 'failed' then ended_at is not null
    when 'skipped' then ended_at is not null
    when 'unknown' then ended_at is not null
    else false end),
  constraint outbox_turn_fits check (waiting is null or status = 'pending' and job_id is null and order_key is not null),
  constraint outbox_names_fit check (octet_length(tenant) between 1 and 200 and octet_length(channel) between 1 and 180
    and length(idempotency_key) between 1 and 500 and octet_length(order_key) between 1 and 200),
  -- The library refuses more than 1 MiB of JSON text; this is the wall for everybody else.
  constraint outbox_payload_fits check (pg_column_size(payload) <= 2 * 1024 * 1024),
  -- A key is known once, whoever publishes, and for as long as the row is kept.
  constraint outbox_key unique (tenant, channel, idempotency_key)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- Of messages in order at most one is under way, whoever begins them.
create unique index outbox_turn on fairmill.outbox (tenant, channel, order_key) where order_key is not null and ended_at is null and waiting is null;
-- The next in turn.
create index outbox_waiting on fairmill.outbox (tenant, channel, order_key, id) where waiting is not null;
create index outbox_recheck on fairmill.outbox (id) where recheck;
-- What is under way, and what somebody must look at.
create index outbox_unsent on fairmill.outbox (status, id) where status <> 'sent';
-- Retention removes them oldest first. Not those whose fate nobody knows: they wait for somebody who does.
create index outbox_age on fairmill.outbox (ended_at) where ended_at is not null and status <> 'unknown';
