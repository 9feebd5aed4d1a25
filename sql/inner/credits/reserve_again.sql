-- Reserves the units of ended jobs again, because they are run again, in the order of their ids. A job whose account
-- has not enough takes nothing from those behind it.
--   old_reservations, job_ids  the jobs and what they had reserved
--   others  accounts that the transaction will need besides: all are locked here, in one order, or two callers could
--           wait for each other
-- Result: by job id the new reservation; a job that is not in it cannot be paid for.
-- Locks: 15 account.
-- Plan expected: a probe of the primary key of credit_entry per reservation, of account per account.
create or replace function fairmill.reserve_again(old_reservations bigint[], job_ids bigint[],
  others text[] default '{}')
returns jsonb
language plpgsql
as $$
#variable_conflict use_column
declare
  v_accounts     text[];     -- of the jobs that are paid for, with amount, job and the new reservation beside
  v_amounts      bigint[];
  v_jobs         bigint[];
  v_reservations bigint[];
  v_balances     jsonb;
  v_old          record;
  v_account      text;
  v_left         bigint;
begin
  select jsonb_object_agg(a.name, a.balance) into v_balances
  from fairmill.lock_accounts(others || array(
    select e.account from unnest(old_reservations) as given (reservation)
    cross join lateral (select x.account from fairmill.credit_entry x where x.id = given.reservation offset 0) e)) a;
  for v_old in
    select e.account, e.amount, given.job_id
    from unnest(old_reservations, job_ids) as given (reservation, job_id)
    cross join lateral (
      select x.account, x.amount from fairmill.credit_entry x where x.id = given.reservation offset 0) e
    order by e.account collate "C", given.job_id
  loop
    if v_account is distinct from v_old.account then
      v_account := v_old.account;
      v_left := coalesce((v_balances -> v_account)::bigint, 0);
    end if;
    continue when v_old.amount > v_left;
    v_left := v_left - v_old.amount;
    v_accounts := v_accounts || v_account;
    v_amounts := v_amounts || v_old.amount;
    v_jobs := v_jobs || v_old.job_id;
    -- Under the lock: the entries of an account, by id, never sum up to less than nothing.
    v_reservations := v_reservations || nextval('fairmill.credit_entry_id_seq');
  end loop;
  insert into fairmill.credit_entry (id, account, kind, amount, job_id)
  overriding system value
  select h.id, h.account, 'reservation', h.amount, h.job_id
  from unnest(v_reservations, v_accounts, v_amounts, v_jobs) as h (id, account, amount, job_id);
  update fairmill.account a set balance = a.balance - total.amount, reserved = a.reserved + total.amount
  from (
    select h.account, sum(h.amount)::bigint as amount from unnest(v_accounts, v_amounts) as h (account, amount)
    group by h.account) total
  where a.name = total.account;
  return (select jsonb_object_agg(h.job_id::text, h.id) from unnest(v_jobs, v_reservations) as h (job_id, id));
end
$$;
