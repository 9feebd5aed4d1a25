-- Stores one job that has nothing to it but what is named here, in a transaction that ends with this statement: the
-- short way of enqueue_payloads_v1 for the call that is made most.
--   wake  true: notifies a worker of the queue that sleeps, unless another session is about to do the same. For callers
--         that have enqueued nothing for a while: see below
-- Result: the id of the job. Null: nothing was done, because a limit may have a say or a value has to be refused: then
-- the job goes the long way, which judges it. Below zero: the job of that id, without the sign, was stored, and a
-- worker of the queue sleeps that this did not notify: say wake_lane_v1. (One number: a row of two columns costs more
-- than the checks.)
-- A worker that goes to sleep now and is not seen here sees that this transaction runs, and looks again when it has
-- ended.
-- A transaction that notifies holds a lock that all need that notify, until it is on disk. So one of these does at a
-- time, and none in a row; all others leave it to a transaction of its own, which holds that lock for a moment.
-- Locks: none but the row it makes, and for the notification an advisory one that is not waited for.
-- Plan expected: one insert of one row, and a probe of five small tables.
create or replace function fairmill.enqueue_one_v1(kind text, payload jsonb, tenant text default 'default',
  queue text default 'default', priority integer default 0, max_attempts integer default 3,
  expire_ms float8 default null, wake boolean default false)
returns bigint
language plpgsql
as $$
#variable_conflict use_variable
declare
  -- Before the id of the job, and before the look at the workers: what news_v1 proves stands on it.
  v_xid xid8 := pg_current_xact_id();
  v_id  bigint;
begin
  -- What the domains label, payload and max_attempts ask, in one expression: a variable of a domain costs more than the
  -- rest of the call.
  if (octet_length(kind) between 1 and 200 and octet_length(tenant) between 1 and 200
    and octet_length(queue) between 1 and 200 and kind not like 'fairmill.%'
    and pg_column_size(payload) <= 2097152 and max_attempts between 1 and 32767
    and priority between -32768 and 32767) is not true then
    return null;
  end if;
  -- As has_limits_at_enqueue, which is asked only where there are some: limits of keys may be of other kinds.
  if (exists (select from fairmill.limit_setting g where g.rate_at = 'enqueue')
      or exists (select from fairmill.budget b where b.closed_until > now())
      or exists (select from fairmill.key_limit)
      or exists (select from fairmill.key_limit_report t where not t.adopted))
    and fairmill.has_limits_at_enqueue(array[kind]) then
    return null;
  end if;
  insert into fairmill.job (kind, payload, tenant, queue, priority, max_attempts, expire_at, state)
  values (kind, payload, tenant, queue, priority, max_attempts, now() + expire_ms * interval '1 millisecond', 'ready')
  returning job.id into v_id;
  if not exists (select from fairmill.worker w
      where w.listening and w.state = 'alive' and w.lease_until > now() and queue = any (w.queues)) then
    return v_id;
  end if;
  -- Where notifications are not read and fill their room, the commit of one more would fail, and with it the job.
  if wake and pg_try_advisory_xact_lock(hashtext('fairmill.enqueue_one')) and pg_notification_queue_usage() < 0.5 then
    perform pg_notify('fairmill', '!lane ' || json_build_array(queue, priority, tenant));
    return v_id;
  end if;
  return -v_id;
end
$$;
