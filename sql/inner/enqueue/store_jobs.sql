-- Stores jobs: the one way into the table. Every check sees the whole list and writes what it finds into the jobs
-- themselves; what none of them refuses is stored.
--   jobs     as parse_jobs read them
--   wake     wake sleeping workers
--   alone    the transaction ends with this statement: slots of keys may be taken at once
--   refused  what becomes of the list when a job is refused: none (nothing is stored), rest (the others are), buried
--            (the others are, and the refused ones are stored as dead: they can be looked at and retried, and their
--            batch counts them)
-- Result: the jobs with id, conflict and refusal as they turned out. A job that is not stored has no id, unless another
-- stands for it.
-- Locks: 13 batch, 14 idempotency key, 15 account, 16 enqueue meter, with alone 17 key meter, then as
-- store_unique_jobs.
-- Plan expected: one insert from the array; no index is read unless a job asks for a check.
create or replace function fairmill.store_jobs(jobs fairmill.new_job[], wake boolean, alone boolean, refused text)
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_asks     record;   -- which checks this list needs
  v_left     jsonb;    -- by account, what is left after the reservations of this list
  v_n        integer;
  v_due_ms   float8;   -- when upkeep has something to do for a job that was replaced
begin
  select coalesce(bool_or(j.batch is not null), false) as batches,
    coalesce(bool_or(j.idempotency_key is not null), false) as keys,
    coalesce(bool_or(j.unique_key is not null), false) as uniques,
      coalesce(bool_or(j.account is not null), false) as credits,
    coalesce(bool_or(j.uses is not null), false) as uses,
    fairmill.has_limits_at_enqueue(array_agg(distinct j.kind)) as limits
    into v_asks
  from unnest(jobs) as j;

  if v_asks.batches then
    jobs := fairmill.join_batches(jobs);
  end if;
  if v_asks.keys then
    jobs := fairmill.take_idempotency_keys(jobs);
  end if;
  if v_asks.uniques and refused = 'none' then
    jobs := fairmill.refuse_duplicates(jobs);
  end if;
  if v_asks.uses then
    jobs := fairmill.check_uses(jobs);
  end if;
  if v_asks.limits and exists (select from fairmill.budget b where b.closed_until > now()) then
    jobs := fairmill.refuse_spent(jobs);
  end if;
  if v_asks.credits then
    select c.jobs, c.left_over into jobs, v_left from fairmill.reserve_credits(jobs) c;
  end if;
  if v_asks.limits then
    jobs := fairmill.slots_at_enqueue(fairmill.find_limit_keys(jobs));
    jobs := fairmill.rates_at_enqueue(jobs, refused = 'none');
    -- A job with a unique key may turn out not to be stored: it takes its slot when it is promoted.
    jobs := fairmill.slots_of_waiting(jobs, alone and not v_asks.uniques);
  end if;
  if refused = 'none' and exists (select from unnest(jobs) as j where j.refusal is not null) then
    jobs := fairmill.settle_idempotency_keys(jobs, false);
    for v_n in 1 .. cardinality(jobs) loop
      jobs[v_n].id := null;
      jobs[v_n].conflict := null;
    end loop;
    return jobs;
  end if;

  if v_asks.uniques then
    select u.jobs, u.left_over, u.due_ms into jobs, v_left, v_due_ms
      from fairmill.store_unique_jobs(jobs, v_left, refused = 'none') u;
  end if;
  perform fairmill.insert_jobs(case when v_asks.uniques
    then array(select j from unnest(jobs) as j where j.unique_key is null) else jobs end);
  if v_asks.credits then
    perform fairmill.store_reservations(jobs);
  end if;
  if v_asks.keys then
    jobs := fairmill.settle_idempotency_keys(jobs, true);
  end if;
  if refused = 'buried' then
    perform fairmill.bury_jobs(jobs);
  end if;
  if wake or v_asks.limits then
    perform fairmill.announce_jobs(jobs, wake, alone, v_due_ms);
  end if;
  if refused = 'rest' then
    for v_n in select j.n from unnest(jobs) as j where j.refusal is not null loop
      jobs[v_n].id := null;
    end loop;
  end if;
  return jobs;
end
$$;
