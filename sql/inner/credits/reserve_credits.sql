-- Which jobs their accounts can pay for, in the order given. The reservations are written by store_reservations when
-- the jobs are stored.
-- Result: the jobs with the entry of their reservation, or refused; left_over: by account, what is left after these
-- reservations.
-- A job whose unique key is another's needs no reservation, because it will not be stored; if the key turns out to be
-- free, store_unique_jobs takes one from what is left. A job that cannot be paid for takes nothing from those behind
-- it.
-- Locks: 15 account. Entries get their ids under them: the entries of an account, by id, never sum up to less than
-- nothing.
create or replace function fairmill.reserve_credits(inout jobs fairmill.new_job[], out left_over jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job     record;
  v_account text;
  v_left    bigint;
begin
  select coalesce(jsonb_object_agg(a.name, a.balance), '{}') into left_over
  from fairmill.lock_accounts(array(select j.account from unnest(jobs) as j where j.account is not null)) a;
  for v_job in
    select asked.n, asked.account, asked.amount
    from (
      select j.n, j.account, j.amount, j.tenant, j.kind, j.unique_key, j.unique_for_ms is not null as is_period,
        j.unique_key is not null
          and row_number() over (partition by j.tenant, j.kind, j.unique_key order by j.n) > 1 as is_second
      from unnest(jobs) as j
      where j.conflict is null and j.refusal is null) asked
    where asked.account is not null and not asked.is_second and (asked.unique_key is null
      or fairmill.unique_holder(asked.tenant, asked.kind, asked.unique_key, asked.is_period) is null)
    order by asked.account collate "C", asked.n
  loop
    if v_account is distinct from v_job.account then
      v_account := v_job.account;
      v_left := coalesce((left_over ->> v_account)::bigint, 0);
    end if;
    if v_job.amount <= v_left then
      v_left := v_left - v_job.amount;
      left_over := left_over || jsonb_build_object(v_account, v_left);
      jobs[v_job.n].reservation := nextval('fairmill.credit_entry_id_seq');
    else
      jobs[v_job.n].refusal := jsonb_build_object('code', 'FAIRMILL_CREDITS_EXHAUSTED', 'account', v_account,
        'amount', v_job.amount, 'balance', v_left);
    end if;
  end loop;
end
$$;
