-- Holds the units of an ended job once more, because it is run again. Result: the new hold; null: the account has not enough.
-- Locks: the account.
create or replace function fairmill.hold_again_v1(old_hold bigint, job_id bigint)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_old fairmill.credit_entry;
  v_new bigint;
begin
  select * into v_old from fairmill.credit_entry e where e.id = old_hold;
  if coalesce((select a.balance from fairmill.lock_accounts_v1(array[v_old.account]) a), 0) < v_old.amount then
    return null;
  end if;
  insert into fairmill.credit_entry (account, kind, amount, job_id) values (v_old.account, 'hold', v_old.amount, hold_again_v1.job_id) returning id into v_new;
  update fairmill.account a set balance = a.balance - v_old.amount, held = a.held + v_old.amount where a.name = v_old.account;
  return v_new;
end
$$;
