-- Stores the jobs that have a unique key, one after the other: those that own their key are inserted; for the others
-- the job that owns it stands, as it is (kept) or with what the newer one brought (replaced: it waited, and keeps the
-- credits that it has reserved).
--   left_over    by account, what reserve_credits left: for jobs whose key turned out to be free after all
--   all_or_none  a refusal is an error (40001), because refuse_duplicates looked before
-- Result: due_ms: in how many milliseconds upkeep has something to do for the first of them; null: nothing.
-- Locks: 18 unique key, then as replace_waiting.
-- A job that is kept is not locked.
-- Plan expected: an insert per job; a probe of job_unique where the key is taken.
create or replace function fairmill.store_unique_jobs(inout jobs fairmill.new_job[], inout left_over jsonb,
  all_or_none boolean, out due_ms float8)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job     fairmill.new_job;
  v_owner   bigint;
  v_state   text;
  v_due_ms  float8;
  v_outcome text;      -- null: stored; kept, replaced, refused, unpaid
  v_rounds  integer;
  v_left    bigint;
begin
  for v_job in
    select j.* from unnest(jobs) as j where j.unique_key is not null and j.conflict is null and j.refusal is null
    order by j.tenant collate "C", j.kind collate "C", j.unique_key collate "C", j.n
  loop
    if v_job.on_conflict not in ('keep', 'replace', 'refuse') then
      raise exception 'on_conflict "%" is not known', v_job.on_conflict using errcode = 'FM001',
        hint = 'Say keep, replace or refuse.';
    end if;
    v_rounds := 0;
    -- Once, as a rule. Again when the job that stood in the way started, ended or was cancelled before it could be
    -- looked at.
    loop
      v_rounds := v_rounds + 1;
      if v_rounds > 1000 then
        raise exception 'unique key "%" keeps changing its holder', v_job.unique_key using errcode = '40001';
      end if;
      v_outcome := null;
      v_owner := v_job.id;
      v_due_ms := extract(epoch from v_job.run_at - now()) * 1000;
      if v_job.account is not null and v_job.reservation is null then
        -- Its key was another job's when the accounts were asked. It is stored only if its account can pay for it now.
        v_owner := coalesce(fairmill.unique_holder(v_job.tenant, v_job.kind, v_job.unique_key,
          v_job.unique_for_ms is not null), v_job.id);
        if v_owner = v_job.id then
          v_left := coalesce((left_over ->> v_job.account)::bigint, 0);
          v_outcome := case when v_job.amount > v_left then 'unpaid' end;
          exit when v_outcome is not null;
          left_over := left_over || jsonb_build_object(v_job.account, v_left - v_job.amount);
          v_job.reservation := nextval('fairmill.credit_entry_id_seq');
        end if;
      end if;
      if v_owner = v_job.id and v_job.unique_for_ms is not null then
        v_owner := fairmill.take_unique_period(v_job.tenant, v_job.kind, v_job.unique_key, v_job.id,
          v_job.unique_for_ms);
      end if;
      if v_owner = v_job.id then
        exit when fairmill.insert_jobs(array[v_job]) = 1;
        -- A new statement has a new snapshot, so the job that stood in the way is visible here, if it still does.
        select j.id, j.state into v_owner, v_state from fairmill.job j
        where j.tenant = v_job.tenant and j.kind = v_job.kind and j.unique_key = v_job.unique_key;
        continue when not found;
      elsif v_job.on_conflict = 'replace' then
        -- The job of a period may have ended; then there is nothing to replace.
        select j.state into v_state from fairmill.job j where j.id = v_owner;
        v_state := coalesce(v_state, 'ended');
        continue when v_state = 'ended' and v_job.unique_for_ms is null;
      end if;
      v_outcome := case v_job.on_conflict when 'refuse' then 'refused' else 'kept' end;
      exit when v_job.on_conflict <> 'replace' or v_state in ('running', 'ended');
      select r.outcome, r.due_in_ms into v_outcome, v_due_ms from fairmill.replace_waiting(v_owner, v_job) r;
      exit when v_outcome is not null;
    end loop;

    jobs[v_job.n].reservation := v_job.reservation;
    if v_outcome is null or v_outcome = 'replaced' then
      due_ms := least(due_ms, case when v_outcome = 'replaced' or v_due_ms > 0 then v_due_ms end);
    end if;
    continue when v_outcome is null;
    if v_outcome in ('kept', 'replaced') then
      jobs[v_job.n].conflict := v_outcome;
      jobs[v_job.n].id := v_owner;
      continue;
    end if;
    if all_or_none then
      raise exception 'the unique key of a job of kind "%" has just changed its holder',
        v_job.kind using errcode = '40001', hint = 'Try again.';
    end if;
    jobs[v_job.n].refusal := case v_outcome
      when 'refused' then jsonb_build_object('code', 'FAIRMILL_DUPLICATE_JOB', 'kind', v_job.kind, 'job_id',
        v_owner::text)
      else jsonb_build_object('code', 'FAIRMILL_CREDITS_EXHAUSTED', 'account', v_job.account, 'amount', v_job.amount,
        'balance', greatest(0, v_left)) end;
  end loop;
end
$$;
