-- Stores one job that has nothing to it but what is named here, in a transaction that ends with this statement: the
-- short way of enqueue_payloads_v1 for the call that is made most. Wakes no worker.
-- Result: id: null says that nothing was done, because a limit may have a say or a value has to be refused: then the
-- job goes the long way, which judges it. listening: a worker of the queue sleeps until it is notified: say
-- wake_lane_v1. One that goes to sleep now and is not seen here sees that this transaction runs, and looks again when
-- it has ended.
-- Locks: none but the row it makes.
-- Plan expected: one insert of one row, and a probe of five small tables.
create or replace function fairmill.enqueue_one_v1(kind text, payload jsonb, tenant text default 'default',
  queue text default 'default', priority integer default 0, max_attempts integer default 3,
  expire_ms float8 default null, out id bigint, out listening boolean)
language plpgsql
as $$
#variable_conflict use_variable
declare
  -- Before the id of the job, and before the look at the workers: what news_v1 proves stands on it.
  v_xid xid8 := pg_current_xact_id();
begin
  -- What the domains label, payload and max_attempts ask, in one expression: a variable of a domain costs more than the
  -- rest of the call.
  if (octet_length(kind) between 1 and 200 and octet_length(tenant) between 1 and 200
    and octet_length(queue) between 1 and 200 and kind not like 'fairmill.%'
    and pg_column_size(payload) <= 2097152 and max_attempts between 1 and 32767
    and priority between -32768 and 32767) is not true then
    return;
  end if;
  -- As has_limits_at_enqueue, which is asked only where there are some: limits of keys may be of other kinds.
  if (exists (select from fairmill.limit_setting g where g.rate_at = 'enqueue')
      or exists (select from fairmill.budget b where b.closed_until is not null)
      or exists (select from fairmill.key_limit)
      or exists (select from fairmill.key_limit_report t where not t.adopted))
    and fairmill.has_limits_at_enqueue(array[kind]) then
    return;
  end if;
  insert into fairmill.job (kind, payload, tenant, queue, priority, max_attempts, expire_at, state)
  values (kind, payload, tenant, queue, priority, max_attempts, now() + expire_ms * interval '1 millisecond', 'ready')
  returning job.id into id;
  listening := exists (select from fairmill.worker w
    where w.listening and w.state = 'alive' and w.lease_until > now() and queue = any (w.queues));
end
$$;
