-- Named limits: windows of units (requests, tokens, pages) that jobs of any kinds share. A job that uses none pays
-- nothing for them.

-- What limits are defined, as callers and workers reported it. Each report is a row of its own, so that no session
-- waits for another one's commit; the last one is in force, and upkeep removes the others (adopt_limits).
create table fairmill.named_limit (
  id            bigint      generated always as identity primary key,
  name          text collate "C" not null,
  -- [{"unit", "limit", "per_ms", "n"}, …]: n tells windows of the same unit apart, in the order of the definition
  windows       jsonb       not null,
  reported_at   timestamptz not null,
  constraint named_limit_name_fits check (octet_length(name) between 1 and 200),
  constraint named_limit_windows_fit check (jsonb_typeof(windows) = 'array' and jsonb_array_length(windows) between 1
    and 20)
);
create index named_limit_order on fairmill.named_limit (name, reported_at desc, id desc);

-- What was used beyond what a window holds: it counts as soon as there is room (pay_debt). Until then no job starts
-- under it. Meters of named limits have the scope limit; a name is limit, key, unit and n of the window as JSON.
alter table fairmill.meter add column owed bigint constraint meter_owed_fits check (owed > 0);

-- What a run of the job takes: [{"limit", "key", "units": {"tokens": 1500}}, …]. Under used what its handler has said
-- so far, with the lease under which it did.
alter table fairmill.job add column uses jsonb;
alter table fairmill.job_history add column uses jsonb;
alter type fairmill.new_job add attribute uses jsonb;

-- The limit and key for whose units it waits, from the claim that delayed it to the one that starts it.
alter table fairmill.job add column waits_for text collate "C";
create index job_waits_for on fairmill.job (waits_for, run_at) where aside = 'scheduled' and waits_for is not null;

-- A second call with the same key answers with the batch or flow that the first one made, for as long as that is kept.
alter table fairmill.batch add column idempotency_key text collate "C"
  constraint batch_idempotency_key_fits check (length(idempotency_key) between 1 and 500);
create unique index batch_idempotency on fairmill.batch (tenant, role, idempotency_key)
  where idempotency_key is not null;

-- A schedule may start flows: its job then has a member flow, as start_flow_v1 takes it, and a tick says which it made.
alter table fairmill.schedule_tick add column flow_id bigint;

-- Of a capture: what of the reservation was not used and goes back to the account. The end of a reservation stays one
-- row. A refund gives back what was captured, once per reservation, by its key.
alter table fairmill.credit_entry add column returned bigint;
alter table fairmill.credit_entry add constraint credit_entry_returned_fits
  check (returned is null or kind = 'capture' and returned between 1 and amount);
alter table fairmill.credit_entry drop constraint credit_entry_kind_is_known;
alter table fairmill.credit_entry add constraint credit_entry_kind_is_known
  check (kind in ('grant', 'reservation', 'capture', 'release', 'refund'));
alter table fairmill.credit_entry drop constraint credit_entry_is_whole;
alter table fairmill.credit_entry add constraint credit_entry_is_whole check (case
  when kind in ('capture', 'release') then reservation_id is not null and job_id is not null
  when kind = 'reservation' then reservation_id is null and job_id is not null
  when kind = 'refund' then reservation_id is null and job_id is not null and key is not null
  else reservation_id is null and job_id is null end);
