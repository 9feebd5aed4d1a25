-- Stores a new job like each of these, which have ended, as rerun_v1 does with one. Result: how many. A job that
-- delivers a message, one that a limit at enqueue refuses, and one that this action has repeated before are left out.
--   bulk_id  makes the idempotency key of each: a step that is repeated stores nothing twice
-- Locks: as enqueue_many_v1, then 8 job (those that it made).
create or replace function fairmill.rerun_jobs(bulk_id bigint, ids bigint[], ends timestamptz[])
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_old  bigint[];
  v_jobs jsonb;
  v_new  bigint[];
begin
  select array_agg(h.id order by h.id), jsonb_agg(
      jsonb_strip_nulls(jsonb_build_object('kind', h.kind, 'tenant', h.tenant, 'queue', h.queue,
        'priority', h.priority, 'max_attempts', h.max_attempts, 'key', h.key, 'timeout_ms', h.timeout_ms,
        'tags', h.tags, 'uses', fairmill.uses_again(h.uses), 'account', e.account, 'amount', e.amount,
        'idempotency_key', 'bulk ' || bulk_id || ', job ' || h.id))
      || jsonb_build_object('payload', h.payload) || fairmill.content_of(h.payload) order by h.id)
    into v_old, v_jobs
  from unnest(ids, ends) as picked (id, ended_at)
  join fairmill.job_history h on h.id = picked.id and h.ended_at = picked.ended_at
  left join fairmill.credit_entry e on e.id = h.reservation
  where h.outbox is null;
  if v_jobs is null then
    return 0;
  end if;
  select array_agg(case when m.created then m.id end order by m.n) into v_new
  from fairmill.enqueue_many_v1(v_jobs, alone => true, partial => true) with ordinality
    as m (id, created, conflict, refused, n);
  update fairmill.job j set rerun_of = made.old
  from unnest(v_old, v_new) as made (old, id)
  where j.id = made.id;
  return (select count(*) from unnest(v_new) as made (id) where made.id is not null);
end
$$;
