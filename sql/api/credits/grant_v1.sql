-- Gives units to an account, which is made if it does not exist.
--   amount  1 to 1,000,000,000,000 units;  reason: for the statement
--   key     the same key gives once per account: a repeated call changes nothing, whatever amount it names
-- Result: what the account has left now, and whether this call gave (false: the key was known).
-- Locks: 15 account.
create or replace function fairmill.grant_v1(account text, amount bigint, key text default null,
  reason text default null, out balance bigint, out granted boolean)
language plpgsql
as $$
#variable_conflict use_column
begin
  if coalesce(octet_length(grant_v1.account) not between 1 and 200, true) then
    raise exception 'an account has a name of 1 to 200 bytes' using errcode = 'FM001';
  end if;
  if coalesce(grant_v1.amount not between 1 and 1000000000000, true) then
    raise exception 'amount: % is not a whole number from 1 to 1000000000000', grant_v1.amount using errcode = 'FM001';
  end if;
  insert into fairmill.account (name) values (grant_v1.account) on conflict do nothing;
  perform fairmill.lock_accounts(array[grant_v1.account]);
  insert into fairmill.credit_entry (account, kind, amount, key, reason)
  values (grant_v1.account, 'grant', grant_v1.amount, grant_v1.key, grant_v1.reason)
  on conflict (account, key) where key is not null do nothing;
  granted := found;
  if granted then
    update fairmill.account a
    set balance = a.balance + grant_v1.amount
    where a.name = grant_v1.account
      -- As far as every language counts without rounding.
      and a.balance + a.reserved + grant_v1.amount <= 9007199254740991;
    if not found then
      raise exception 'the account "%" has all the credits that fit into it', grant_v1.account using errcode = 'FM001';
    end if;
  end if;
  select a.balance into balance from fairmill.account a where a.name = grant_v1.account;
end
$$;
