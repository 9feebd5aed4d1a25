-- Which jobs that are about to be stored their accounts can pay for, in the order given. Part of enqueue_many_v1: the holds are written by
-- store_holds_v1 when the jobs are.
--   jobs, shared  as enqueue_many_v1 has them; fields: account, amount (1 if not given);  created: null, or false for jobs that exist already
--   refused       of those that something else refuses, or null
-- Result: the jobs with the fields hold, the id of their hold, and available, what their account had when it was locked, added; the refusals with those added that cannot be paid for, or null.
-- A job whose unique key is another's needs no hold, because it will not be stored; if the key is free after all when it is,
-- enqueue_unique_v1 asks hold_late_v1. A job that cannot be paid for takes nothing from those behind it.
-- Locks: the accounts, by name. Ids of holds are taken under them: the entries of an account, by id, never sum up to less than nothing.
create or replace function fairmill.hold_credits_v1(jobs jsonb, shared jsonb, created boolean[], refused jsonb, out paid jsonb, out refusals jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_balances jsonb;
  v_job      record;
  v_account  text;
  v_left     bigint;
  v_holds    bigint[] := array_fill(null::bigint, array[jsonb_array_length(jobs)]);
begin
  select jsonb_object_agg(a.name, a.balance) into v_balances
  from fairmill.lock_accounts_v1(array(select coalesce(e.job ->> 'account', shared ->> 'account') from jsonb_array_elements(jobs) as e (job))) a;
  refusals := refused;
  for v_job in
    select asked.n, asked.account, asked.amount
    from (
      select said.*, said.unique_key is not null and row_number() over (partition by said.tenant, said.kind, said.unique_key order by said.n) > 1 as is_second
      from (
        select e.n::integer as n, coalesce(e.job ->> 'account', shared ->> 'account') as account,
          coalesce((e.job ->> 'amount')::numeric, (shared ->> 'amount')::numeric, 1) as amount,
          coalesce(e.job ->> 'tenant', shared ->> 'tenant', 'default') as tenant, coalesce(e.job ->> 'kind', shared ->> 'kind') as kind,
          e.job ->> 'unique_key' as unique_key, coalesce(e.job ->> 'unique_for_ms', shared ->> 'unique_for_ms') is not null as for_period
        from jsonb_array_elements(jobs) with ordinality as e (job, n)
        where (created is null or created[e.n]) and not coalesce(refused ? e.n::text, false)) said) asked
    where asked.account is not null and not asked.is_second
      and (asked.unique_key is null or fairmill.unique_holder_v1(asked.tenant, asked.kind, asked.unique_key, asked.for_period) is null)
    order by asked.account collate "C", asked.n
  loop
    if v_job.amount <> trunc(v_job.amount) or v_job.amount not between 1 and 1000000000000 then
      raise exception 'amount: % is not a whole number from 1 to 1000000000000', v_job.amount using errcode = 'FM001', hint = 'Count credits in units that are never divided.';
    end if;
    if v_account is distinct from v_job.account then
      v_account := v_job.account;
      v_left := coalesce((v_balances -> v_account)::bigint, 0);
    end if;
    if v_job.amount <= v_left then
      v_left := v_left - v_job.amount;
      v_holds[v_job.n] := nextval('fairmill.credit_entry_id_seq');
    else
      refusals := coalesce(refusals, '{}') || jsonb_build_object(v_job.n::text, jsonb_build_object('code', 'FAIRMILL_CREDITS_EXHAUSTED',
        'account', v_account, 'amount', v_job.amount::bigint, 'balance', v_left));
    end if;
  end loop;
  -- What is shared is said of each: whoever writes the holds looks at the job alone.
  select coalesce(jsonb_agg(case when coalesce(e.job ->> 'account', shared ->> 'account') is null then e.job
      else e.job || jsonb_build_object('account', coalesce(e.job ->> 'account', shared ->> 'account'),
        'amount', coalesce((e.job ->> 'amount')::numeric, (shared ->> 'amount')::numeric, 1)::bigint, 'hold', v_holds[e.n],
        'available', coalesce((v_balances -> coalesce(e.job ->> 'account', shared ->> 'account'))::bigint, 0)) end order by e.n), jobs)
    into paid
  from jsonb_array_elements(jobs) with ordinality as e (job, n);
end
$$;
