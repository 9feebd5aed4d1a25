-- Locks accounts, in the order of their names, and adds up the reservations that ended since.
-- Result: a row per account that exists: its name and what it has left now.
-- Locks: 15 account. Settles take none of them.
-- Plan expected: a probe of the primary key, backwards (as in lock_meters), and a range of credit_pending_account per
-- account.
create or replace function fairmill.lock_accounts(names text[])
returns table (name text, balance bigint)
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_names text[] := array(select distinct u.name collate "C" from unnest(names) as u (name) order by 1);
begin
  -- From here on only those that are locked: an account that a concurrent grant makes is not, and does not exist yet.
  v_names := array(
    select locked.name from unnest(v_names) as given (name)
    cross join lateral (
      select a.name from fairmill.account a
      where a.name <= given.name and a.name >= given.name
      order by a.name desc limit 1 for update) locked);
  -- A new statement: it sees what was given back before the lock was had.
  with gone as (
    delete from fairmill.credit_pending p where p.account = any (v_names) returning p.account, p.ended, p.released),
  sums as (
    select g.account, sum(g.ended)::bigint as ended, sum(g.released)::bigint as released from gone g group by g.account)
  update fairmill.account a set balance = a.balance + s.released, reserved = a.reserved - s.ended
  from sums s
  where a.name = s.account;
  return query
    select a.name, a.balance from unnest(v_names) as given (name)
    cross join lateral (
      select x.name, x.balance from fairmill.account x
      where x.name <= given.name and x.name >= given.name
      order by x.name desc limit 1) a;
end
$$;
