-- Adds up ended reservations of accounts that no transaction has locked since, so that they do not pile up. Returns how
-- many accounts.
-- Locks: 15 account (those that are free).
-- Plan expected: a skip-scan of credit_pending_account, empty at most times.
create or replace function fairmill.add_up_accounts(accounts_max integer default 1000)
returns integer
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_names text[];
begin
  with recursive pending (account) as (
    (select p.account from fairmill.credit_pending p order by p.account limit 1)
    union all
    select (select p.account from fairmill.credit_pending p where p.account > l.account order by p.account limit 1)
    from pending l where l.account is not null)
  select array_agg(l.account) into v_names
  from (select x.account from pending x where x.account is not null limit accounts_max) l;
  if v_names is null then
    return 0;
  end if;
  v_names := array(
    select locked.name from unnest(v_names) as given (name)
    cross join lateral (select a.name from fairmill.account a where a.name = given.name for update skip locked) locked);
  perform fairmill.lock_accounts(v_names);
  return cardinality(v_names);
end
$$;
