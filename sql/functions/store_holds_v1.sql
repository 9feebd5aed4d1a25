-- Writes the holds of jobs that were stored, and takes their units from the balances. Part of enqueue_many_v1, under the accounts' locks.
--   jobs    with the fields hold, account, amount;  ids: the id of each;  stored: whether it is a new job
-- Plan expected: a probe of the primary key of account per account.
create or replace function fairmill.store_holds_v1(jobs jsonb, ids bigint[], stored boolean[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
begin
  with held as (
    insert into fairmill.credit_entry (id, account, kind, amount, job_id)
    overriding system value
    select (e.job ->> 'hold')::bigint, e.job ->> 'account', 'hold', (e.job ->> 'amount')::bigint, ids[e.n]
    from jsonb_array_elements(jobs) with ordinality as e (job, n)
    where e.job ->> 'hold' is not null and stored[e.n]
    order by e.n
    returning account, amount),
  total as (select h.account, sum(h.amount)::bigint as amount from held h group by h.account)
  update fairmill.account a set balance = a.balance - total.amount, held = a.held + total.amount from total where a.name = total.account;
end
$$;
