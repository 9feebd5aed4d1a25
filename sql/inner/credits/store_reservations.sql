-- Writes the reservations of jobs that were stored, and takes their credits from the balances, under the accounts'
-- locks.
-- Locks: none: the caller has 15 account.
-- Plan expected: a probe of the primary key of account per account.
create or replace function fairmill.store_reservations(jobs fairmill.new_job[])
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  with reserved as (
    insert into fairmill.credit_entry (id, account, kind, amount, job_id)
    overriding system value
    select j.reservation, j.account, 'reservation', j.amount, j.id
    from unnest(jobs) as j
    where j.reservation is not null and j.conflict is null and j.refusal is null
    order by j.n
    returning account, amount),
  total as (select r.account, sum(r.amount)::bigint as amount from reserved r group by r.account)
  update fairmill.account a set balance = a.balance - total.amount, reserved = a.reserved + total.amount
  from total
  where a.name = total.account;
end
$$;
