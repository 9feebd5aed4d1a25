-- Stores many jobs in one statement. The way in for the library and for every other language.
--   jobs     array of objects: kind, payload, tenant, queue, priority, max_attempts, key, run_at, delay_ms, expire_ms,
--            timeout_ms, tags, trace, uses (of named limits: see check_uses), idempotency_key,
--            account and amount (credits to reserve), batch (of which it is a member), unique_key, and what belongs to
--            it: see below
--   shared   fields that every job of the array has unless it names its own
--   wake     wake sleeping workers; the library passes false and calls wake_v1 beside it, outside this transaction
--   alone    the transaction ends with this statement: limits may lock keys at once. In a transaction of your own leave
--            it false.
--   partial  some of the jobs may be refused; false: if one is refused, none is stored
-- Result: one row per job in the order given: its id, whether this call made it, and if not why: known (the idempotency
-- key was), kept, replaced (the unique key is another job's); refused: what did not let it in. Then id is null, and so
-- is the id of every other job unless partial.
-- Locks: as store_jobs. A second caller with the same key waits for the first one's commit.
-- Plan expected: one insert from the array; no index is read unless a key is given or the kind has limits.
create or replace function fairmill.enqueue_many_v1(jobs jsonb, shared jsonb default '{}', wake boolean default true,
  alone boolean default false,
  partial boolean default false)
returns table (id bigint, created boolean, conflict text, refused jsonb)
language plpgsql
as $$
#variable_conflict use_column
begin
  -- The library says alone, and misspells nothing.
  if not alone and jsonb_typeof(jobs) = 'array' then
    perform fairmill.refuse_unknown(jobs, shared);
  end if;
  perform fairmill.refuse_reserved(jobs);
  if shared ? 'kind' then
    perform fairmill.refuse_reserved(jsonb_build_array(shared));
  end if;
  return query
    select j.id, j.id is not null and j.conflict is null, j.conflict, j.refusal
    from unnest(fairmill.store_jobs(fairmill.parse_jobs(jobs, shared), wake, alone, case when partial then 'rest'
      else 'none' end)) as j;
end
$$;
