-- The credits of a job, as why_v1 reports them. Part of why_v1.
--   reservation  the entry that holds or held its units; null: it never had any
--   refusal      of a job that its account did not let in: what it was refused with
--   is_live      whether it has not ended
-- Result: credits, where the job has to do with an account: what it holds, or what a retry would need and the account
-- has.
create or replace function fairmill.why_credits(reservation bigint, refusal jsonb, is_live boolean)
returns table (check_name text, passed boolean, reason text, detail jsonb)
language sql stable
as $$
  select 'credits', is_live or b.available >= c.amount,
    case when is_live then 'It has reserved ' || c.amount || ' of the account "' || c.account || '".'
      when b.available >= c.amount
        then 'A retry would reserve ' || c.amount || ' of the account "' || c.account || '", which has '
          || b.available || '.'
      else 'A retry needs ' || c.amount || ' of the account "' || c.account || '", which has ' || b.available
        || ': it is refused until there are enough.' end,
    jsonb_build_object('account', c.account, 'amount', c.amount, 'balance', b.available)
  from (
    select e.account, e.amount from fairmill.credit_entry e where e.id = why_credits.reservation
    union all
    select refusal ->> 'account', (refusal ->> 'amount')::bigint
    where refusal ->> 'code' = 'FAIRMILL_CREDITS_EXHAUSTED') c
  cross join lateral fairmill.balance_v1(c.account) b
$$;
