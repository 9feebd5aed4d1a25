-- Registers a worker incarnation. A name is used once: a second registration under the same name is refused.
-- Locks: none.
create or replace function fairmill.register_v1(worker_id text, queues text[], lease interval default '15 seconds',
  kinds text[] default null, concurrency integer default 1, host text default null, pid integer default null,
  version text default null)
returns void
language sql
as $$
  insert into fairmill.worker (id, queues, lease_until, kinds, concurrency, host, pid, version)
  values (worker_id, queues, clock_timestamp() + lease, kinds, concurrency, host, pid, version)
$$;
