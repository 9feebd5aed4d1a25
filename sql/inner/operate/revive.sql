-- Puts ended jobs back into the queue as new ones of the same id: attempts and crashes counted from 0, failures and
-- lease number kept, without their time to live and without their unique key. Each is ready, or blocked where it needs
-- a slot under its key. A job that had reserved credits reserves them again; where its account has not enough, it stays
-- as it is. So does a delivery job whose message may have arrived: see reopen_messages.
--   ids, ends  the jobs and when each ended: together the primary key of the history
-- A member of a batch is one again: the batch is open again if it was over (reopen_batches).
-- The caller has locked the rows and decided.
-- Locks: 7 ended job (the caller has them), 10 message, 11 tree, 15 account.
-- Result: the ids that came back, the queues in which one is ready, the keys of which one is blocked: the caller passes
-- them on (finish_transitions) as its last step.
-- Plan expected: nested loop from the arrays to the primary key of the one partition that each end lies in.
create or replace function fairmill.revive(ids bigint[], ends timestamptz[],
  out brought bigint[], out queues text[], out keys text[], out members jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_paid    jsonb;            -- by id the new reservation, or null: not enough
  v_again   bigint[];         -- messages that are pending again; null: none of the jobs delivers one
  v_batches bigint[];
  v_others  text[] := '{}';   -- accounts of what batches that are open again enqueue
begin
  select fairmill.reopen_messages(array_agg(old.outbox)) into v_again
  from (
    select h.outbox from unnest(ids, ends) as given (id, ended_at)
    cross join lateral (
      select x.outbox from fairmill.job_history x where x.id = given.id and x.ended_at = given.ended_at offset 0) h
    where h.outbox is not null) old
  having count(*) > 0;
  v_batches := array(
    select h.batch from unnest(ids, ends) as given (id, ended_at)
    cross join lateral (
      select x.batch from fairmill.job_history x where x.id = given.id and x.ended_at = given.ended_at offset 0) h
    where h.batch is not null);
  if cardinality(v_batches) > 0 then
    perform fairmill.lock_trees(v_batches);
    -- Nodes that were skipped may start again below.
    v_others := fairmill.tree_accounts(v_batches);
  end if;
  select fairmill.reserve_again(array_agg(old.reservation), array_agg(old.id), v_others) into v_paid
  from (
    select h.id, h.reservation from unnest(ids, ends) as given (id, ended_at)
    cross join lateral (
      select x.id, x.reservation from fairmill.job_history x
      where x.id = given.id and x.ended_at = given.ended_at offset 0) h
    where h.reservation is not null) old
  having count(*) > 0 or cardinality(v_others) > 0;
  with gone as (
    delete from fairmill.job_history h using unnest(ids, ends) as given (id, ended_at)
    where h.id = given.id and h.ended_at = given.ended_at
      and (h.reservation is null or v_paid ->> h.id::text is not null)
      and (h.outbox is null or h.outbox = any (v_again))
    returning h.*),
  back as (
    insert into fairmill.job (id, turn_no, lease_no, priority, max_attempts, state, aside, queue, tenant, kind, key,
      limit_key, reservation, outbox, batch, created_at, payload, failures, rerun_of, timeout_ms, tags, trace, uses)
    overriding system value
    select g.id, nextval('fairmill.job_id_seq'), g.lease_no, g.priority, g.max_attempts,
      -- As admit_due decides.
      coalesce(must.wait, 'ready'), must.wait, g.queue, g.tenant, g.kind, g.key, g.limit_key,
      (v_paid ->> g.id::text)::bigint, g.outbox, (select x.id from fairmill.batch x where x.id = g.batch),
      g.created_at, g.payload, g.failures, g.rerun_of, g.timeout_ms, g.tags, g.trace, fairmill.uses_again(g.uses)
    from gone g
    cross join lateral (
      select case when g.limit_key is not null and exists (
        select from fairmill.key_limit_in_force r where r.kind = g.kind and r.max_running is not null)
          then 'blocked' end as wait offset 0) must
    returning id, state, queue, limit_key)
  select (select jsonb_agg(jsonb_build_array(g.batch, g.state)) from gone g where g.batch is not null),
    coalesce(array_agg(b.id), '{}'), array_agg(distinct b.queue) filter (where b.state = 'ready'),
    array_agg(distinct b.limit_key) filter (where b.state = 'blocked')
    into members, brought, queues, keys
  from back b;
end
$$;
