-- A hold for a job that was thought to need none: its unique key was another's a moment ago and is free now. Part of enqueue_unique_v1,
-- which holds the lock of the account.
--   jobs  as hold_credits_v1 returned them: what these hold already is taken
-- Result: the id of the hold, and what the account has left for it; hold is null: that is not enough.
create or replace function fairmill.hold_late_v1(jobs jsonb, account_name text, amount bigint, out hold bigint, out available bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
begin
  -- What the account had when it was locked: one that a grant has made since is not locked, and its lock would come too late.
  available := coalesce((select max((e.job ->> 'available')::bigint) from jsonb_array_elements(jobs) as e (job) where e.job ->> 'account' = account_name), 0)
    - coalesce((select sum((e.job ->> 'amount')::bigint) from jsonb_array_elements(jobs) as e (job)
                where e.job ->> 'hold' is not null and e.job ->> 'account' = account_name), 0);
  if hold_late_v1.amount <= available then
    hold := nextval('fairmill.credit_entry_id_seq');
  end if;
end
$$;
