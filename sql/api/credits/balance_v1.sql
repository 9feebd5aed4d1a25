-- What an account has free, and what jobs have reserved of it. An account that does not exist has nothing.
-- Result: available and reserved, in units.
-- Locks: none.
-- Plan expected: a probe of account, a range of credit_pending_account.
create or replace function fairmill.balance_v1(account text, out available bigint, out reserved bigint)
language plpgsql stable
as $$
#variable_conflict use_column
begin
  select coalesce(sum(x.balance), 0)::bigint, coalesce(sum(x.reserved), 0)::bigint into available, reserved
  from (
    select a.balance, a.reserved from fairmill.account a where a.name = balance_v1.account
    union all
    select p.released, -p.ended from fairmill.credit_pending p where p.account = balance_v1.account) x;
end
$$;
