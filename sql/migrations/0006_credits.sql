-- Credits: accounts with whole units. A job holds units when it is enqueued; its end captures them (done) or gives them back (any other).

-- Whoever holds the table for longer makes this fail and be run again, instead of making everybody wait behind it.
set local lock_timeout = '10s';

alter table fairmill.job add column hold bigint;          -- the credit_entry that holds units for it
alter table fairmill.job_history add column hold bigint;

-- What an account has. Locked by those who take from it; whoever ends a hold does not touch it (credit_pending).
create table fairmill.account (
  name          text collate "C" primary key,
  balance       bigint      not null default 0,           -- free
  held          bigint      not null default 0,           -- by jobs that have not ended
  created_at    timestamptz not null default now(),
  constraint account_name_fits check (octet_length(name) between 1 and 200),
  constraint account_balance_fits check (balance >= 0 and held >= 0 and balance + held <= 9007199254740991)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);

-- Every movement, written once and never changed.
create table fairmill.credit_entry (
  id            bigint generated always as identity primary key,
  account       text collate "C" not null,
  kind          text collate "C" not null,
  amount        bigint      not null,
  hold_id       bigint,                                   -- of an end: the hold that it ends
  job_id        bigint,
  key           text collate "C",                         -- of a grant: the same key grants once
  reason        text,
  created_at    timestamptz not null default clock_timestamp(),
  constraint credit_entry_kind_is_known check (kind in ('grant', 'hold', 'capture', 'release')),
  constraint credit_entry_amount_fits check (amount between 1 and 1000000000000),
  constraint credit_entry_is_whole check (case when kind in ('capture', 'release') then hold_id is not null and job_id is not null
    when kind = 'hold' then hold_id is null and job_id is not null else hold_id is null and job_id is null end)
);
-- A hold ends once, in one way.
create unique index credit_entry_end on fairmill.credit_entry (hold_id) where hold_id is not null;
create unique index credit_entry_key on fairmill.credit_entry (account, key) where key is not null;
-- The statement of an account, newest first. Not the bare id: whoever looks for one entry by its id, planned while the table was empty,
-- would walk along this index from end to end.
create index credit_entry_account on fairmill.credit_entry (account, (id + 0));

-- Ends of holds that the account does not know of yet: whoever locks it next, or upkeep, adds them up. So a settle never waits for a
-- transaction that has the account locked.
create table fairmill.credit_pending (
  entry_id      bigint      primary key,
  account       text collate "C" not null,
  ended         bigint      not null,                     -- no longer held
  released      bigint      not null                      -- of these, free again
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
create index credit_pending_account on fairmill.credit_pending (account);

-- These have arguments or results more: PostgreSQL replaces none of them in place.
do $$
declare
  v_old regprocedure;
begin
  for v_old in select p.oid::regprocedure from pg_proc p
    where p.pronamespace = 'fairmill'::regnamespace and p.proname in ('enqueue_v1', 'gates_at_enqueue_v1', 'enqueue_unique_v1')
  loop
    execute format('drop function %s', v_old);
  end loop;
end
$$;
