-- A job on its way in: what the caller said of it, with every default filled in, and what the checks before the insert have found.
create type fairmill.new_job as (
  n               integer,      -- its position in the caller's list, from 1
  id              bigint,       -- its own; where another job stands for it, that one's
  kind            text,
  tenant          text,
  queue           text,
  priority        smallint,
  max_attempts    smallint,
  key             text,
  payload         jsonb,
  run_at          timestamptz,  -- null: at once
  expire_ms       float8,
  idempotency_key text,
  unique_key      text,
  unique_until    text,
  unique_for_ms   float8,
  on_conflict     text,
  debounce_max_ms float8,       -- of a debounced job alone
  account         text,
  amount          bigint,
  batch           bigint,
  outbox          bigint,
  state           text,         -- in which it is stored: ready | scheduled | blocked
  limit_key       text,
  when_full       text,         -- what the limit of its key says when all slots are taken: wait | refuse; null: no such limit
  slot            integer,
  reservation     bigint,       -- the entry of its credits
  conflict        text,         -- known | kept | replaced: another job stands for it; null: none does
  refusal         jsonb         -- why it is not stored; null: nothing stands against it
);
